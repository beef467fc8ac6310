package broker

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// found is a file that a call is about: open, and its real path.
type found struct {
	fd   int
	path string
}

// objectAt reads a path from an argument and opens what it leads to. With empty, an empty path means the descriptor.
func (t *task) objectAt(dirfd int32, arg int, follow, empty bool) (found, unix.Errno) {
	path := ""
	if !empty || t.args[arg] != 0 { // calls that take an empty path take a null pointer for one
		var errno unix.Errno
		if path, errno = t.path(arg, empty); errno != 0 {
			return found{}, errno
		}
	}
	start, errno := t.base(dirfd, path)
	if errno != 0 {
		return found{}, errno
	}
	if path == "" {
		return t.name(start)
	}
	return t.object(start, path, follow)
}

// name finds the path of an open file.
func (t *task) name(fd int) (found, unix.Errno) {
	path, errno := t.realPath(fd)
	return found{fd, path}, errno
}

// openFile takes a descriptor of the caller, for a call that takes no O_PATH descriptor.
func (t *task) openFile(fd int32) (found, unix.Errno) {
	got, errno := t.descriptor(fd)
	if errno != 0 {
		return found{}, errno
	}
	if flags, err := unix.FcntlInt(uintptr(got), unix.F_GETFL, 0); err != nil || flags&unix.O_PATH != 0 {
		return found{}, unix.EBADF
	}
	return t.name(got)
}

// change judges a file that was found, and changes something about it.
func (t *task) change(f found, errno unix.Errno, do func(fd int, path string) error) answer {
	if errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.holdFile(&f); errno != 0 {
		return failed(errno)
	}
	if d := t.write(f.path); !d.Allowed && !t.ownObject(f) {
		return t.refused("write", d, f.fd)
	}
	return result(do(f.fd, selfPath(f.fd)))
}

func (t *task) truncate() answer {
	size := int64(t.args[1])
	if size < 0 {
		return failed(unix.EINVAL)
	}
	f, errno := t.objectAt(unix.AT_FDCWD, 0, true, false)
	return t.change(f, errno, func(_ int, path string) error {
		// The limit on the size of a file is the caller's own.
		var limit unix.Rlimit
		if err := unix.Prlimit(t.tid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
			return err
		}
		if size > 0 && uint64(size) > limit.Cur {
			_ = unix.Tgkill(t.threadGroup(), t.tid, unix.SIGXFSZ) // as the kernel does; it may be gone
			return unix.EFBIG
		}
		return unix.Truncate(path, size)
	})
}

func (t *task) threadGroup() int {
	pid, errno := t.process()
	if errno != 0 {
		return t.tid
	}
	return pid
}

func (t *task) chmod() answer {
	f, errno := t.objectAt(unix.AT_FDCWD, 0, true, false)
	return t.setMode(f, errno, t.args[1])
}

func (t *task) fchmodat() answer {
	f, errno := t.objectAt(int32(t.args[0]), 1, true, false)
	return t.setMode(f, errno, t.args[2])
}

func (t *task) fchmodat2() answer {
	flags := int(int32(t.args[3]))
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return failed(unix.EINVAL)
	}
	f, errno := t.objectAt(int32(t.args[0]), 1, flags&unix.AT_SYMLINK_NOFOLLOW == 0, flags&unix.AT_EMPTY_PATH != 0)
	return t.setMode(f, errno, t.args[2])
}

func (t *task) fchmod() answer {
	f, errno := t.openFile(int32(t.args[0]))
	return t.setMode(f, errno, t.args[1])
}

func (t *task) setMode(f found, errno unix.Errno, mode uint64) answer {
	return t.change(f, errno, func(fd int, path string) error {
		if isLink(fd) {
			return unix.EOPNOTSUPP
		}
		_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(uint32(mode)), unix.AT_EMPTY_PATH, 0, 0)
		switch errno {
		case 0:
			return nil
		case unix.ENOSYS: // before Linux 6.6
			return unix.Fchmodat(unix.AT_FDCWD, path, uint32(mode), 0)
		}
		return errno
	})
}

func isLink(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

func (t *task) chown() answer {
	f, errno := t.objectAt(unix.AT_FDCWD, 0, true, false)
	return t.setOwner(f, errno, t.args[1], t.args[2])
}

func (t *task) lchown() answer {
	f, errno := t.objectAt(unix.AT_FDCWD, 0, false, false)
	return t.setOwner(f, errno, t.args[1], t.args[2])
}

func (t *task) fchownat() answer {
	flags := int(int32(t.args[4]))
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return failed(unix.EINVAL)
	}
	f, errno := t.objectAt(int32(t.args[0]), 1, flags&unix.AT_SYMLINK_NOFOLLOW == 0, flags&unix.AT_EMPTY_PATH != 0)
	return t.setOwner(f, errno, t.args[2], t.args[3])
}

func (t *task) fchown() answer {
	f, errno := t.openFile(int32(t.args[0]))
	return t.setOwner(f, errno, t.args[1], t.args[2])
}

func (t *task) setOwner(f found, errno unix.Errno, uid, gid uint64) answer {
	return t.change(f, errno, func(fd int, _ string) error {
		return unix.Fchownat(fd, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH)
	})
}

// utimensat takes a null path for the descriptor itself.
func (t *task) utimensat() answer {
	times, errno := t.times(t.args[2], 1)
	if errno != 0 {
		return failed(errno)
	}
	flags := int(int32(t.args[3]))
	if t.args[1] == 0 && int32(t.args[0]) != unix.AT_FDCWD {
		if flags != 0 {
			return failed(unix.EINVAL)
		}
		f, errno := t.openFile(int32(t.args[0]))
		return t.setTimes(f, errno, times)
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return failed(unix.EINVAL)
	}
	if t.args[1] == 0 {
		return failed(unix.EFAULT)
	}
	f, errno := t.objectAt(int32(t.args[0]), 1, flags&unix.AT_SYMLINK_NOFOLLOW == 0, flags&unix.AT_EMPTY_PATH != 0)
	return t.setTimes(f, errno, times)
}

// futimesat has microseconds, and a null path for the descriptor itself.
func (t *task) futimesat() answer {
	times, errno := t.times(t.args[2], 1000)
	if errno != 0 {
		return failed(errno)
	}
	if t.args[1] == 0 {
		f, errno := t.openFile(int32(t.args[0]))
		return t.setTimes(f, errno, times)
	}
	f, errno := t.objectAt(int32(t.args[0]), 1, true, false)
	return t.setTimes(f, errno, times)
}

func (t *task) utimes() answer {
	times, errno := t.times(t.args[1], 1000)
	if errno != 0 {
		return failed(errno)
	}
	f, errno := t.objectAt(unix.AT_FDCWD, 0, true, false)
	return t.setTimes(f, errno, times)
}

// utime has whole seconds.
func (t *task) utime() answer {
	var times *[2]unix.Timespec
	if t.args[1] != 0 {
		raw, errno := t.readAll(t.args[1], 16)
		if errno != 0 {
			return failed(errno)
		}
		times = &[2]unix.Timespec{
			{Sec: int64(binary.NativeEndian.Uint64(raw))},
			{Sec: int64(binary.NativeEndian.Uint64(raw[8:]))},
		}
	}
	f, errno := t.objectAt(unix.AT_FDCWD, 0, true, false)
	return t.setTimes(f, errno, times)
}

// times copies two times, whose small part counts so many nanoseconds; nil means now.
func (t *task) times(addr uint64, unit int64) (*[2]unix.Timespec, unix.Errno) {
	if addr == 0 {
		return nil, 0
	}
	raw, errno := t.readAll(addr, 32)
	if errno != 0 {
		return nil, errno
	}
	var times [2]unix.Timespec
	for i := range times {
		times[i].Sec = int64(binary.NativeEndian.Uint64(raw[16*i:]))
		small := int64(binary.NativeEndian.Uint64(raw[16*i+8:]))
		if unit != 1 && (small < 0 || small >= 1e9/unit) {
			return nil, unix.EINVAL
		}
		times[i].Nsec = small * unit
	}
	return &times, 0
}

func (t *task) setTimes(f found, errno unix.Errno, times *[2]unix.Timespec) answer {
	return t.change(f, errno, func(fd int, _ string) error {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
			uintptr(unsafe.Pointer(times)), unix.AT_EMPTY_PATH, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// empty is an empty C string.
var empty [1]byte

// Bounds of extended attributes.
const (
	xattrName  = 256 // with its end
	xattrValue = 64 << 10
)

func (t *task) setxattr() answer {
	return t.setAttribute(t.args[1], t.args[2], t.args[3], t.args[4], func() (found, unix.Errno) {
		return t.objectAt(unix.AT_FDCWD, 0, true, false)
	})
}

func (t *task) lsetxattr() answer {
	return t.setAttribute(t.args[1], t.args[2], t.args[3], t.args[4], func() (found, unix.Errno) {
		return t.objectAt(unix.AT_FDCWD, 0, false, false)
	})
}

func (t *task) fsetxattr() answer {
	return t.setAttribute(t.args[1], t.args[2], t.args[3], t.args[4], func() (found, unix.Errno) {
		return t.openFile(int32(t.args[0]))
	})
}

// setxattrat hands its value over in a structure: address, size and flags.
func (t *task) setxattrat() answer {
	const size = 16
	if t.args[5] < size {
		return failed(unix.EINVAL)
	}
	if t.args[5] > size {
		return failed(unix.E2BIG)
	}
	raw, errno := t.readAll(t.args[4], size)
	if errno != 0 {
		return failed(errno)
	}
	word := binary.NativeEndian.Uint32
	return t.setAttribute(t.args[3], binary.NativeEndian.Uint64(raw), uint64(word(raw[8:])), uint64(word(raw[12:])), t.objectAtFlags)
}

// objectAtFlags is the object of a call with descriptor, path and AT flags first.
func (t *task) objectAtFlags() (found, unix.Errno) {
	flags := int(int32(t.args[2]))
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return found{}, unix.EINVAL
	}
	return t.objectAt(int32(t.args[0]), 1, flags&unix.AT_SYMLINK_NOFOLLOW == 0, flags&unix.AT_EMPTY_PATH != 0)
}

// setAttribute reads name and value before it looks for the file, as the kernel does.
func (t *task) setAttribute(nameAt, valueAt, size, flags uint64, find func() (found, unix.Errno)) answer {
	if flags&^(unix.XATTR_CREATE|unix.XATTR_REPLACE) != 0 {
		return failed(unix.EINVAL)
	}
	name, errno := t.attributeName(nameAt)
	if errno != 0 {
		return failed(errno)
	}
	if size > xattrValue {
		return failed(unix.E2BIG)
	}
	var value []byte
	if size > 0 {
		if value, errno = t.readAll(valueAt, int(size)); errno != 0 {
			return failed(errno)
		}
	}
	f, errno := find()
	return t.change(f, errno, func(fd int, path string) error {
		if isLink(fd) {
			return unix.EPERM // as for every attribute that may be set without capabilities
		}
		return unix.Setxattr(path, name, value, int(flags))
	})
}

func (t *task) attributeName(addr uint64) (string, unix.Errno) {
	name, errno := t.text(addr, xattrName, unix.ERANGE)
	if errno == 0 && name == "" {
		errno = unix.ERANGE
	}
	return name, errno
}

func (t *task) removexattr() answer {
	return t.removeAttribute(t.args[1], func() (found, unix.Errno) { return t.objectAt(unix.AT_FDCWD, 0, true, false) })
}

func (t *task) lremovexattr() answer {
	return t.removeAttribute(t.args[1], func() (found, unix.Errno) { return t.objectAt(unix.AT_FDCWD, 0, false, false) })
}

func (t *task) fremovexattr() answer {
	return t.removeAttribute(t.args[1], func() (found, unix.Errno) { return t.openFile(int32(t.args[0])) })
}

func (t *task) removexattrat() answer { return t.removeAttribute(t.args[3], t.objectAtFlags) }

func (t *task) removeAttribute(nameAt uint64, find func() (found, unix.Errno)) answer {
	name, errno := t.attributeName(nameAt)
	if errno != 0 {
		return failed(errno)
	}
	f, errno := find()
	return t.change(f, errno, func(fd int, path string) error {
		if isLink(fd) {
			return unix.EPERM
		}
		return unix.Removexattr(path, name)
	})
}

// fileSetattr hands struct file_attr over, which may grow.
func (t *task) fileSetattr() answer {
	size := t.args[3]
	if size > uint64(unix.Getpagesize()) {
		return failed(unix.E2BIG)
	}
	if size == 0 {
		return failed(unix.EINVAL)
	}
	raw, errno := t.readAll(t.args[2], int(size))
	if errno != 0 {
		return failed(errno)
	}
	flags := int(int32(t.args[4]))
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return failed(unix.EINVAL)
	}
	f, errno := t.objectAt(int32(t.args[0]), 1, flags&unix.AT_SYMLINK_NOFOLLOW == 0, flags&unix.AT_EMPTY_PATH != 0)
	return t.change(f, errno, func(_ int, path string) error {
		p, err := unix.BytePtrFromString(path)
		if err != nil {
			return err
		}
		_, _, got := unix.Syscall6(sysFileSetattr, uintptr(^uint(99)), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&raw[0])), uintptr(size), 0, 0)
		if got != 0 {
			return got
		}
		return nil
	})
}
