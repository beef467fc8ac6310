package fs

import (
	"errors"
	iofs "io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// open opens a clean path below the handle. O_NONBLOCK: a pipe without a writer must not hold us. O_NOCTTY: a
// terminal must not become ours.
func (d *Dir) open(clean string) (*os.File, error) {
	conn, err := d.handle.SyscallConn()
	if err != nil {
		return nil, err
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd := -1
	var openErr error
	err = conn.Control(func(dir uintptr) {
		for range 100 { // EAGAIN: something was renamed meanwhile and the kernel could not be sure
			fd, openErr = unix.Openat2(int(dir), clean, &how)
			if !errors.Is(openErr, unix.EAGAIN) && !errors.Is(openErr, unix.EINTR) {
				return
			}
		}
	})
	if err = errors.Join(err, openErr); err != nil {
		return nil, &os.PathError{Op: "openat2", Path: clean, Err: err}
	}
	return os.NewFile(uintptr(fd), clean), nil
}

// realPath asks the kernel where the open file is. A file that was deleted meanwhile has no path, and is refused.
func realPath(_ *Dir, f *os.File, _ string) (string, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var p string
	var linkErr error
	err = conn.Control(func(fd uintptr) {
		link := "/proc/self/fd/" + strconv.Itoa(int(fd))
		var at, there unix.Stat_t
		if p, linkErr = os.Readlink(link); linkErr != nil {
			return
		}
		if linkErr = errors.Join(unix.Fstat(int(fd), &at), unix.Lstat(p, &there)); linkErr == nil && (at.Ino != there.Ino || at.Dev != there.Dev) {
			linkErr = errors.New("the file has moved")
		}
	})
	return p, errors.Join(err, linkErr)
}

// modeOf is the type of a name in an open directory: asked of the descriptor, so that a link that is swapped in on the
// way to it changes nothing.
func (d *Dir) modeOf(dir *os.File, _, name string) (iofs.FileMode, error) {
	conn, err := dir.SyscallConn()
	if err != nil {
		return 0, err
	}
	var st unix.Stat_t
	var statErr error
	err = conn.Control(func(fd uintptr) { statErr = unix.Fstatat(int(fd), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err = errors.Join(err, statErr); err != nil {
		return 0, &os.PathError{Op: "fstatat", Path: name, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0, nil
	case unix.S_IFDIR:
		return iofs.ModeDir, nil
	case unix.S_IFLNK:
		return iofs.ModeSymlink, nil
	}
	return iofs.ModeIrregular, nil
}

// isLinkOrName tells errors that are about the path, not about reading: a link (ELOOP), a file where a directory
// should be, a way out (EXDEV), a name that is too long, a device that nobody serves, a socket (ENXIO).
func isLinkOrName(err error) bool {
	for _, e := range []unix.Errno{unix.ELOOP, unix.ENOTDIR, unix.EXDEV, unix.ENAMETOOLONG, unix.ENXIO, unix.ENODEV, unix.EINVAL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
