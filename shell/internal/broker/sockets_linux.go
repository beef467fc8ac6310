package broker

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// connectPath connects a path socket. The path is resolved here, once, and what it led to is held: the connection is made
// to that very socket, whatever comes to stand at the path. The other side sees the credentials of this process.
func (t *task) connectPath(socket int, address []byte) answer {
	if !t.Sockets {
		return failed(unix.EISCONN) // only pairs can be had
	}
	path, errno := socketPath(address)
	switch {
	case errno != 0:
		return failed(errno)
	case path == "":
		return t.refuseKind(Refusal{Operation: "unix", Target: "an abstract socket", Errno: unix.EPERM,
			Why: "sockets without a path belong to nobody, and only those with one can be granted"})
	}
	start, errno := t.base(unix.AT_FDCWD, path)
	if errno != 0 {
		return failed(errno)
	}
	f, errno := t.object(start, path, true)
	if errno != 0 {
		return failed(errno)
	}
	if d := t.Rules.UnixSocket(f.path); !d.Allowed {
		return t.deny("unix", d, unix.EACCES)
	}
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return result(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return failed(unix.ECONNREFUSED) // as the kernel says of a file that is no socket
	}
	held, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return result(err)
	}
	a := t.answerLater(socket, func(socket int) unix.Errno {
		defer unix.Close(held)
		return connectTo(socket, pathAddress(selfPath(held)))
	})
	if !a.later {
		unix.Close(held)
	}
	return a
}

// socketPath is the path of an address of a path socket, "" for one without.
func socketPath(address []byte) (string, unix.Errno) {
	if binary.NativeEndian.Uint16(address) != unix.AF_UNIX || len(address) > unix.SizeofSockaddrUnix {
		return "", unix.EINVAL
	}
	path, _, _ := strings.Cut(string(address[2:]), "\x00")
	return path, 0
}

func pathAddress(path string) []byte {
	return append(append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), path...), 0)
}

// bind makes the call on the caller's own socket with a copy of the address. A path makes a file, which is judged like
// every other; without a grant of path sockets, no socket that a command can have needs one.
func (t *task) bind() answer {
	address, errno := t.address()
	if errno != 0 {
		return failed(errno)
	}
	socket, errno := t.descriptor(int32(t.args[0]))
	if errno != 0 {
		return failed(errno)
	}
	// Asked of the socket and not of the address: AF_UNSPEC is an address for some.
	if family, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return result(err)
	} else if family == unix.AF_UNIX {
		return t.bindPath(socket, address)
	}
	return failed(bindTo(socket, address))
}

func (t *task) bindPath(socket int, address []byte) answer {
	path, errno := socketPath(address)
	switch {
	case errno != 0:
		return failed(errno)
	case !t.Sockets && path == "":
		return failed(bindTo(socket, address)) // one end of a pair, which nobody can connect to
	case !t.Sockets || path == "":
		target := "bind to an abstract socket"
		if path != "" {
			target = fmt.Sprintf("bind to %q", path)
		}
		return t.refuseKind(Refusal{Operation: "unix", Target: target, Errno: unix.EPERM,
			Why: "a socket with a name is one that other programs connect to"})
	}
	start, errno := t.base(unix.AT_FDCWD, path)
	if errno != 0 {
		return failed(errno)
	}
	p, errno := t.place(start, path)
	if errno != 0 {
		return failed(errno)
	}
	if errno := t.takeUmask(); errno != 0 {
		return failed(errno)
	}
	defer t.letGo()
	if errno := t.hold(false, &p); errno != 0 {
		return failed(errno)
	}
	if p.special || p.slashes() {
		return failed(unix.EADDRINUSE)
	}
	if d := t.write(p.path); !d.Allowed {
		a := t.refuseNew(&p, d, false)
		if a.errno == unix.EEXIST {
			a.errno = unix.EADDRINUSE
		}
		return a
	}
	named := pathAddress("/proc/self/fd/" + strconv.Itoa(p.dir) + "/" + p.name)
	if len(named) > unix.SizeofSockaddrUnix {
		return failed(unix.ENAMETOOLONG)
	}
	return failed(bindTo(socket, named))
}
