package wasm

import (
	"strconv"
	"strings"

	"sallyport/compartment"
)

// grant puts the powers on the global object: frozen functions that cannot be replaced. "store.get" and "store.put" become one frozen object with two
// functions.
func (in *instance) grant() {
	in.realm.powers = map[uint32]string{}
	holders, order := map[string]handle{}, []string{}
	for i, p := range in.realm.host.Powers() {
		holder, short, dotted := strings.Cut(p.Name, ".")
		if !dotted {
			short = p.Name
		}
		f := in.newPower(i, short, len(p.Params))
		in.realm.powers[in.pointer(f)] = p.Name
		if !dotted {
			in.bind(p.Name, f)
			continue
		}
		if holders[holder] == 0 {
			holders[holder], order = in.invoke(in.fixed.holder), append(order, holder)
			in.realm.powers[in.pointer(holders[holder])] = holder
		}
		name := in.newString(short)
		in.free(in.invoke(in.fixed.put, holders[holder], name, f), name, f)
	}
	for _, name := range order {
		in.bind(name, holders[name])
	}
}

// newPower makes the function for the power at index i. The host knows it by that number, the guest by its name.
func (in *instance) newPower(i int, name string, params int) handle {
	id := strconv.Itoa(i)
	f := handle(in.place(id, func(p uint32) uint64 {
		return in.call(xNewFunction, uint64(p), uint64(len(id)), uint64(params))
	}))
	label, length := in.newString(name), in.newNumber(float64(params))
	in.free(in.invoke(in.fixed.setName, f, label, length), label, length)
	return f
}

// bind makes a global name that stays, and gives the handle back.
func (in *instance) bind(name string, v handle) {
	label := in.newString(name)
	in.free(in.invoke(in.fixed.bindGlobal, label, v), label, v)
}

// hostCall is what the guest calls for every power. Its arguments are copied once; nothing looks at the originals again.
func (in *instance) hostCall(s []uint64) {
	name, ok := in.at(uint32(s[0]), uint32(s[1]))
	argc, argv := uint32(s[3]), uint32(s[4])
	s[0] = 0
	i, err := strconv.Atoi(string(name))
	if !ok || err != nil || i < 0 || i >= len(in.realm.host.Powers()) {
		in.fault("a call of a power that there is not")
		return
	}
	if in.realm.ev == nil {
		in.throw(compartment.FailureOf(compartment.KindClosed, "Error", "the evaluation has ended"))
		return
	}
	args := in.copyArguments(i, argc, argv)
	if in.dead != nil || in.rethrow() {
		return
	}
	if in.realm.host.Powers()[i].Sync {
		s[0] = uint64(in.callNow(i, args))
	} else {
		s[0] = uint64(in.callLater(i, args))
	}
	if _, stopped := in.realm.ev.Stopped(); stopped {
		in.locate()
		in.stop()
	}
}

// rethrow throws into the guest what a function of the boundary threw for want of stack.
func (in *instance) rethrow() bool {
	e := in.thrown
	if e == 0 {
		return false
	}
	in.thrown = 0
	in.free(handle(in.call(xThrow, uint64(e))), e)
	return true
}

// callNow makes a call of a synchronous power and returns its value, or throws.
func (in *instance) callNow(i int, args []compartment.Value) handle {
	v, f := in.realm.ev.CallSync(i, args)
	if f != nil {
		if _, stopped := in.realm.ev.Stopped(); !stopped {
			in.throw(f)
		}
		return 0
	}
	r := in.copyIn(v)
	if in.rethrow() {
		in.free(r)
		return 0
	}
	return r
}

// settler is the two ends of a promise of ours.
type settler struct{ resolve, reject handle }

// callLater begins a call of an asynchronous power and returns the promise.
func (in *instance) callLater(i int, args []compartment.Value) handle {
	out := in.fixed.scratch + scratchOut
	promise, threw := in.unwrap(handle(in.call(xNewPromise, uint64(out), uint64(out+4))))
	if threw {
		in.thrown = promise
		in.rethrow()
		return 0
	}
	to := settler{resolve: handle(in.word(out)), reject: handle(in.word(out + 4))}
	if in.realm.promises == nil {
		in.realm.promises = map[int]settler{}
	}
	in.realm.promises[in.realm.ev.Call(i, args)] = to
	return promise
}

// settle gives a promise its end.
func (in *instance) settle(to settler, s compartment.Settled) {
	end, with := to.resolve, handle(0)
	if s.Failure != nil {
		end, with = to.reject, in.errorOf(s.Failure)
	} else {
		with = in.copyIn(s.Value)
	}
	in.free(in.invoke(end, with), with, to.resolve, to.reject)
}

// throw throws an error of the boundary into the guest. The import that does it returns 0.
func (in *instance) throw(f *compartment.Failure) {
	e := in.errorOf(f)
	if e == 0 {
		in.rethrow()
		return
	}
	in.free(handle(in.call(xThrow, uint64(e))), e)
}

// errorOf makes the guest's error object for a failure. The realm remembers which it is.
func (in *instance) errorOf(f *compartment.Failure) handle {
	name, code, text := in.newString(f.Name), in.newString(f.Code), in.newString(f.Text)
	id := in.newNumber(float64(in.realm.failures.add(f)))
	defer in.free(name, code, text, id)
	return in.invoke(in.fixed.fail, name, code, text, id)
}

// failureOf is the failure that an error object stands for, by its identity; nil when it is none of ours.
func (in *instance) failureOf(e handle) *compartment.Failure {
	id := in.invoke(in.fixed.failure, e)
	defer in.free(id)
	switch in.typeOf(id) {
	case tagUndefined:
		return nil
	case tagString, tagRope: // made by the boundary's scripts
		return compartment.FailureOf(compartment.Kind(in.text(id)), "TypeError", "")
	}
	return in.realm.failures.of(int(in.number(id)))
}

// failures are the latest failures that were made into errors, by number. The oldest are forgotten: an error of a call long ago is then one like
// any other.
type failures struct {
	kept []*compartment.Failure
	made int
}

// maxFailures is more than the calls of one evaluation that are let through by default.
const maxFailures = 2048

func (g *failures) add(f *compartment.Failure) int {
	if len(g.kept) < maxFailures {
		g.kept = append(g.kept, f)
	} else {
		g.kept[g.made%maxFailures] = f
	}
	g.made++
	return g.made
}

func (g *failures) of(n int) *compartment.Failure {
	if n <= 0 || n > g.made || g.made-n >= maxFailures {
		return nil
	}
	return g.kept[(n-1)%maxFailures]
}

// maxUnhandled bounds how many rejected promises are told apart. A guest can make any number.
const maxUnhandled = 1000

// rejection counts rejected promises that nobody looks at.
func (in *instance) rejection(s []uint64) {
	promise, reason, handled := handle(s[0]), handle(s[1]), uint32(s[2]) != 0
	in.free(reason)
	p := in.pointer(promise)
	held := in.realm.unhandled[p]
	switch {
	case handled:
		delete(in.realm.unhandled, p)
		in.free(held, promise)
	case in.realm.ev != nil && held == 0 && len(in.realm.unhandled) < maxUnhandled:
		if in.realm.unhandled == nil {
			in.realm.unhandled = map[uint32]handle{}
		}
		in.realm.unhandled[p] = promise
	default:
		in.free(promise)
	}
}
