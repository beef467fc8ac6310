//go:build unix && !linux

package fs

import "syscall"

// nonblock keeps a pipe that was swapped in from holding us.
const nonblock = syscall.O_NONBLOCK
