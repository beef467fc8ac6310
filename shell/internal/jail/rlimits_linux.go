package jail

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// limited is one resource with the limit that the command gets, soft equal to hard.
type limited struct {
	resource int
	value    uint64
}

// list are the limits to set. PID 1 counts as a process as well, and is not the command's: threads are its own.
func (r Rlimits) list(threads uint64) []limited {
	out := []limited{{unix.RLIMIT_CPU, r.CPUSeconds}, {unix.RLIMIT_FSIZE, r.FileSizeBytes}}
	if r.Processes > 0 {
		out = append(out, limited{unix.RLIMIT_NPROC, r.Processes + threads})
	}
	return out
}

// limits sets the limits of the new process before it becomes the command. Soft equals hard: without a capability
// neither can be raised again.
func (b *builder) limits(plan *Plan) {
	b.layer = "rlimits"
	if !plan.Layers.Has(LayerRlimits) {
		return
	}
	for _, l := range plan.Limits.list(ownThreads()) {
		if l.value == 0 {
			continue
		}
		var have unix.Rlimit
		if b.err = unix.Getrlimit(l.resource, &have); b.err != nil {
			return
		}
		value := min(l.value, have.Max) // the host's own limit may be lower already
		b.do("set a limit of the command", "prlimit", unix.SYS_PRLIMIT64, 0, l.resource, unsafe.Pointer(&unix.Rlimit{Cur: value, Max: value}), 0)
	}
}

// usualDescriptors is the soft limit of descriptors that a Linux process gets by default.
const usualDescriptors = 1024

// descriptorLimit gives the new process the usual soft limit of descriptors. The Go runtime raises its own to the hard
// limit; programs that use select, or close every possible descriptor, do not bear that. A command can raise it, up to the
// limit that was asked for.
func (b *builder) descriptorLimit(plan *Plan) {
	var have unix.Rlimit
	if b.err = unix.Getrlimit(unix.RLIMIT_NOFILE, &have); b.err != nil {
		return
	}
	hard := have.Max
	if n := plan.Limits.Descriptors; n > 0 && plan.Layers.Has(LayerRlimits) {
		hard = min(hard, n)
	}
	limit := &unix.Rlimit{Cur: min(hard, usualDescriptors), Max: hard}
	b.do("set the descriptor limit", "prlimit(RLIMIT_NOFILE)", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, unsafe.Pointer(limit), 0)
}

// ownThreads is the number of threads of PID 1.
func ownThreads() uint64 {
	n, err := statusNumber("/proc/self/status", "Threads")
	if err != nil {
		return 1
	}
	return uint64(max(n, 1))
}
