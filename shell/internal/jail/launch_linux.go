package jail

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The three hooks that package syscall uses around a fork. The runtime keeps them available to other packages by this
// name (see the comments in runtime/proc.go). Why not os/exec: it can only exec right after the fork, so the layers
// would have to be put up by one start of the program and the confined life by a second, and the initialisation of a
// large host program would be paid twice for every command.
//
//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// Files are what a new jail is given.
type Files struct{ Socket, Plan, Trace, Null int }

// failureMark begins the packet by which the new process says which call failed; every other packet is JSON.
const failureMark = 0x53505346

// failurePacket is that packet: the mark, the index of the call, and the errno, four bytes each.
type failurePacket [3]uint32

// Launch makes a new process in new namespaces (CLONE_* flags) and runs the set-up in it. It returns when the process
// executes the first program or has failed; which of the two is told over the socket.
func Launch(s *Setup, flags uintptr, files Files) (int, error) {
	return begin(s, flags|unix.CLONE_VM|unix.CLONE_VFORK, map[reg]int{regSocket: files.Socket, regPlan: files.Plan, regTrace: files.Trace, regNull: files.Null})
}

// begin makes the process. With CLONE_VM it borrows this process's memory until it executes, and this thread waits for
// that: a copy of the page tables of a host with 1 GB in use takes 100 ms.
func begin(s *Setup, flags uintptr, files map[reg]int) (int, error) {
	regs := make([]uintptr, s.regs+1)
	for r, fd := range files {
		regs[r] = uintptr(fd)
	}
	packet := &failurePacket{failureMark}
	// One at a time, as package syscall does it. The calls are changed by running them, and may be shared.
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	runtimeBeforeFork()
	result := fork(s.calls, regs, s.times, flags|uintptr(unix.SIGCHLD), packet)
	runtimeAfterFork()
	if errno := syscall.Errno(-result); result > maxErrno {
		return 0, errno
	}
	return int(result), nil
}

// maxErrno is below the results of a system call that say it failed: -4095 to -1.
const maxErrno = ^uintptr(4095)

// ParseFailure reads a packet that Launch's new process sent instead of JSON.
func (s *Setup) ParseFailure(packet []byte) (*Failure, bool) {
	if len(packet) != 12 || binary.NativeEndian.Uint32(packet) != failureMark {
		return nil, false
	}
	return s.failure(failurePacket{failureMark, binary.NativeEndian.Uint32(packet[4:]), binary.NativeEndian.Uint32(packet[8:])}), true
}

// failure explains a packet.
func (s *Setup) failure(p failurePacket) *Failure {
	index := int(p[1])
	if p[0] != failureMark || index >= len(s.notes) {
		return &Failure{Detail: "the set-up failed at an unknown step"}
	}
	n := s.notes[index]
	return &Failure{Layer: n.layer, Syscall: n.call, Errno: syscall.Errno(p[2]), Detail: clip(n.detail)}
}

// readPacket reads a failure packet from a pipe; 0 bytes say that there is none.
func readPacket(fd int, p *failurePacket) (int, error) {
	buf := unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// clone is the system call, in assembly: it returns twice.
func clone(flags uintptr) (result uintptr)

// fork makes the process. In the child nothing may allocate, grow the stack or be instrumented: it is one thread of a
// program with many, whose locks may be held by threads that do not exist here. With CLONE_VM the child runs on the
// parent's stack; the parent leaves this frame at once and uses nothing of it but the result, which is written after the
// child is gone.
//
//go:noinline
//go:norace
//go:nosplit
//go:nocheckptr
func fork(calls []call, regs []uintptr, times []unix.Timespec, flags uintptr, packet *failurePacket) uintptr {
	if result := clone(flags); result != 0 {
		return result
	}
	runtimeAfterForkInChild()
	perform(calls, regs, times, packet)
	for {
		syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, 1, 0, 0, 0, 0, 0)
	}
}

// perform runs the calls. It returns when one failed, having told the host.
//
//go:norace
//go:nosplit
//go:nocheckptr
func perform(calls []call, regs []uintptr, times []unix.Timespec, packet *failurePacket) {
	for i := 0; i < len(calls); i++ {
		c := &calls[i]
		if i < len(times) {
			syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&times[i])), 0)
		}
		for a, r := range c.from {
			if r != 0 {
				c.args[a] = regs[r]
			}
		}
		result, errno := attempt(c)
		if errno != 0 {
			if errno == c.ignored {
				i += c.skip
				continue
			}
			packet[1], packet[2] = uint32(i), uint32(errno)
			syscall.RawSyscall6(syscall.SYS_WRITE, regs[regSocket], uintptr(unsafe.Pointer(packet)), unsafe.Sizeof(*packet), 0, 0, 0)
			return
		}
		if c.save != 0 {
			regs[c.save] = result
		}
		if c.into != nil {
			*c.into = int32(result)
		}
	}
}

//go:norace
//go:nosplit
//go:nocheckptr
func attempt(c *call) (uintptr, syscall.Errno) {
	for tries := 0; ; tries++ {
		r, _, errno := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if (errno == syscall.EINTR || errno == syscall.EAGAIN) && tries < retries {
			continue
		}
		return r, errno
	}
}
