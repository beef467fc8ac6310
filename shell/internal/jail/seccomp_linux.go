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
	static, _ := splitRecorded(fullTable(plan), plan.records())
	prog, err := Compile(static, runtime.GOARCH)
	if err != nil {
		return &Failure{Layer: "seccomp", Detail: err.Error()}
	}
	_, errno := setFilter(prog, 0)
	return fail("seccomp", "seccomp(SECCOMP_SET_MODE_FILTER)", errnoOrNil(errno), "install the filter")
}

// fullTable is the table with the rows that depend on the plan.
func fullTable(plan *Plan) []Row {
	table := Table
	if plan.grantsSockets() {
		table = pathSockets(table)
	}
	if plan.MemoryWatchBytes > 0 {
		table = slices.Concat(table, watchRows)
	}
	if plan.judges() {
		table = slices.Concat(table, landlockRows)
	}
	return table
}

// judges says whether calls are made for the command; records, whether refusals are told.
func (p *Plan) judges() bool {
	return p.Layers.Has(LayerNames) && p.Names != nil && p.Names.Writes
}

// namesThreads says whether the first process opens /proc/self/comm for writing on behalf of a command.
func (p *Plan) namesThreads() bool {
	return p.judges() && p.Layers.Has(LayerProc|LayerNamespaces)
}

// grantsSockets says whether path sockets can be made: only where every connection of one is decided by name.
func (p *Plan) grantsSockets() bool {
	return p.Layers.Has(LayerNames) && p.Names != nil && p.Names.Sockets
}

func (p *Plan) records() bool {
	return p.Layers.Has(LayerNames) && p.Names != nil && p.Names.Record
}

// setFilter installs a program on this thread. With the flag for a listener it gives its descriptor.
func setFilter(prog []Filter, flags uintptr) (int, unix.Errno) {
	fprog := struct {
		n uint16
		f *Filter
	}{uint16(len(prog)), &prog[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	return int(fd), errno
}

func errnoOrNil(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// probeFilter makes a call that the filter refuses and that is harmless without it: io_uring_setup of zero entries.
func probeFilter() unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
	return errno
}
