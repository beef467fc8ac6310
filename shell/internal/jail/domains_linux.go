package jail

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxDomains is how many Landlock domains the kernel stacks (LANDLOCK_MAX_NUM_LAYERS, unchanged since 5.13).
const maxDomains = 16

// LandlockVersion is that of the running kernel, or 0.
func LandlockVersion() int {
	v, err := landlockABI()
	if err != nil {
		return 0
	}
	return v
}

// LandlockDomains counts the Landlock domains that this process is in. The kernel tells nobody, but it stacks no more than
// sixteen: a thread puts itself into more of them until it is refused, and ends.
func LandlockDomains() (int, error) {
	type answer struct {
		domains int
		err     error
	}
	result := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and its domains with it
		if unix.Gettid() == os.Getpid() {
			// The main thread cannot end. It waits here, so that another one has to be taken.
			n, err := LandlockDomains()
			runtime.UnlockOSThread()
			result <- answer{n, err}
			return
		}
		n, err := countDomains()
		result <- answer{n, err}
	}()
	a := <-result
	return a.domains, a.err
}

// countDomains spoils the calling thread.
func countDomains() (int, error) {
	attr := struct{ handledFS uint64 }{unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("prctl: %w", err)
	}
	for more := 0; more <= maxDomains; more++ {
		_, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
		switch {
		case errno == unix.E2BIG:
			return maxDomains - more, nil
		case errno != 0:
			return 0, fmt.Errorf("landlock_restrict_self: %w", errno)
		}
	}
	return 0, errors.New("this kernel stacks more domains than are known of")
}
