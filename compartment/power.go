package compartment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Power is one function that the host hands to a guest. It is plain data and a Go function; package hostfuncs has the
// ones we ship. A guest that is not given a power cannot make one.
//
// The guest calls it with copies: plain data, made once, by looking at internal slots and never by running code of the
// guest. Everything that is checked is the copy. What comes back is copied again.
//
// A power is asynchronous: the guest gets a promise. A Sync one gives the value itself, and is for what never waits.
type Power struct {
	// Name is what the guest calls it: an identifier, or two with a point ("store.get").
	Name string
	// Summary says in one sentence what it does, for a model's prompt.
	Summary string
	// TypeScript is the signature shown to a model. When it is empty, Signature makes one from Params and Returns.
	TypeScript string
	// Params are the arguments, all that there are. More or other arguments are a TypeError for the guest.
	Params []Param
	// Returns is what comes back. A result of another shape is the host's fault and reported so.
	Returns Param
	// Limits bound the calls of this power, below the limits of the compartment.
	Limits PowerLimits
	// OnCancel says what the end of the evaluation means for a call that is running. It must be set (R259).
	OnCancel CancelPolicy
	// Gated says that each call is put to a gate first. A gated power without Ask is refused when a compartment is
	// opened.
	Gated bool
	// Ask is the gate: it returns nil to let the call go on. It takes as long as it takes; that counts as time of the
	// evaluation, but not of the call. hostfuncs.Gated sets it. It runs before Do, on the call's own goroutine.
	Ask func(ctx context.Context, c *Call) error
	// Revoked, when set, is asked before every call; true refuses it. hostfuncs.Revocable sets it.
	Revoked func() bool
	// Sync makes the call return its value instead of a promise. The guest waits; its time goes on.
	Sync bool
	// Local says that a call has no effect outside the evaluation: it is neither counted as a host call nor listed
	// among the effects. A Local power must be Sync and ungated, and must not wait. The console is one.
	Local bool
	// Do does it. ctx ends as OnCancel says, and when the call's time is over. An error made by Refuse is shown to
	// the guest as it is; of any other error, and of a panic, the guest learns only that the power could not do it.
	Do func(ctx context.Context, c *Call) (Value, error)
}

// PowerLimits bound one power. A zero field takes the limit of the compartment.
type PowerLimits struct {
	// Calls is how many calls one evaluation may make; one more is refused, and the guest can catch that.
	Calls int
	// AtOnce is how many may run at one time; more wait.
	AtOnce int
	// Time is how long one call may take.
	Time time.Duration
	// ArgBytes and ResultBytes bound what crosses in one call.
	ArgBytes, ResultBytes int
}

// CancelPolicy says what happens to a running call when its evaluation is stopped (R259). There is no default.
type CancelPolicy uint8

// The cancel policies. The zero one is not valid.
const (
	// CancelDiscards: the context ends and the answer is dropped. For reads: there is no effect to wonder about.
	CancelDiscards CancelPolicy = iota + 1
	// CancelUnknown: the context ends, and what was done by then is not known; the outcome lists the call so. For
	// requests to somebody else.
	CancelUnknown
	// CancelFinishes: the context goes on, up to the call's time, and the evaluation's end waits for it. For writes
	// that must not be torn.
	CancelFinishes
)

// Param describes one value: an argument, a field of one, or a result.
type Param struct {
	// Name of the argument or field.
	Name string
	// Types that are taken. Empty stands for all data.
	Types []Type
	// Optional: may be left out, or be undefined.
	Optional bool
	// Rest: the last parameter may be given any number of times.
	Rest bool
	// Shown: any value at all is taken, as a picture of itself with marks for what is not data. For the console.
	Shown bool
	// MaxBytes bounds the text or bytes; 0 is no bound of its own.
	MaxBytes int
	// Integer, Min and Max bound a number. Min and Max hold when Max is greater than Min. Nothing is rounded or
	// converted.
	Integer  bool
	Min, Max float64
	// MaxItems bounds an array; 0 is no bound of its own.
	MaxItems int
	// Fields, when set, are all the fields an object may have. Only own fields count.
	Fields []Param
}

// Call is one call of a power, as Do gets it.
type Call struct {
	// ID tells this call from every other one of the process.
	ID string
	// Power is the name it was called by.
	Power string
	// Args are the checked copies of the arguments, one for each of Params; those left out are undefined. Rest
	// arguments follow.
	Args []Value

	params []Param
	log    func(level, text string)
}

// Arg is the argument at i, or undefined.
func (c *Call) Arg(i int) Value {
	if i < 0 || i >= len(c.Args) {
		return Value{}
	}
	return c.Args[i]
}

// Log adds an entry to the console of the evaluation. Text is clipped and escaped there. Safe for concurrent use.
func (c *Call) Log(level, text string) {
	if c.log != nil {
		c.log(level, text)
	}
}

// JSON is the arguments as one JSON object by parameter name, for a gate. A value that has no JSON is shown as a
// string.
func (c *Call) JSON() json.RawMessage { return c.argsJSON(math.MaxInt) }

// shownArg bounds how much of one argument an outcome shows: a thousand calls of a megabyte each are no report.
const shownArg = 500

// argsJSON is JSON with each argument that takes more than max bytes shown as a clipped string.
func (c *Call) argsJSON(max int) json.RawMessage {
	b := []byte{'{'}
	for i, a := range c.Args {
		if a.Type() == TypeUndefined {
			continue
		}
		name := fmt.Sprintf("arg%d", i)
		if i < len(c.params) {
			name = c.params[i].Name
		}
		if len(b)/16 > max { // many arguments
			b = append(b, `,"…":"more"`...)
			break
		}
		j, exact := a.JSON()
		if !exact || len(j) > max {
			j = appendJSONString(nil, a.Text(min(max, 1000)))
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(appendJSONString(b, name), ':'), j...)
	}
	return append(b, '}')
}

// Refusal is a "no" of a power that is written for the guest to read.
type Refusal struct {
	// Code is one word for programs: "not_found_or_denied".
	Code string
	// Text is what the guest reads. It must not name anything of the host.
	Text string
	// Err is the cause, for the host's log; the guest does not see it.
	Err error
}

// Refuse makes a Refusal.
func Refuse(code, text string) *Refusal { return &Refusal{Code: code, Text: text} }

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Signature is the power's TypeScript signature.
func (p Power) Signature() string {
	if p.TypeScript != "" {
		return p.TypeScript
	}
	args := make([]string, len(p.Params))
	for i, a := range p.Params {
		name, typ := a.Name, a.typeScript()
		if a.Optional {
			name += "?"
		}
		if a.Rest {
			name, typ = "..."+name, typ+"[]"
		}
		args[i] = name + ": " + typ
	}
	result := p.Returns.typeScript()
	if !p.Sync {
		result = "Promise<" + result + ">"
	}
	return fmt.Sprintf("%s(%s): %s", p.Name, strings.Join(args, ", "), result)
}

// typeScript is the type of one parameter.
func (a Param) typeScript() string {
	if a.Shown || len(a.Types) == 0 {
		return "unknown"
	}
	names := map[Type]string{TypeUndefined: "void", TypeArray: "unknown[]", TypeBytes: "Uint8Array", TypeDate: "Date"}
	var ts []string
	for _, t := range a.Types {
		n := names[t]
		switch {
		case t == TypeObject && a.Fields != nil:
			n = a.fieldsTypeScript()
		case n == "":
			n = t.String()
		}
		ts = append(ts, n)
	}
	return strings.Join(ts, " | ")
}

// fieldsTypeScript is the type of an object with known fields.
func (a Param) fieldsTypeScript() string {
	var fs []string
	for _, f := range a.Fields {
		name := f.Name
		if f.Optional {
			name += "?"
		}
		fs = append(fs, name+": "+f.typeScript())
	}
	return "{ " + strings.Join(fs, "; ") + " }"
}

// validate finds what is wrong with the power's declaration.
func (p Power) validate() error {
	field := "powers." + p.Name
	bad := func(what, reason string) error {
		return &Error{Code: CodeConfig, Field: field + what, Reason: reason}
	}
	switch {
	case !isPowerName(p.Name):
		return &Error{Code: CodeConfig, Field: "powers", Value: fmt.Sprintf("name %q", p.Name), Bound: "an identifier, or two with a point between"}
	case p.Do == nil:
		return bad(".do", "there is no function")
	case p.OnCancel < CancelDiscards || p.OnCancel > CancelFinishes:
		return bad(".on_cancel", "every power says what cancelling does; there is no default")
	case p.Gated && p.Ask == nil:
		return bad(".ask", "a gated power needs a gate")
	case p.Local && (!p.Sync || p.Gated || p.Ask != nil):
		return bad(".local", "a local power is sync and not gated")
	case p.Limits.Calls < 0 || p.Limits.AtOnce < 0 || p.Limits.Time < 0 || p.Limits.ArgBytes < 0 || p.Limits.ResultBytes < 0:
		return bad(".limits", "a limit is negative")
	}
	for i, a := range p.Params {
		if a.Rest && i != len(p.Params)-1 {
			return bad(".params."+a.Name, "only the last parameter can be a rest parameter")
		}
	}
	return nil
}

// taken are the names a power cannot have: words of the language, and names that every realm has already.
var taken = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`await break case catch class const continue debugger default delete do else enum export extends
		false finally for function if implements import in instanceof interface let new null package private protected public return
		static super switch this throw true try typeof var void while with yield arguments async
		globalThis undefined NaN Infinity eval Function Object Array Boolean Symbol Number BigInt String RegExp Math JSON Reflect Proxy
		Iterator ArrayBuffer SharedArrayBuffer Atomics DataView Map Set WeakMap WeakSet WeakRef FinalizationRegistry Promise Date Error
		AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError Int8Array Uint8Array Uint8ClampedArray
		Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array
		isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape`) {
		m[w] = true
	}
	return m
}()

// isPowerName tells whether name is one or two identifiers of plain letters, and none that means something already.
func isPowerName(name string) bool {
	parts := strings.Split(name, ".")
	if len(parts) > 2 || taken[parts[0]] {
		return false
	}
	for _, p := range parts {
		if p == "" || p == "constructor" || p == "prototype" || strings.HasPrefix(p, "__") || strings.Trim(p, identifierLetters) != "" || p[0] >= '0' && p[0] <= '9' {
			return false
		}
	}
	return true
}

const identifierLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"

// asRefusal finds a Refusal in err.
func asRefusal(err error) (*Refusal, bool) {
	if err == nil {
		return nil, false
	}
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}
