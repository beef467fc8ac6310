package goja

import (
	"strings"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// grant puts the powers on the global object: frozen functions that cannot be replaced. "store.get" and "store.put" become one frozen
// object with two functions.
func (r *realm) grant() error {
	objects := map[string]*goja.Object{}
	for i, p := range r.host.Powers() {
		f := r.native(p.Name, len(p.Params), r.caller(i, p.Sync))
		r.powers[f] = p.Name
		if _, err := r.kept.freeze(goja.Undefined(), f); err != nil {
			return err
		}
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
		if _, err := r.kept.freeze(goja.Undefined(), o); err != nil {
			return err
		}
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

// caller is the function the guest calls for the power at index i. Its arguments are copied once; nothing looks at the originals again.
func (r *realm) caller(i int, sync bool) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		if r.ev == nil {
			panic(r.throwable(compartment.FailureOf(compartment.KindClosed, "Error", "the evaluation has ended")))
		}
		args := r.copyArguments(i, call.Arguments)
		if sync {
			v, f := r.ev.CallSync(i, args)
			if f != nil {
				panic(r.throwable(f))
			}
			return r.copyIn(v)
		}
		promise, resolve, reject := r.vm.NewPromise()
		s := settler{resolve: resolve, reject: reject}
		ticket, f := r.ev.Call(i, args)
		if f != nil {
			r.settle(s, compartment.Settled{Failure: f})
		} else {
			r.promises[ticket] = s
		}
		return r.vm.ToValue(promise)
	}
}

// settle gives a promise its end. An error that comes back is a stop, which the loop of the evaluation sees by itself.
func (r *realm) settle(s settler, to compartment.Settled) error {
	if to.Failure != nil {
		return s.reject(r.throwable(to.Failure))
	}
	return s.resolve(r.copyIn(to.Value))
}
