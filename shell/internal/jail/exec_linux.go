package jail

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// execSelf executes the program behind fd as stage two. The path it had may not exist in the jail: the descriptor is
// what counts. probe is the number of a descriptor that stage two inherits, or -1. It returns only on failure.
func execSelf(fd, probe int) error {
	argv := [...]*byte{bytePtr(Marker2 + "\x00"), bytePtr(strconv.Itoa(probe) + "\x00"), nil}
	envv := [...]*byte{nil}
	empty := bytePtr("\x00")
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(empty)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}

func bytePtr(s string) *byte { return unsafe.StringData(s) }
