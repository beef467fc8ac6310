//go:build unix

package corpus

import "syscall"

// limitAddressSpace bounds the memory of this process.
func limitAddressSpace(bytes uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
