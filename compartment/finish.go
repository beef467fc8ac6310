package compartment

import (
	"fmt"
	"strings"
	"time"
)

// Ending is what an engine knows of the end of an evaluation.
type Ending struct {
	// Kind is empty for a value.
	Kind Kind
	// Value is the copy of the result, or of what was thrown.
	Value Value
	// Exception is set when something was thrown, and for a syntax error.
	Exception *Exception
	// Failure is set when what was thrown is an error that the boundary made.
	Failure *Failure
	Where   *Where
	// Undeclared: what was thrown is the language's own complaint about a name that is not declared.
	Undeclared bool
	// Unhandled counts the promises that were rejected without anybody looking.
	Unhandled int
	// Session is one of the Session constants.
	Session string
	// Err is the cause for the host's log.
	Err error
}

// Finish ends the evaluation and puts the outcome together. Calls that are still under way are ended as their cancel
// policies say.
func (e *Evaluation) Finish(end Ending) Outcome {
	e.Quiesce()
	e.cancel(&stop{KindClosed})
	e.windUp()
	if f := end.Failure; f != nil {
		end.Kind, end.Err = f.Kind, f.Err
		if end.Exception != nil {
			end.Exception.Code = f.Code
		}
	}
	o := Outcome{Status: end.Kind.Status(), Kind: end.Kind, Where: end.Where, Session: Session{State: end.Session}, Cause: end.Err}
	o.Value, o.Data = e.render(end)
	e.logMu.Lock()
	e.closed = true
	o.Console = e.console
	e.logMu.Unlock()
	if o.Console.Entries == nil {
		o.Console.Entries = []Entry{}
	}
	o.Console.UnhandledRejections = end.Unhandled
	e.mu.Lock()
	o.Effects, o.Used = e.listEffects(), e.used()
	e.mu.Unlock()
	o.Next = e.advice(o, end.Undeclared)
	return o
}

// shownBytes bounds the rendering of a result for people. The data itself has limits.output_bytes.
const shownBytes = 16 << 10

// render turns the copy of the result into text and, when it says exactly the same, JSON.
func (e *Evaluation) render(end Ending) (Rendering, []byte) {
	if end.Kind != "" && end.Value.Type() == TypeUndefined && !wasThrown[end.Kind] {
		return Rendering{Exception: end.Exception}, nil // there is no value, which is not the value undefined
	}
	r := Rendering{Type: end.Value.Type().String(), Text: end.Value.Text(shownBytes), Omitted: end.Value.allOmitted(), Exception: end.Exception}
	if end.Kind != "" {
		return r, nil
	}
	data, exact := end.Value.JSON()
	if !exact || len(data) > e.host.limits.OutputBytes {
		r.Partial = true
		return r, nil
	}
	return r, data
}

// wasThrown are the kinds for which there is a thrown value, be it undefined.
var wasThrown = map[Kind]bool{KindThrown: true, KindRejected: true, KindUnhandled: true}

// allOmitted counts what was left out of v and of its parts.
func (v Value) allOmitted() int64 {
	n := v.omitted
	for _, it := range v.items {
		n += it.allOmitted()
	}
	return n
}

// listEffects sorts the calls into those whose end is known and the others.
func (e *Evaluation) listEffects() Effects {
	out := Effects{Done: []Effect{}, Unknown: []Effect{}}
	for _, f := range e.effects {
		if f.Result == "unknown" {
			out.Unknown = append(out.Unknown, *f)
		} else {
			out.Done = append(out.Done, *f)
		}
	}
	return out
}

// used reads the meters.
func (e *Evaluation) used() Used {
	l := e.host.limits
	u := Used{
		Wall:        Gauge{millis(time.Since(e.start)), millis(l.Time)},
		SourceBytes: Gauge{int64(len(e.source)), int64(l.SourceBytes)},
		HostCalls:   Gauge{int64(e.total), int64(l.HostCalls)},
		Calls:       map[string]Gauge{},
	}
	for i := range e.host.powers {
		p := &e.host.powers[i]
		if t := e.calls[p.Name]; t != nil && t.made > 0 && !p.Local {
			limit := int64(p.Limits.Calls)
			if limit == 0 {
				limit = int64(l.HostCalls)
			}
			u.Calls[p.Name] = Gauge{int64(t.made), limit}
		}
	}
	return u
}

// nextTable is what to do about each kind. %s is replaced by the powers that are granted.
var nextTable = map[Kind]string{
	KindParse:        "The source is one script; correct the line and send it again.",
	KindSourceSize:   "Send a shorter program; data belongs in files that a power reads.",
	KindSourceDepth:  "Nest less deeply.",
	KindDynamicCode:  "Code cannot be made from text here; write the code out.",
	KindNoModules:    "Only the operator adds modules; write the code out, or import one that there is. Granted: %s.",
	KindWithheld:     "The operator can grant it; code cannot. Granted: %s.",
	KindTooLarge:     "Ask for less at a time.",
	KindNeverSettles: "No host call, timer or job is pending; resolve the promise or do not wait for it.",
	KindArguments:    "Granted: %s.",
	KindCalls:        "Make fewer calls; nothing more will be granted in this evaluation.",
	KindRevoked:      "The operator can grant it again; code cannot.",
	KindTime:         "Do less in one evaluation, or ask the operator for more time.",
	KindHostCalls:    "Make fewer calls in one evaluation.",
	KindOutput:       "Return less.",
	KindMemory:       "Hold less at one time.",
	KindDepth:        "Recurse less deeply; use a loop.",
	KindStillRunning: "This is a limit of the engine: one built-in ran on past the time limit. Do not send the same code again.",
	KindEnginePanic:  "This is a fault of the engine; the next evaluation starts clean.",
	KindPowerTime:    "The call was cut off; try with less.",
	KindPowerResult:  "This is a fault of the host program, not of the code.",
	KindPowerPanic:   "This is a fault of the host program, not of the code.",
}

// advice says what to do. What is unknown of the effects comes first: trying again may do something twice.
func (e *Evaluation) advice(o Outcome, undeclared bool) string {
	s := nextTable[o.Kind]
	if undeclared && o.Status == StatusException {
		s = "A name is not declared. Besides the language there is only what was granted: %s. The operator can grant more; code cannot."
	}
	if strings.Contains(s, "%s") {
		s = fmt.Sprintf(s, e.granted())
	}
	if n := len(o.Effects.Unknown); n > 0 {
		s = strings.TrimSpace(fmt.Sprintf("It is not known whether %s carried out: check before trying again. %s", countCalls(n), s))
	}
	if n := o.Console.UnhandledRejections; s == "" && n > 0 {
		s = "A promise was rejected and nobody looked: await it, or catch it."
	}
	return s
}

// countCalls says how many calls.
func countCalls(n int) string {
	if n == 1 {
		return "1 call was"
	}
	return fmt.Sprintf("%d calls were", n)
}

// granted lists the signatures of the powers, but for the local ones.
func (e *Evaluation) granted() string {
	var names []string
	for _, p := range e.host.powers {
		if !p.Local {
			names = append(names, p.Signature())
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
