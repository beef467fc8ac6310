package fs

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const resolveFlags = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// errNoDirectory is a file where a directory should be.
const errNoDirectory = unix.ENOTDIR

// locate gets a handle of a clean path below the root, which opens nothing: a pipe does not wait, a device does not act.
func (d *Dir) locate(clean string) (*os.File, error) { return openBelow(d.handle, clean, unix.O_PATH) }

// open opens the directory at a clean path below the root.
func (d *Dir) open(clean string) (*os.File, error) {
	return openBelow(d.handle, clean, unix.O_RDONLY|unix.O_DIRECTORY)
}

// openBelow has the kernel resolve a path below an open directory.
func openBelow(dir *os.File, clean string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolveFlags}
	fd := -1
	err := with(dir, func(at int) (openErr error) {
		for range 100 { // EAGAIN: something was renamed meanwhile and the kernel could not be sure
			fd, openErr = unix.Openat2(at, clean, &how)
			if !errors.Is(openErr, unix.EAGAIN) && !errors.Is(openErr, unix.EINTR) {
				break
			}
		}
		return openErr
	})
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: clean, Err: err}
	}
	// The name is what package os looks at when a file system does not tell the types of names: the same directory,
	// whatever was renamed.
	return os.NewFile(uintptr(fd), procPath(fd)), nil
}

// reopen opens the regular file that a handle is of, for reading.
func reopen(f *os.File) (opened *os.File, err error) {
	err = with(f, func(fd int) error {
		got, openErr := unix.Open(procPath(fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		if openErr == nil {
			opened = os.NewFile(uintptr(got), procPath(got))
		}
		return openErr
	})
	return opened, err
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// with calls f with the descriptor of an open file, which stays open meanwhile.
func with(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Control(func(fd uintptr) { inner = f(int(fd)) })
	return errors.Join(err, inner)
}

// realPath asks the kernel where the open file is. A file that was deleted meanwhile has no path, and is refused.
func realPath(_ *Dir, f *os.File, _ string) (path string, err error) {
	err = with(f, func(fd int) (err error) {
		var at, there unix.Stat_t
		if path, err = os.Readlink(procPath(fd)); err != nil {
			return err
		}
		if err = errors.Join(unix.Fstat(fd, &at), unix.Lstat(path, &there)); err == nil && (at.Ino != there.Ino || at.Dev != there.Dev) {
			err = errors.New("the file has moved")
		}
		return err
	})
	return path, err
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
