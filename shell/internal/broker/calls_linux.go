package broker

import "golang.org/x/sys/unix"

// Numbers of calls that are newer than the tables of package unix; the same on every architecture.
const (
	sysSetxattrat    = 463
	sysRemovexattrat = 466
	sysFileSetattr   = 469
)

// handlers make the calls, by number. What a call does to deserve judging stands in the jail's table of notified calls.
var handlers [512]func(*task) answer

func init() {
	for nr, h := range map[int]func(*task) answer{
		unix.SYS_OPENAT:  (*task).openat,
		unix.SYS_MKDIRAT: (*task).mkdirat, unix.SYS_MKNODAT: (*task).mknodat,
		unix.SYS_SYMLINKAT: (*task).symlinkat, unix.SYS_LINKAT: (*task).linkat, unix.SYS_UNLINKAT: (*task).unlinkat,
		unix.SYS_RENAMEAT: (*task).renameat, unix.SYS_RENAMEAT2: (*task).renameat2,
		unix.SYS_TRUNCATE: (*task).truncate,
		unix.SYS_FCHMODAT: (*task).fchmodat, unix.SYS_FCHMODAT2: (*task).fchmodat2, unix.SYS_FCHMOD: (*task).fchmod,
		unix.SYS_FCHOWNAT: (*task).fchownat, unix.SYS_FCHOWN: (*task).fchown,
		unix.SYS_UTIMENSAT: (*task).utimensat,
		unix.SYS_SETXATTR:  (*task).setxattr, unix.SYS_LSETXATTR: (*task).lsetxattr, unix.SYS_FSETXATTR: (*task).fsetxattr,
		unix.SYS_REMOVEXATTR: (*task).removexattr, unix.SYS_LREMOVEXATTR: (*task).lremovexattr,
		unix.SYS_FREMOVEXATTR: (*task).fremovexattr,
		sysSetxattrat:         (*task).setxattrat, sysRemovexattrat: (*task).removexattrat,
		sysFileSetattr: (*task).fileSetattr,
		unix.SYS_BIND:  (*task).bind, unix.SYS_UMASK: (*task).sawUmask, unix.SYS_CONNECT: (*task).connect,
	} {
		handlers[nr] = h
	}
	for nr, h := range oldCalls() {
		handlers[nr] = h
	}
}

// Handles says whether a call has a handler here.
func Handles(nr int) bool { return nr >= 0 && nr < len(handlers) && handlers[nr] != nil }
