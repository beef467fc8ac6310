package goja

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"sallyport/compartment"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

//go:embed harden.js
var hardenSource string

//go:embed date.js
var dateSource string

// boundaryFile is what a stack shows for the scripts of the boundary, and programFile for the guest's.
const (
	boundaryFile = "boundary"
	programFile  = "program"
)

// scripts are the boundary's own, compiled once. Compiled code has no state and is shared by all realms.
var scripts = sync.OnceValues(func() (c struct{ harden, date *goja.Program }, err error) {
	if c.harden, err = goja.Compile(boundaryFile, hardenSource, true); err != nil {
		return c, err
	}
	c.date, err = goja.Compile(boundaryFile, dateSource, true)
	return c, err
})

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
}

// settler is the two ends of a promise of ours.
type settler struct {
	resolve, reject func(any) error
}

// kept are the built-ins as they were before any guest code ran.
type kept struct {
	ownKeys, descriptor, freeze goja.Callable
	dateValue                   goja.Callable
	mapForEach, mapSize         goja.Callable
	setForEach, setSize         goja.Callable
	boxes                       map[string]goja.Callable
	regexpSource                goja.Callable
	regexpFlags                 []goja.Callable
	date, bytes                 *goja.Object
	errors                      map[string]*goja.Object
}

// newRealm makes a runtime, hardens it and hands in the powers.
func newRealm(host *compartment.Host) (r *realm, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &compartment.Error{Code: compartment.CodeEngine, Reason: "harden the realm", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	r = &realm{vm: goja.New(), host: host, powers: map[*goja.Object]string{}, promises: map[int]settler{}, unhandled: map[*goja.Promise]bool{}}
	// Source maps named in guest text would be opened as files of the host, also through eval.
	r.vm.SetParserOptions(parser.WithDisableSourceMaps)
	r.vm.SetMaxCallStackSize(host.Limits().StackDepth)
	r.vm.SetPromiseRejectionTracker(r.trackRejection)
	if err := r.harden(); err != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: "harden the realm", Err: err}
	}
	if err := r.grant(); err != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: "hand in the powers", Err: err}
	}
	return r, nil
}

// harden runs the boundary's scripts and takes over the built-ins they kept.
func (r *realm) harden() error {
	s, err := scripts()
	if err != nil {
		return err
	}
	date, err := r.vm.RunProgram(s.date)
	if err != nil {
		return err
	}
	hardener, err := r.vm.RunProgram(s.harden)
	if err != nil {
		return err
	}
	call, ok := goja.AssertFunction(hardener)
	if !ok {
		return fmt.Errorf("the hardening script is no function")
	}
	host := r.vm.NewObject()
	for name, v := range map[string]goja.Value{"refuse": r.native("refuse", 2, r.refuse), "date": date} {
		if err := host.DefineDataProperty(name, v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
			return err
		}
	}
	out, err := call(goja.Undefined(), host)
	if err != nil {
		return err
	}
	return r.keep(out.ToObject(r.vm))
}

// keep reads the object the hardening script returned. It is of our own making, and no guest has seen it.
func (r *realm) keep(o *goja.Object) error {
	var missing error
	fn := func(name string) goja.Callable {
		f, ok := goja.AssertFunction(o.Get(name))
		if !ok {
			missing = fmt.Errorf("the hardening script did not keep %s", name)
		}
		return f
	}
	r.kept = kept{ownKeys: fn("ownKeys"), descriptor: fn("getOwnPropertyDescriptor"), freeze: fn("freeze"), dateValue: fn("dateValue"),
		mapForEach: fn("mapForEach"), mapSize: fn("mapSize"), setForEach: fn("setForEach"), setSize: fn("setSize"), regexpSource: fn("regexpSource"),
		boxes: map[string]goja.Callable{"String": fn("stringValue"), "Number": fn("numberValue"), "Boolean": fn("booleanValue")},
		date:  o.Get("Date").ToObject(r.vm), bytes: o.Get("Uint8Array").ToObject(r.vm), errors: map[string]*goja.Object{}}
	for _, name := range []string{"Error", "TypeError", "RangeError"} {
		r.kept.errors[name] = o.Get(name).ToObject(r.vm)
	}
	flags := o.Get("regexpFlags").ToObject(r.vm)
	for i := range flags.Get("length").ToInteger() {
		f, _ := goja.AssertFunction(flags.Get(fmt.Sprint(i)))
		r.kept.regexpFlags = append(r.kept.regexpFlags, f)
	}
	return missing
}

// native makes a function of the realm out of f: the name of its own, not that of a Go symbol; frozen; no constructor and no prototype.
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
	panic(r.throwable(compartment.FailureOf(compartment.Kind(call.Argument(0).String()), "TypeError", call.Argument(1).String())))
}

// throwable makes the guest's error object for a failure and remembers which it is.
func (r *realm) throwable(f *compartment.Failure) goja.Value {
	ctor := r.kept.errors[f.Name]
	if ctor == nil {
		ctor = r.kept.errors["Error"]
	}
	o, err := r.vm.New(ctor, r.vm.ToValue(f.Text))
	if err != nil {
		return r.vm.ToValue(f.Text) // the stack is full; the text must do
	}
	if err := o.DefineDataProperty("code", r.vm.ToValue(f.Code), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err == nil {
		r.failures.add(o, f)
	}
	return o
}

// trackRejection counts rejected promises that nobody looks at. A guest can make any number, so only so many are told apart.
func (r *realm) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	switch {
	case op == goja.PromiseRejectionHandle:
		delete(r.unhandled, p)
	case len(r.unhandled) < 1000:
		r.unhandled[p] = true
	}
}

// ring remembers which error objects stand for which failures. It forgets the oldest, so that a guest which catches refusals for
// ever does not fill the host.
type ring struct {
	of   map[*goja.Object]*compartment.Failure
	last []*goja.Object
	next int
}

// ringSize is more than the calls of one evaluation that can be pending by default.
const ringSize = 2048

func (g *ring) add(o *goja.Object, f *compartment.Failure) {
	if g.of == nil {
		g.of = map[*goja.Object]*compartment.Failure{}
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

// typeOf are the Go types that goja names for objects of special kinds. They are read without running anything of the guest.
var (
	typeProxy   = reflect.TypeFor[goja.Proxy]()
	typePromise = reflect.TypeFor[*goja.Promise]()
	typeBuffer  = reflect.TypeFor[goja.ArrayBuffer]()
)
