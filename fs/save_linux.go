package fs

import (
	"errors"
	iofs "io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// create makes a file without a name in the directory, or, where the file system cannot, one with a name that nobody uses.
func (s *saving) create() (f *os.File, name string, err error) {
	err = with(s.dir, func(dir int) error {
		fd, openErr := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(newMode))
		if errors.Is(openErr, unix.EOPNOTSUPP) || errors.Is(openErr, unix.EISDIR) {
			name = temporaryName()
			fd, openErr = unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, uint32(newMode))
		}
		if openErr == nil {
			f = os.NewFile(uintptr(fd), "new file")
		}
		return openErr
	})
	if err != nil {
		return nil, "", &os.PathError{Op: "create", Path: s.dirPath, Err: err}
	}
	return f, name, nil
}

// stat looks at a name in the directory, and follows no link.
func (s *saving) stat(base string) (iofs.FileInfo, error) {
	f, err := openBelow(s.dir, base, unix.O_PATH)
	if errors.Is(err, unix.ELOOP) {
		return nil, &Error{Kind: ErrNotRegular, Path: s.name, Err: err}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// link gives a file without a name one.
func (s *saving) link(f *os.File, name string) error {
	return with(s.dir, func(dir int) error {
		return with(f, func(fd int) error {
			return os.NewSyscallError("linkat", unix.Linkat(unix.AT_FDCWD, procPath(fd), dir, name, unix.AT_SYMLINK_FOLLOW))
		})
	})
}

// rename is the one step: a link that was put there meanwhile is replaced, not followed.
func (s *saving) rename(from string) error {
	return with(s.dir, func(dir int) error {
		return os.NewSyscallError("renameat", unix.Renameat(dir, from, dir, s.base))
	})
}

func (s *saving) remove(name string) error {
	return with(s.dir, func(dir int) error { return os.NewSyscallError("unlinkat", unix.Unlinkat(dir, name, 0)) })
}

// keepMode gives a new file the permissions of the old one, and its owner where that is somebody else and may be.
func keepMode(f *os.File, old iofs.FileInfo) error {
	was := old.Sys().(*syscall.Stat_t)
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if is := now.Sys().(*syscall.Stat_t); is.Uid != was.Uid || is.Gid != was.Gid {
		// An ordinary user cannot: as with any editor, the file is then his.
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil && !errors.Is(err, iofs.ErrPermission) {
			return err
		}
	}
	return f.Chmod(old.Mode().Perm())
}

// syncDir brings the new name to the disk. Some file systems cannot, and say EINVAL.
func syncDir(dir *os.File) error {
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}
