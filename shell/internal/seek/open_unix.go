//go:build unix

package seek

import "syscall"

// openFlags: a pipe without a writer must not hold us, and a link that was put there meanwhile is not followed.
const (
	openWaitless = syscall.O_NONBLOCK
	openFlags    = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
)
