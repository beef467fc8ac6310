package shell

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// errnoText is the name and the text of an errno: "EPERM (operation not permitted)".
func errnoText(errno syscall.Errno) string {
	if name := unix.ErrnoName(errno); name != "" {
		return name + " (" + errno.Error() + ")"
	}
	return errno.Error()
}
