//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package artifact

import (
	"errors"
	iofs "io/fs"
	"os"
	"syscall"
)

// diskFull says whether there is no room: on the disk, in the user's quota, or below the largest size of a file.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// lockIn takes the lock of a directory. The kernel gives it free when the program ends, however it does.
func lockIn(root *os.Root) (*os.File, error) {
	f, err := root.OpenFile(lockName, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, &Error{Kind: ErrConfig, What: "dir", Detail: "its lock cannot be opened", Err: err}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, &Error{Kind: ErrLocked, What: "dir", Err: err}
	}
	return f, nil
}

// notOurs says why a directory is not ours alone; empty when it is.
func notOurs(info iofs.FileInfo) string {
	if info.Mode().Perm()&0o077 != 0 {
		return "others may enter it; it must have mode 0700"
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return "it belongs to another user"
	}
	return ""
}
