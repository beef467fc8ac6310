package jail

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// forkExec starts the command with its limits and leaves PID 1 without them: a CPU limit must not end the process that
// reports on it, and at the process limit the runtime could start no thread.
//
// The soft limits are lowered here, inherited over the fork, and put back; the hard limits of the command follow once
// it runs. It cannot use the moment between: the filter refuses every change of a limited resource (limitRows). That
// filter is on this thread too, so limits are set from another one.
func forkExec(plan *Plan, name string, argv []string, attr *syscall.ProcAttr) (int, error) {
	var limits []limited
	if plan.Layers.Has(LayerRlimits) {
		limits = plan.Limits.list()
	}
	var old []unix.Rlimit
	var err error
	elsewhere(func() { old, err = lowerSoft(limits) })
	if err != nil {
		return 0, err
	}
	pid, execErr := syscall.ForkExec(name, argv, attr)
	elsewhere(func() {
		err = restoreLimits(limits, old)
		if err == nil && execErr == nil {
			err = setHard(pid, limits)
		}
	})
	if execErr != nil && err == nil {
		err = commandFailure("execve", execErr, "execute "+name)
	}
	return pid, err
}

// elsewhere runs f on a thread that the filter is not on.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

func lowerSoft(limits []limited) ([]unix.Rlimit, error) {
	old := make([]unix.Rlimit, len(limits))
	for i := range limits {
		l := &limits[i]
		if err := unix.Getrlimit(l.resource, &old[i]); err != nil {
			return nil, fail("rlimits", "getrlimit", err, "read a limit")
		}
		if l.resource == resourceNPROC {
			l.value += ownThreads() // PID 1 counts as well, and is not the command's
		}
		l.value = min(l.value, old[i].Max) // the host's own limit may be lower already
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: old[i].Max}); err != nil {
			return nil, fail("rlimits", "setrlimit", err, "lower a limit")
		}
	}
	return old, nil
}

func restoreLimits(limits []limited, old []unix.Rlimit) error {
	for i, l := range limits {
		if err := unix.Setrlimit(l.resource, &old[i]); err != nil {
			return fail("rlimits", "setrlimit", err, "put a limit back")
		}
	}
	return nil
}

func setHard(pid int, limits []limited) error {
	for _, l := range limits {
		err := unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}, nil)
		if err != nil && err != unix.ESRCH { // ESRCH: it has ended already
			return fail("rlimits", "prlimit", err, "set the hard limit of the command")
		}
	}
	return nil
}

// ownThreads is the number of threads of PID 1.
func ownThreads() uint64 {
	n, _ := statusNumber("/proc/self/status", "Threads")
	return uint64(max(n, 1))
}
