package broker

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// sawUmask notes that umasks differ from now on. The call itself is the caller's: its argument is a number.
func (t *task) sawUmask() answer {
	t.umaskMoved.Store(true)
	return answer{goOn: true}
}

// lookAtRead looks at an open for reading that mounts decide. What the rules deny is denied here already; the rest goes
// on, and the mounts hold whatever the caller does to its arguments meanwhile.
func (t *task) lookAtRead(dirfd int32, arg int, follow bool) answer {
	p, errno := t.path(arg, false)
	if errno != 0 {
		t.opaque = false // the kernel will say so itself
		return answer{goOn: true}
	}
	start, errno := t.base(dirfd, p)
	if errno != 0 {
		t.opaque = false
		return answer{goOn: true}
	}
	real, dir, ok := t.realOf(start, p, follow)
	if !ok {
		return answer{goOn: true}
	}
	d := t.Rules.Read(real)
	if d.Allowed || t.ownPrivate(real, d) {
		return answer{goOn: true}
	}
	return t.refused("read", d, dir)
}

// realOf is the real path of what a path leads to. When a directory on the way may not be entered, it is that of the
// directory with the rest of the path.
func (t *task) realOf(start int, p string, follow bool) (real string, dir int, ok bool) {
	rest := ""
	for p != "" {
		f, errno := t.object(start, p, follow)
		if errno == 0 {
			return path.Join(f.path, rest), f.fd, strings.HasPrefix(f.path, "/")
		}
		if errno != unix.EACCES {
			return "", -1, false
		}
		p = strings.TrimRight(p, "/")
		cut := strings.LastIndexByte(p, '/') + 1
		rest = path.Join(p[cut:], rest)
		p, follow = p[:cut], true
	}
	return "", -1, false
}

// refusedCall answers a call that is refused for what it is.
func (t *task) refusedCall() answer {
	if t.Refused == nil {
		return failed(unix.ENOSYS)
	}
	r, ok := t.Refused(t.nr, t.args)
	if !ok {
		return failed(unix.EPERM) // the filter sent it here, so something refuses it
	}
	return t.refuseKind(r)
}

func (t *task) refuseKind(r Refusal) answer {
	d := policy.Decision{
		Path: r.Target, Rule: policy.Rule{List: policy.ListDefault, Index: -1, Why: r.Why},
		Reason: "tried " + r.Target + ", which no command may: " + r.Why,
	}
	if t.Record != nil {
		t.Record(Denial{Operation: r.Operation, Target: r.Target, Errno: r.Errno, Decision: d}, t.who)
	}
	return failed(r.Errno)
}

// maxAddress is the size of struct sockaddr_storage.
const maxAddress = 128

// address copies a socket address.
func (t *task) address() ([]byte, unix.Errno) {
	size := int32(t.args[2])
	if size < 0 || size > maxAddress {
		return nil, unix.EINVAL
	}
	if size < 2 {
		return nil, unix.EINVAL
	}
	return t.readAll(t.args[1], int(size))
}

// connect looks at where a connection is to go. In a network without a way out only loopback can be reached.
func (t *task) connect() answer {
	address, errno := t.address()
	if errno != 0 {
		t.opaque = false
		return answer{goOn: true}
	}
	to, ok := destination(address)
	if !ok || to.Addr().IsLoopback() || to.Addr().IsUnspecified() {
		return answer{goOn: true}
	}
	return t.refuseKind(Refusal{
		Operation: "connect", Target: to.String(), Errno: unix.ENETUNREACH,
		Why: "the policy gives this command no network",
	})
}

func destination(address []byte) (netip.AddrPort, bool) {
	port := func() uint16 { return binary.BigEndian.Uint16(address[2:]) }
	switch family := binary.NativeEndian.Uint16(address); {
	case family == unix.AF_INET && len(address) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), port()), true
	case family == unix.AF_INET6 && len(address) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])).Unmap(), port()), true
	}
	return netip.AddrPort{}, false
}

// bind makes the call on the caller's own socket with a copy of the address. A path would make a file: no socket that
// a command can have needs one.
func (t *task) bind() answer {
	address, errno := t.address()
	if errno != 0 {
		return failed(errno)
	}
	if binary.NativeEndian.Uint16(address) == unix.AF_UNIX && len(address) > 2 && address[2] != 0 {
		name, _, _ := strings.Cut(string(address[2:]), "\x00")
		return t.refuseKind(Refusal{Operation: "unix", Target: fmt.Sprintf("bind to %q", name), Errno: unix.EPERM,
			Why: "a path socket would be a file that other programs connect to"})
	}
	socket, errno := t.descriptor(int32(t.args[0]))
	if errno != 0 {
		return failed(errno)
	}
	_, _, bound := unix.Syscall(unix.SYS_BIND, uintptr(socket), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	return failed(bound)
}
