package goja

import (
	"fmt"
	"reflect"
	"strings"

	"sallyport/compartment"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// boundaryFile is what a stack shows for the scripts of the boundary, and programFile for the guest's.
const (
	boundaryFile = "boundary"
	programFile  = "program"
)

// realm is one goja runtime with its hardened global object. Only one goroutine may use it at a time.
type realm struct {
	vm   *goja.Runtime
	host *compartment.Host
	kept kept

	// ev is the evaluation that runs; nil between two of them.
	ev *compartment.Evaluation
	// powers knows the functions of the host, and the objects that hold them, by identity.
	powers map[*goja.Object]string
	// failures knows the latest errors the boundary made, by identity.
	failures ring
	// promises are the calls that are under way.
	promises map[int]settler
	// unhandled are the rejected promises that nobody looked at.
	unhandled map[*goja.Promise]bool
	// tamed are the getters that stand for plain data since the override mistake was repaired, with the data.
	tamed map[*goja.Object]goja.Value
	// nested is how deep built-ins are inside of what they go into.
	nested  int
	joining []*goja.Object // the arrays among that
	// taken is how many bytes were asked for at once since the heap was last looked at.
	taken int64
	watch *memoryWatch // of the evaluation that runs
}

// settler is the two ends of a promise of ours.
type settler struct {
	resolve, reject func(any) error
	stack           []goja.StackFrame // where the call was made
}

// builtin is a function of the engine, called without going through the engine's entrance for outsiders. That
// entrance runs the pending jobs when it thinks it is the outermost call, which it would think inside of a job.
type builtin func(goja.FunctionCall) goja.Value

// kept are the built-ins as they were before any guest code ran. Calling them on the objects they are for runs
// nothing of the guest.
type kept struct {
	ownKeys, descriptor, freeze builtin
	dateValue, regexpSource     builtin
	mapForEach, mapSize         builtin
	setForEach, setSize         builtin
	boxes                       map[string]builtin
	regexpFlags                 []builtin
	date, bytes                 *goja.Object
	errors                      map[string]*goja.Object
	referenceError              *goja.Object            // the prototype
	hidden                      map[*goja.Object]string // prototypes of what holds more than can be seen
}

// newRealm makes a runtime, hardens it and hands in the powers.
func newRealm(host *compartment.Host) (*realm, error) {
	p, err := plans[host.DynamicCode()]()
	if err != nil {
		return nil, err
	}
	r, err := prepare(host, func(r *realm) error { _, err := r.harden(p); return err })
	if err != nil {
		return nil, err
	}
	if err := r.grant(); err != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: "hand in the powers", Err: err}
	}
	return r, nil
}

// prepare makes a runtime, keeps what the host needs of it, and has it hardened.
func prepare(host *compartment.Host, harden func(*realm) error) (r *realm, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &compartment.Error{Code: compartment.CodeEngine, Reason: "harden the realm", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	r = &realm{vm: goja.New(), host: host, powers: map[*goja.Object]string{}, promises: map[int]settler{}, unhandled: map[*goja.Promise]bool{},
		tamed: map[*goja.Object]goja.Value{}}
	// Source maps named in guest text would be opened as files of the host, also through eval.
	r.vm.SetParserOptions(parser.WithDisableSourceMaps)
	r.vm.SetMaxCallStackSize(host.Limits().StackDepth)
	r.vm.SetPromiseRejectionTracker(r.trackRejection)
	r.keep()
	if err := harden(r); err != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: "harden the realm", Err: err}
	}
	return r, nil
}

// keep takes over the built-ins. It panics when the engine lacks one, which newRealm turns into an error.
func (r *realm) keep() {
	k := &r.kept
	k.ownKeys, k.descriptor = r.builtin("Reflect.ownKeys"), r.builtin("Reflect.getOwnPropertyDescriptor")
	k.freeze, k.dateValue = r.builtin("Object.freeze"), r.builtin("Date.prototype.valueOf")
	k.mapForEach, k.setForEach = r.builtin("Map.prototype.forEach"), r.builtin("Set.prototype.forEach")
	k.boxes = map[string]builtin{}
	for _, name := range []string{"String", "Number", "Boolean"} {
		k.boxes[name] = r.builtin(name + ".prototype.valueOf")
	}
	k.mapSize, k.setSize = r.getter("Map.prototype.size"), r.getter("Set.prototype.size")
	k.regexpSource = r.getter("RegExp.prototype.source")
	for _, f := range regexpFlags {
		k.regexpFlags = append(k.regexpFlags, r.getter("RegExp.prototype."+f.name))
	}
	k.date, k.bytes = r.object("Date"), r.object("Uint8Array")
	k.errors = map[string]*goja.Object{}
	for _, name := range []string{"Error", "TypeError", "RangeError", "SyntaxError"} {
		k.errors[name] = r.object(name)
	}
	k.referenceError = r.object("ReferenceError.prototype")
	k.hidden = map[*goja.Object]string{r.object("WeakMap.prototype"): "WeakMap", r.object("WeakSet.prototype"): "WeakSet"}
	iterators := r.object("Array.prototype").GetSymbol(goja.SymIterator).(*goja.Object)
	one := asBuiltin(iterators)(goja.FunctionCall{This: r.vm.NewArray()}).(*goja.Object)
	k.hidden[one.Prototype().Prototype()] = "iterator" // what all iterators and generators have for a prototype
}

// object is a built-in object by its path from the global one.
func (r *realm) object(path string) *goja.Object {
	o := r.vm.GlobalObject()
	for part := range strings.SplitSeq(path, ".") {
		o = o.Get(part).(*goja.Object)
	}
	return o
}

// builtin is a built-in function by its path.
func (r *realm) builtin(path string) builtin { return asBuiltin(r.object(path)) }

// getter is the built-in function behind an accessor property.
func (r *realm) getter(path string) builtin {
	i := strings.LastIndexByte(path, '.')
	d := r.kept.descriptor(goja.FunctionCall{Arguments: []goja.Value{r.object(path[:i]), r.vm.ToValue(path[i+1:])}})
	return asBuiltin(d.(*goja.Object).Get("get").(*goja.Object))
}

// asBuiltin is the Go function behind a built-in one.
func asBuiltin(o *goja.Object) builtin { return o.Export().(func(goja.FunctionCall) goja.Value) }

// ask calls a built-in and tells whether it came back with a value.
func (r *realm) ask(f builtin, this goja.Value, args ...goja.Value) (v goja.Value, ok bool) {
	ex := r.vm.Try(func() { v = f(goja.FunctionCall{This: this, Arguments: args}) })
	return v, ex == nil && v != nil
}

// hidden names an object that has no fields and is no plain object either: what it holds cannot be seen.
func (r *realm) hidden(o *goja.Object) string {
	for range maxChain {
		if o = o.Prototype(); o == nil || o.ExportType() == typeProxy {
			return ""
		}
		if name := r.kept.hidden[o]; name != "" {
			return name
		}
	}
	return ""
}

// native makes a function of the realm out of f: the name of its own, not that of a Go symbol; frozen; no constructor
// and no prototype.
func (r *realm) native(name string, arity int, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := r.vm.ToValue(f).ToObject(r.vm)
	short := name[strings.LastIndexByte(name, '.')+1:]
	for key, v := range map[string]goja.Value{"name": r.vm.ToValue(short), "length": r.vm.ToValue(arity)} {
		if err := o.DefineDataProperty(key, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE); err != nil {
			panic(err)
		}
	}
	return o
}

// refuse is what the boundary's scripts call to throw an error of the boundary: refuse(kind, text).
func (r *realm) refuse(call goja.FunctionCall) goja.Value {
	panic(r.throwable(compartment.FailureOf(compartment.Kind(call.Argument(0).String()), "TypeError", call.Argument(1).String()), nil))
}

// throwable makes the guest's error object for a failure and remembers which it is, and where the guest called when
// the error has no stack of its own.
func (r *realm) throwable(f *compartment.Failure, stack []goja.StackFrame) goja.Value {
	ctor := r.kept.errors[f.Name]
	if ctor == nil {
		ctor = r.kept.errors["Error"]
	}
	o, err := r.vm.New(ctor, r.vm.ToValue(f.Text))
	if err != nil {
		return r.vm.ToValue(f.Text) // the stack is full; the text must do
	}
	if err := o.DefineDataProperty("code", r.vm.ToValue(f.Code), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err == nil {
		r.failures.add(o, made{f, stack})
	}
	return o
}

// made is an error of the boundary and the place it belongs to.
type made struct {
	failure *compartment.Failure
	stack   []goja.StackFrame
}

// trackRejection counts rejected promises that nobody looks at. A guest can make any number, so only so many are told
// apart.
func (r *realm) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	switch {
	case op == goja.PromiseRejectionHandle:
		delete(r.unhandled, p)
	case len(r.unhandled) < 1000:
		r.unhandled[p] = true
	}
}

// ring remembers which error objects stand for which failures. It forgets the oldest, so that a guest which catches
// refusals for ever does not fill the host.
type ring struct {
	of   map[*goja.Object]made
	last []*goja.Object
	next int
}

// ringSize is more than the calls of one evaluation that can be pending by default.
const ringSize = 2048

func (g *ring) add(o *goja.Object, f made) {
	if g.of == nil {
		g.of = map[*goja.Object]made{}
	}
	if len(g.last) < ringSize {
		g.last = append(g.last, o)
	} else {
		delete(g.of, g.last[g.next])
		g.last[g.next] = o
		g.next = (g.next + 1) % ringSize
	}
	g.of[o] = f
}

// regexpFlags are the flags a regular expression can have, and the letters they are written with.
var regexpFlags = []struct {
	name   string
	letter byte
}{{"global", 'g'}, {"ignoreCase", 'i'}, {"multiline", 'm'}, {"dotAll", 's'}, {"unicode", 'u'}, {"sticky", 'y'}}

// The Go types that goja names for objects of special kinds. They are read without running anything of the guest.
var (
	typeProxy   = reflect.TypeFor[goja.Proxy]()
	typePromise = reflect.TypeFor[*goja.Promise]()
	typeBuffer  = reflect.TypeFor[goja.ArrayBuffer]()
	typeMap     = reflect.TypeFor[[][2]any]()
	typeSet     = reflect.TypeFor[[]any]()
)
