package jail

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// installFilter puts the static filter on this thread and on no other: the thread that forks the command. Threads that
// the runtime starts later come from its own template thread and stay unfiltered.
func installFilter(plan *Plan) error {
	var rows []Row
	if plan.MemoryWatchBytes > 0 {
		rows = watchRows
	}
	prog, err := Compile(slices.Concat(Table, rows), runtime.GOARCH)
	if err != nil {
		return &Failure{Layer: "seccomp", Detail: err.Error()}
	}
	fprog := struct {
		n uint16
		f *Filter
	}{uint16(len(prog)), &prog[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return fail("seccomp", "seccomp(SECCOMP_SET_MODE_FILTER)", errno, "install the filter")
	}
	return nil
}

// probeFilter makes a call that the filter refuses and that is harmless without it: io_uring_setup of zero entries.
func probeFilter() unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
	return errno
}
