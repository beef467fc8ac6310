//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package artifact

import (
	iofs "io/fs"
	"os"
)

// diskFull is not known here: a full disk is told as one that failed.
func diskFull(error) bool { return false }

// lockIn refuses: there is no lock here that ends with the program.
func lockIn(*os.Root) (*os.File, error) {
	return nil, &Error{Kind: ErrConfig, What: "dir", Detail: "this platform has no lock that ends with the program"}
}

// notOurs is decided by lockIn.
func notOurs(iofs.FileInfo) string { return "" }
