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
func (t *task) place(start int, path string, resolve uint64) (place, unix.Errno) {
	var p place
	end := len(strings.TrimRight(path, "/"))
	begin := strings.LastIndexByte(path[:end], '/') + 1
	p.base, p.name = path[begin:end], path[begin:]
	p.special = p.base == "" || p.base == "." || p.base == ".."
	if p.special && p.base == "" { // the path is "/"
		p.dir, p.name, p.path = unix.AT_FDCWD, "/", "/"
		return p, 0
	}
	p.dir = start
	if dir := path[:begin]; dir != "" {
		var errno unix.Errno
		if p.dir, errno = t.object(start, dir, true, resolve); errno != 0 {
			return p, errno
		}
	}
	real, errno := t.realPath(p.dir)
	if errno != 0 {
		return p, errno
	}
	if real == "" || real[0] != '/' {
		return p, unix.ENOTDIR // a pipe or a socket
	}
	p.path = strings.TrimSuffix(real, "/") + "/" + p.base
	return p, 0
}

// object opens what a path leads to, without any right to its contents. With follow a final link is followed.
func (t *task) object(start int, path string, follow bool, resolve uint64) (int, unix.Errno) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, errno := openat2(start, path, &how)
	switch {
	case errno == 0 && !isProc(fd):
		return t.keep(fd), 0
	case errno == 0:
		unix.Close(fd)
		if resolve != 0 {
			return -1, unix.EACCES // under the caller's own restrictions "self" cannot be given its meaning
		}
	case resolve != 0:
		return -1, errno
	}
	// In /proc "self" means this process and not the caller, and magic links are the caller's own.
	return t.walk(start, path, follow)
}

// procMagic is the type of the proc file system.
const procMagic = 0x9fa0

func isProc(fd int) bool {
	if fd == unix.AT_FDCWD {
		return false // only beside an absolute path
	}
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) != nil || st.Type == procMagic
}

// realPath is the path of an open file as the jail sees it. What no path leads to has a name without a leading "/".
func (t *task) realPath(fd int) (string, unix.Errno) {
	if fd == unix.AT_FDCWD {
		return "/", 0
	}
	n, err := unix.Readlinkat(t.self, strconv.Itoa(fd), t.link[:])
	if err != nil {
		return "", errnoOf(err) // ENAMETOOLONG: a path that cannot be known cannot be judged
	}
	if n == len(t.link) {
		return "", unix.ENAMETOOLONG
	}
	return string(t.link[:n]), 0
}

// selfPath is a path by which this process reaches an open file of its own, whatever it is.
func selfPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
