package broker

import (
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// place is where a name stands, or would stand: an open directory and one name in it.
type place struct {
	dir  int
	name string // the last name, and the slashes behind it
	base string // the last name
	path string // real path of the directory, and the name
	// special says that the last name is "." or ".." or that there is none: no call can make, move or remove such a
	// name, so the kernel's own error is the answer.
	special bool
}

// slashes says whether something stands behind the last name.
func (p *place) slashes() bool { return len(p.name) > len(p.base) }

// openat2 is unix.Openat2 that makes the call again when it was interrupted or the tree changed under it.
func openat2(dir int, path string, how *unix.OpenHow) (int, unix.Errno) {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, unix.EINVAL
	}
	for tries := 0; ; tries++ {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how), 0, 0)
		if errno == unix.EINTR || errno == unix.EAGAIN && how.Flags&unix.O_PATH != 0 && tries < 100 {
			continue
		}
		return int(fd), errno
	}
}

// place splits a path and opens the directory that its last name stands in.
func (t *task) place(start int, path string) (place, unix.Errno) {
	var p place
	end := len(strings.TrimRight(path, "/"))
	begin := strings.LastIndexByte(path[:end], '/') + 1
	p.base, p.name = path[begin:end], path[begin:]
	p.special = p.base == "" || p.base == "." || p.base == ".."
	if p.special && p.base == "" { // the path is "/"
		p.dir, p.name, p.path = unix.AT_FDCWD, "/", "/"
		return p, 0
	}
	dir := found{fd: start}
	var errno unix.Errno
	if begin > 0 {
		dir, errno = t.object(start, path[:begin], true)
	} else {
		dir, errno = t.name(start)
	}
	switch {
	case errno != 0:
		return p, errno
	case dir.path == "" || dir.path[0] != '/':
		return p, unix.ENOTDIR // a pipe or a socket
	}
	p.dir, p.path = dir.fd, strings.TrimSuffix(dir.path, "/")+"/"+p.base
	return p, 0
}

// object opens what a path leads to, without any right to its contents. With follow a final link is followed.
func (t *task) object(start int, path string, follow bool) (found, unix.Errno) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, errno := openat2(start, path, &how)
	if errno == 0 {
		f, errno := t.name(t.keep(fd))
		if errno != 0 || !inProc(f.path) {
			return f, errno
		}
	}
	// In /proc "self" means this process and not the caller, and magic links are the caller's own.
	if fd, errno = t.walk(start, path, follow); errno != 0 {
		return found{}, errno
	}
	return t.name(fd)
}

// inProc says whether a real path lies in /proc. The file system is nowhere else to be seen in a jail.
func inProc(path string) bool {
	return strings.HasPrefix(path, "/proc") && (len(path) == len("/proc") || path[len("/proc")] == '/')
}

// realPath is the path of an open file as the jail sees it. What no path leads to has a name without a leading "/".
func (t *task) realPath(fd int) (string, unix.Errno) {
	if fd == unix.AT_FDCWD {
		return "/", 0
	}
	var name [16]byte
	digits := strconv.AppendInt(name[:0], int64(fd), 10)
	n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(t.self), uintptr(unsafe.Pointer(&digits[0])),
		uintptr(unsafe.Pointer(&t.link[0])), uintptr(len(t.link)), 0, 0)
	if errno != 0 {
		return "", errno // ENAMETOOLONG: a path that cannot be known cannot be judged
	}
	if int(n) == len(t.link) {
		return "", unix.ENAMETOOLONG
	}
	return string(t.link[:n]), 0
}

// selfPath is a path by which this process reaches an open file of its own, whatever it is.
func selfPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
