package wasm

import (
	"sallyport/compartment"

	"github.com/tetratelabs/wazero/api"
)

// scratchSize is the size of the part of the guest's memory that the host keeps for what it hands over: small texts, addresses and arguments.
const scratchSize = 4096

// The scratch memory begins with the places where results are put, then come the arguments of a call, then text.
const (
	scratchOut  = 0  // three numbers
	scratchArgs = 16 // maxArgs numbers
	scratchText = 64
	maxArgs     = (scratchText - scratchArgs) / 4
)

// place copies a text into the guest's memory, with a zero byte behind it, and calls use with its address. A text that does not fit the scratch
// memory gets memory of its own for that time.
func (in *instance) place(text string, use func(p uint32) uint64) uint64 {
	if len(text) < scratchSize-scratchText {
		p := in.fixed.scratch + scratchText
		in.writeText(p, text)
		return use(p)
	}
	p := uint32(in.call(xMalloc, uint64(len(text)+1)))
	if p == 0 {
		in.outOfRoom()
		return 0
	}
	in.writeText(p, text)
	r := use(p)
	in.call(xFree, uint64(p))
	return r
}

// writeText writes a text and a zero byte.
func (in *instance) writeText(p uint32, text string) {
	b, ok := in.at(p, uint32(len(text)+1))
	if !ok {
		in.fault("an address outside of its memory")
		return
	}
	copy(b, text)
	b[len(text)] = 0
}

// outOfRoom is for an allocation of ours that the guest refused.
func (in *instance) outOfRoom() {
	if in.dead != nil {
		return
	}
	if in.realm.ev != nil {
		in.realm.ev.Stop(compartment.KindMemory)
	}
	in.stop()
}

// free gives handles back.
func (in *instance) free(hs ...handle) {
	for _, h := range hs {
		if h != 0 {
			in.call(xFreeValue, uint64(h))
		}
	}
}

// invoke calls a function of the boundary with plain arguments, which stay the caller's. The result is 0 when it threw, which a function of the
// boundary does only when the guest has no stack left for it: what it threw is kept in thrown, so that the guest can be told.
func (in *instance) invoke(f handle, args ...handle) handle {
	r, threw := in.try(f, args...)
	if !threw {
		return r
	}
	if in.thrown != 0 {
		in.free(in.thrown)
	}
	in.thrown = r
	return 0
}

// try is invoke, but what was thrown is returned, and true.
func (in *instance) try(f handle, args ...handle) (handle, bool) {
	base := in.fixed.scratch + scratchArgs
	for i, a := range args[:min(len(args), maxArgs)] {
		if a == 0 {
			a = in.fixed.undefined
		}
		in.setWord(base+uint32(4*i), uint32(a))
	}
	r := handle(in.call(xCall, uint64(f), uint64(in.fixed.undefined), uint64(len(args)), uint64(base)))
	return in.unwrap(r)
}

// unwrap looks at a result: it, or what was thrown instead of it, and true.
func (in *instance) unwrap(r handle) (handle, bool) {
	if in.call(xIsException, uint64(r)) == 0 {
		return r, false
	}
	in.free(r)
	return in.thrownNow()
}

// thrownNow takes what was thrown.
func (in *instance) thrownNow() (handle, bool) {
	e := handle(in.call(xGetException))
	if in.call(xIsUncatchable, uint64(e)) != 0 {
		in.memoryRefused(e)
	}
	return e, true
}

// memoryRefused stops a guest whose engine threw what no program can catch: it was asked for more memory than there can be.
func (in *instance) memoryRefused(e handle) {
	if in.realm.ev != nil && in.dead == nil {
		in.realm.ev.Stop(compartment.KindMemory)
		in.realm.stopStack = in.stackText(e)
	}
	in.stop()
}

// text reads a string or a BigInt.
func (in *instance) text(h handle) string {
	if h == 0 {
		return ""
	}
	out := in.fixed.scratch + scratchOut
	p := uint32(in.call(xGetString, uint64(h), uint64(out)))
	if p == 0 {
		in.outOfRoom()
		return ""
	}
	b, ok := in.at(p, in.word(out))
	if !ok {
		in.fault("a text outside of its memory")
		return ""
	}
	s := string(b)
	in.call(xFreeString, uint64(p))
	return s
}

// typeOf is the type of a value; that of none is undefined.
func (in *instance) typeOf(h handle) int32 {
	if h == 0 {
		return tagUndefined
	}
	return int32(in.call(xTypeOf, uint64(h)))
}

// element reads an element of an array of the boundary.
func (in *instance) element(array handle, i int) handle {
	if array == 0 {
		return 0
	}
	return handle(in.call(xGetIndex, uint64(array), uint64(i)))
}

// numberAt reads an element that is a number.
func (in *instance) numberAt(array handle, i int) float64 {
	h := in.element(array, i)
	f := in.number(h)
	in.free(h)
	return f
}

// number reads a number.
func (in *instance) number(h handle) float64 {
	if h == 0 {
		return 0
	}
	return api.DecodeF64(in.call(xGetFloat, uint64(h)))
}

// newNumber makes a number.
func (in *instance) newNumber(f float64) handle { return handle(in.call(xNewNumber, api.EncodeF64(f))) }

// newString makes a string.
func (in *instance) newString(s string) handle {
	return handle(in.place(s, func(p uint32) uint64 { return in.call(xNewString, uint64(p), uint64(len(s))) }))
}

// field reads a property of an object of the boundary.
func (in *instance) field(o handle, name string) handle {
	if o == 0 {
		return 0
	}
	return handle(in.place(name, func(p uint32) uint64 { return in.call(xGetField, uint64(o), uint64(p)) }))
}

// pointer is the identity of an object.
func (in *instance) pointer(h handle) uint32 { return uint32(in.call(xPointer, uint64(h))) }
