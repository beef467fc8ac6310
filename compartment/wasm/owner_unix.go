//go:build unix

package wasm

import (
	"errors"
	iofs "io/fs"
	"os"
	"syscall"
)

// ownedByUs makes sure that a file belongs to the user of this process, or to root.
func ownedByUs(st iofs.FileInfo) error {
	if s, ok := st.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && s.Uid != 0 {
		return errors.New("the directory of compiled code belongs to another user")
	}
	return nil
}
