//go:build linux

package jail

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Setup is the program that puts a jail up: a list of system calls, made by the host as data, and run by Launch in
// the new process between fork and exec. There the Go runtime does not run: no goroutine, no allocation, no growing of
// the stack. So everything is decided and laid out in memory beforehand, and what remains is a loop.
//
// A Setup is made once for a sandbox and run for every jail, one at a time.
type Setup struct {
	calls []call
	notes []note          // what each call is for, in the same order
	regs  int             // how many registers it uses
	keep  []any           // memory that the calls point to
	times []unix.Timespec // when each call began, when they are timed
}

// call is one system call.
type call struct {
	nr   uintptr
	args [6]uintptr
	from [6]uint8 // when not 0, the argument is the value of register from-1
	save uint8    // when not 0, the result goes into register save-1
	into *int32   // when not nil, the result goes there too: a descriptor inside a structure
	// ignored is an errno that is no failure; the next skip calls are passed over then.
	ignored syscall.Errno
	skip    int
}

// note says what a call is for, for the error.
type note struct{ layer, call, detail string }

// reg is a register of the program, or none.
type reg uint8

// The registers that Launch fills.
const (
	regSocket reg = iota + 1
	regPlan
	regTrace
	regNull
	firstReg
)

// retries bound how often a call that the kernel interrupted (EINTR, EAGAIN of openat2) is made again.
const retries = 100

// builder makes a Setup.
type builder struct {
	Setup
	free  []reg
	layer string
	// threads is the file system of ThreadsFD, or none.
	threads reg
	err     error
}

func newBuilder() *builder { return &builder{Setup: Setup{regs: int(firstReg)}} }

// do adds a call. An argument is a number, a register, a string (handed over as a C string) or a pointer.
func (b *builder) do(detail, name string, nr uintptr, args ...any) {
	c := call{nr: nr}
	for i, a := range args {
		switch v := a.(type) {
		case int:
			c.args[i] = uintptr(v)
		case uintptr:
			c.args[i] = v
		case uint64:
			c.args[i] = uintptr(v)
		case reg:
			c.from[i] = uint8(v)
		case string:
			c.args[i] = b.cString(v)
		case unsafe.Pointer:
			b.keep = append(b.keep, v)
			c.args[i] = uintptr(v)
		default:
			panic(fmt.Sprintf("argument %d of %s has the type %T", i, name, a))
		}
	}
	b.calls = append(b.calls, c)
	b.notes = append(b.notes, note{b.layer, name, detail})
}

// get adds a call whose result is kept in a register.
func (b *builder) get(detail, name string, nr uintptr, args ...any) reg {
	b.do(detail, name, nr, args...)
	var r reg
	if n := len(b.free); n > 0 {
		r, b.free = b.free[n-1], b.free[:n-1]
	} else {
		if b.regs == 255 {
			b.err = fmt.Errorf("the set-up of the jail needs more than 255 registers")
			return regNull
		}
		r = reg(b.regs)
		b.regs++
	}
	b.calls[len(b.calls)-1].save = uint8(r)
	return r
}

// close closes a descriptor and gives its register back.
func (b *builder) close(r reg) {
	b.do("close a descriptor", "close", unix.SYS_CLOSE, r)
	b.free = append(b.free, r)
}

// optional adds the calls that open and then make, of which the first may say ENOENT: then the rest is passed over.
func (b *builder) optional(open func() reg, then func(reg)) {
	first := len(b.calls)
	then(open())
	b.calls[first].ignored = unix.ENOENT
	b.calls[first].skip = len(b.calls) - first - 1
}

// ignore makes an errno of the last call no failure.
func (b *builder) ignore(errno syscall.Errno) { b.calls[len(b.calls)-1].ignored = errno }

func (b *builder) cString(s string) uintptr {
	p, err := syscall.BytePtrFromString(s)
	if err != nil {
		b.err = fmt.Errorf("the path %q holds a NUL", s)
		return 0
	}
	b.keep = append(b.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// NewSetup makes the program that puts up the plan's layers. program is the path of what stage two executes, uid and
// gid are mapped one to one.
func NewSetup(plan *Plan, program string, uid, gid int) (*Setup, error) {
	if !Allowed(plan.Layers) {
		return nil, fmt.Errorf("a release build puts up every layer or none starts")
	}
	b := newBuilder()
	exe := b.descriptors(plan, program)
	if plan.Layers != 0 {
		b.mapIDs(uid, gid)
	}
	if plan.Layers.Has(LayerNamespaces) {
		b.layer = "namespaces"
		b.do("name the jail's host", "sethostname", unix.SYS_SETHOSTNAME, "sallyport", len("sallyport"))
	}
	if plan.Layers.Has(LayerNetwork) && plan.Network != NetworkHost {
		b.raiseLoopback()
	}
	if plan.Listens() {
		b.makeListeners(plan)
	}
	if plan.Layers.Has(LayerLandlock) {
		b.makeProbe()
	}
	if plan.namesThreads() {
		b.makeThreadNames()
	}
	b.mounts(plan)
	b.restrict(plan, exe)
	b.layer = "exec"
	b.do("start the jail's first process", "execveat", unix.SYS_EXECVEAT, exe, "", b.strings(Marker), b.strings(), unix.AT_EMPTY_PATH)
	if b.err != nil {
		return nil, b.err
	}
	runtime.KeepAlive(b.keep)
	return &b.Setup, nil
}

// Step is how long the calls of one kind took in the newest jail that a timed set-up has put up.
type Step struct {
	Layer, Call string
	Calls       int
	Took        time.Duration
}

// Time has every call timed from now on, for a benchmark: the steps tell where the time goes.
func (s *Setup) Time() { s.times = make([]unix.Timespec, len(s.calls)) }

// Steps are the calls, in their order, those in a row that are alike added up. The last one, which executes, is told by
// the time until now.
func (s *Setup) Steps() []Step {
	var steps []Step
	for i, n := range s.notes {
		if i+1 >= len(s.times) || s.times[i].Nano() == 0 {
			continue
		}
		next := i + 1
		for next+1 < len(s.times) && s.times[next].Nano() == 0 {
			next++ // passed over
		}
		took := time.Duration(s.times[next].Nano() - s.times[i].Nano())
		if last := len(steps) - 1; last >= 0 && steps[last].Layer == n.layer && steps[last].Call == n.call {
			steps[last].Calls++
			steps[last].Took += took
			continue
		}
		steps = append(steps, Step{n.layer, n.call, 1, took})
	}
	return steps
}

// strings lays out a NULL-terminated array of C strings.
func (b *builder) strings(list ...string) unsafe.Pointer {
	array := make([]uintptr, len(list)+1)
	for i, s := range list {
		array[i] = b.cString(s)
	}
	b.keep = append(b.keep, array)
	return unsafe.Pointer(&array[0])
}

// restrict takes everything away, in the order in which the later steps still work.
func (b *builder) restrict(plan *Plan, exe reg) {
	if plan.Layers.Has(LayerCaps) {
		b.dropCapabilities()
	}
	if plan.Layers.Has(LayerNNP) {
		b.layer = "no_new_privs"
		b.do("set no_new_privs", "prctl(PR_SET_NO_NEW_PRIVS)", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if plan.Layers.Has(LayerRlimits) {
		// A crash must not write memory into the workspace. The limits of the command itself are set when it is started.
		b.layer = "rlimits"
		b.do("forbid core files", "prlimit(RLIMIT_CORE)", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, unsafe.Pointer(&unix.Rlimit{}), 0)
	}
	if plan.Layers.Has(LayerLandlock) {
		b.restrictWithLandlock(plan, exe)
	}
}
