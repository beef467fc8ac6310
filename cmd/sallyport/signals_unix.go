//go:build unix

package main

import (
	"os"
	"syscall"
)

// nonblocking makes opening a FIFO return at once, so that it can be refused.
const nonblocking = syscall.O_NONBLOCK

// forwarded are the signals a person or a supervisor sends to a program. SIGKILL cannot be caught: the command dies with
// us then. SIGTSTP and the other stops are left alone, so that a shell's job control stops this program.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
	syscall.SIGWINCH, syscall.SIGCONT,
}
