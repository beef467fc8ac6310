package goja

import (
	"strings"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// grant puts the powers on the global object: frozen functions that cannot be replaced. "store.get" and "store.put"
// become one frozen object with two functions.
func (r *realm) grant() error {
	objects := map[string]*goja.Object{}
	for i, p := range r.host.Powers() {
		f := r.native(p.Name, len(p.Params), r.caller(i, p.Sync))
		r.powers[f] = p.Name
		r.kept.freeze(goja.FunctionCall{Arguments: []goja.Value{f}})
		holder, name, dotted := strings.Cut(p.Name, ".")
		if !dotted {
			if err := r.bind(p.Name, f); err != nil {
				return err
			}
			continue
		}
		if objects[holder] == nil {
			objects[holder] = r.vm.NewObject()
			r.powers[objects[holder]] = holder
		}
		if err := objects[holder].DefineDataProperty(name, f, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
			return err
		}
	}
	for name, o := range objects {
		r.kept.freeze(goja.FunctionCall{Arguments: []goja.Value{o}})
		if err := r.bind(name, o); err != nil {
			return err
		}
	}
	return nil
}

// bind makes a global name that stays.
func (r *realm) bind(name string, o *goja.Object) error {
	return r.vm.GlobalObject().DefineDataProperty(name, o, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// caller is the function the guest calls for the power at index i. Its arguments are copied once; nothing looks at
// the originals again.
func (r *realm) caller(i int, sync bool) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		ev := r.evaluation()
		args := r.copyArguments(i, call.Arguments)
		if sync {
			v, f := ev.CallSync(i, args)
			if f != nil {
				r.evaluation() // a stop is no error of the guest
				panic(r.throwable(f, nil))
			}
			return r.copyIn(v)
		}
		promise, resolve, reject := r.vm.NewPromise()
		ticket := ev.Call(i, args)
		r.promises[ticket] = settler{resolve: resolve, reject: reject, stack: r.vm.CaptureCallStack(maxFrames, nil)}
		return r.vm.ToValue(promise)
	}
}

// evaluation is the one that runs. When there is none, or it has to end, the guest is ended here: a built-in that
// calls us in a loop never comes to an instruction of the guest, where the engine would look.
func (r *realm) evaluation() *compartment.Evaluation {
	if r.ev != nil {
		if _, stopped := r.ev.Stopped(); !stopped {
			return r.ev
		}
	}
	panic(&goja.InterruptedError{})
}

// settle gives a promise its end and runs the jobs that follow. An error that comes back is a stop.
func (r *realm) settle(s settler, to compartment.Settled) error {
	if to.Failure != nil {
		return s.reject(r.throwable(to.Failure, s.stack))
	}
	return s.resolve(r.copyIn(to.Value))
}

// fixed tells whether a name is a power's, which a function of the guest cannot have.
func (r *realm) fixed(name string) bool {
	for _, p := range r.host.Powers() {
		if first, _, _ := strings.Cut(p.Name, "."); first == name {
			return true
		}
	}
	return false
}
