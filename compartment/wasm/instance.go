package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"sallyport/compartment"
	"sallyport/compartment/wasm/internal/meter"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxDepth is how deep calls of the guest and of the host may be inside of each other. The guest calls a power, which looks at arguments by
// calling the guest, in which memory runs out, of which the place is asked: no more than that happens.
const maxDepth = 5

// handle is a value of the guest's language; see interface.go. 0 is none.
type handle uint32

// instance is one running copy of the guest. Only one goroutine may use it at a time, but for stopping.
type instance struct {
	engine *Engine
	ctx    context.Context // holds the instance, for the imports
	mod    api.Module
	left   api.Global // the fuel
	mem    memory
	limit  uint64

	// A function of wazero owns the stack it runs on, so a function that is running must not be called again: there is a set for each depth.
	depth int
	fns   [maxDepth][exportCount]api.Function
	args  [maxDepth][maxParams]uint64

	// dead is why the instance cannot be used any more. Once it is set, no function of the guest is called again: its stack and heap are wherever the
	// stop found them.
	dead error
	// stopping is set, from any goroutine, when the guest has to stop. It is looked at each time the fuel is used up.
	stopping atomic.Bool
	ticks    uint64 // how often the fuel was used up
	locating int    // how much of that was spent on asking where a stopped guest is; 0 when nobody asks

	thrown     handle // what a function of the boundary threw; see invoke
	lastNumber handle // an argument of the boundary's functions; see copier.number

	fixed *fixed // handles that are the same in every copy of an image
	realm realm
}

// errUnwind is what is thrown through the frames of a guest that is not to go on. It says nothing: the instance knows why.
var errUnwind = errors.New("stopped")

// newInstance makes an instance without a realm.
func (e *Engine) newInstance(limit uint64) (in *instance, err error) {
	in = &instance{engine: e, limit: limit}
	in.ctx = context.WithValue(context.Background(), instanceKey{}, in)
	if in.mem, err = e.system.newMemory(limit, in.outOfMemory); err != nil {
		return nil, err
	}
	allocate := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return in.mem })
	in.mod, err = e.runtime.InstantiateModule(experimental.WithMemoryAllocator(in.ctx, allocate), e.module, e.moduleConfig)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("instantiate the guest: %s", firstLine(err)), in.mem.release())
	}
	in.left = in.mod.ExportedGlobal(meter.FuelGlobal)
	return in, nil
}

// fuel is how much fuel the instance has used.
func (in *instance) fuel() int64 {
	return int64(in.ticks+1)*int64(in.engine.quantum) - int64(int32(in.left.Get()))
}

// close ends the instance. No frame of it may be on any stack.
func (in *instance) close() error {
	in.dead = errClosed
	err := in.mod.Close(context.Background())
	return errors.Join(err, in.mem.release())
}

var errClosed = errors.New("the instance was closed")

// call calls a function of the guest. On a dead instance it does nothing and returns 0, so that what is built of several calls has to look at dead
// only before it believes an answer, and in its loops.
func (in *instance) call(x export, args ...uint64) uint64 {
	if in.dead != nil {
		return 0
	}
	if in.depth >= maxDepth {
		in.dead = fmt.Errorf("calls are %d deep", in.depth)
		return 0
	}
	f := in.fns[in.depth][x]
	if f == nil {
		f = in.mod.ExportedFunction(exports[x].name)
		in.fns[in.depth][x] = f
	}
	s := &in.args[in.depth]
	copy(s[:], args)
	if err := f.CallWithStack(in.ctx, s[:]); err != nil {
		in.dead = trapOf(err)
		return 0
	}
	if x == xGetFloat {
		return s[0]
	}
	return uint64(uint32(s[0])) // wazero leaves the other half of an i32 as it was
}

// shallow is how much fuel an evaluation uses at most when it cannot have recursed deeply.
const shallow = 2000

// trim gives back what an evaluation may have taken of the host's memory. The stack of a function of wazero grows with the recursion of the guest, to some
// megabytes, and stays with the function; so after more than a little work the functions are made anew when they are needed.
func (in *instance) trim(fuel int64) {
	if fuel > shallow {
		in.fns = [maxDepth][exportCount]api.Function{}
	}
}

// trap is a fault inside the guest.
type trap struct{ text string }

func (t *trap) Error() string { return "the guest trapped: " + t.text }

// errStackTrap is a trap for want of stack: the guest recursed where its own limit does not look.
var errStackTrap = errors.New("the guest used up the host's stack")

// trapOf makes an error of what wazero returns. Its text is of wazero's making but ends in a trace of the guest's functions, which is cut.
func trapOf(err error) error {
	if errors.Is(err, errUnwind) {
		return errUnwind
	}
	line := firstLine(err)
	if strings.HasSuffix(line, "stack overflow") {
		return errStackTrap
	}
	return &trap{text: line}
}

// firstLine is the first line of an error of wazero; a trace follows it.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(line, " (recovered by wazero)")
}

// enter runs an import. What it calls of the guest is one deeper, and when that fails the guest's outer frames must not go on either.
func (in *instance) enter(f func(*instance, []uint64), s []uint64) {
	in.depth++
	f(in, s)
	in.depth--
	if in.dead != nil {
		panic(errUnwind)
	}
}

// stop ends the guest from inside an import.
func (in *instance) stop() {
	if in.dead == nil {
		in.dead = errUnwind
	}
}

// maxLocating bounds the work of finding the place of a stop, in quanta of fuel: about a millisecond.
const maxLocating = 20

// tick is called when the fuel is used up.
func (in *instance) tick(s []uint64) {
	in.ticks++
	s[0] = 0
	switch {
	case in.locating > 0:
		if in.locating++; in.locating > maxLocating {
			in.stop()
		}
	case in.stopping.Load():
		in.locate()
		in.stop()
	}
}

// outOfMemory is called when the guest asks for more memory than it may have. While it runs it is stopped then and there: what it does
// when it is told that there is none is its own, and a program could catch it.
func (in *instance) outOfMemory() {
	if in.locating > 0 || in.mod == nil {
		return
	}
	if in.realm.ev != nil {
		in.realm.ev.Stop(compartment.KindMemory)
		in.depth++
		in.locate()
	}
	in.stop()
	panic(errUnwind)
}

// at is the guest's memory from p on, n bytes.
func (in *instance) at(p, n uint32) ([]byte, bool) {
	b := in.mem.bytes()
	if uint64(p)+uint64(n) > uint64(len(b)) {
		return nil, false
	}
	return b[p : uint64(p)+uint64(n)], true
}

// write writes into the guest's memory.
func (in *instance) write(p uint32, b []byte) {
	to, ok := in.at(p, uint32(len(b)))
	if !ok {
		in.fault("an address outside of its memory")
		return
	}
	copy(to, b)
}

// word reads a number from the guest's memory.
func (in *instance) word(p uint32) uint32 {
	b, ok := in.at(p, 4)
	if !ok {
		in.fault("an address outside of its memory")
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// setWord writes a number into the guest's memory.
func (in *instance) setWord(p, v uint32) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	in.write(p, b[:])
}

// fault gives the instance up because the guest did what its interface does not allow.
func (in *instance) fault(what string) {
	if in.dead == nil {
		in.dead = &trap{text: what}
	}
}

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
