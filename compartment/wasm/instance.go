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

	base  *base  // what it was made from; nil in the one that a base is made of
	fixed *fixed // handles that are the same in every copy of an image
	realm realm
}

// errUnwind is what is thrown through the frames of a guest that is not to go on. It says nothing: the instance knows why.
var errUnwind = errors.New("stopped")

// newInstance makes an instance without a realm. What wazero writes into its memory at first goes to the staging area, when there is one.
func (e *Engine) newInstance(limit uint64, staging []byte) (in *instance, err error) {
	in = &instance{engine: e, limit: limit}
	in.ctx = context.WithValue(context.Background(), instanceKey{}, in)
	if in.mem, err = e.system.newMemory(limit, in.outOfMemory); err != nil {
		return nil, err
	}
	allocate := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return &staged{in.mem, staging} })
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
// when it is told that there is none is its own, and a program could catch it. Only when it is asked where it was it gets a little more.
func (in *instance) outOfMemory() bool {
	if in.locating > 0 || in.mod == nil {
		return in.locating > 0
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
