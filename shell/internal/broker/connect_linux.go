package broker

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Wanted is a connection of a caller to another host.
type Wanted struct {
	To netip.AddrPort
	// Source is the address that the caller's socket is bound to; the connection is known by it where it is picked up.
	Source netip.AddrPort
	// Wait says that the caller waits as long as it takes.
	Wait bool
	// Own says that a server of the command's own was looked for first, and is not there.
	Own     bool
	PID     int
	Program string
}

// maxAddress is the size of struct sockaddr_storage.
const maxAddress = 128

// address copies a socket address, once. What the caller's memory says later decides nothing.
func (t *task) address() ([]byte, unix.Errno) {
	size := int32(t.args[2])
	if size < 2 || size > maxAddress {
		return nil, unix.EINVAL
	}
	return t.readAll(t.args[1], int(size))
}

// connect decides where a connection may go, and makes it on the caller's own socket. Where the command has neither
// another network than loopback nor path sockets, it is only looked at.
func (t *task) connect() answer {
	if t.Outside == nil && !t.Sockets {
		return t.lookAtConnect()
	}
	socket, errno := t.descriptor(int32(t.args[0]))
	if errno != 0 {
		return failed(errno)
	}
	family, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return result(err)
	}
	kind, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return result(err)
	}
	address, errno := t.address()
	if errno != 0 {
		return failed(errno)
	}
	switch inet := family == unix.AF_INET || family == unix.AF_INET6; {
	case family == unix.AF_UNIX:
		return t.connectPath(socket, address)
	case inet && t.NoNetwork:
		if a := t.lookAtConnect(); !a.goOn {
			return a
		}
	case inet && t.Outside != nil && binary.NativeEndian.Uint16(address) != unix.AF_UNSPEC:
		return t.connectInternet(socket, family, kind, address)
	}
	// No other host can be reached from here, or every one may be.
	return t.answerLater(socket, func(socket int) unix.Errno { return connectTo(socket, address) })
}

// lookAtConnect looks at where a connection is to go, for the record. In a network without a way out only loopback can be
// reached, whatever the address becomes meanwhile.
func (t *task) lookAtConnect() answer {
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
	case family == unix.AF_INET && len(address) >= unix.SizeofSockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), port()), true
	case family == unix.AF_INET6 && len(address) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])).Unmap(), port()), true
	}
	return netip.AddrPort{}, false
}

// connectInternet connects a socket of IPv4 or IPv6. Loopback is the command's own; what is not there may be a service of
// the host that was granted. Everything else goes by way of the host.
func (t *task) connectInternet(socket, family, kind int, address []byte) answer {
	to, ok := destination(address)
	switch {
	case int(binary.NativeEndian.Uint16(address)) != family:
		return failed(unix.EAFNOSUPPORT)
	case !ok:
		return failed(unix.EINVAL)
	case kind != unix.SOCK_STREAM:
		return t.connectPackets(socket, to, address)
	}
	if _, err := unix.Getpeername(socket); err == nil {
		return failed(unix.EISCONN)
	}
	w := Wanted{To: to, Own: to.Addr().IsLoopback() || to.Addr().IsUnspecified()}
	w.PID, w.Program = t.who()
	return t.answerLater(socket, func(socket int) unix.Errno {
		if w.Own {
			if errno := connectOwn(socket, address); errno != unix.ECONNREFUSED {
				return errno
			}
		}
		return t.capture(socket, family, w)
	})
}

// connectPackets gives a packet socket its peer. The kernel has a way to loopback and to the addresses of names, where
// nobody listens; programs do this to find out which of their own addresses they would have.
func (t *task) connectPackets(socket int, to netip.AddrPort, address []byte) answer {
	errno := connectTo(socket, address)
	if errno != unix.ENETUNREACH {
		return failed(errno)
	}
	return t.refuseKind(Refusal{Operation: "connect", Target: to.String(), Errno: errno, Why: "packets leave no sandbox: only TCP is carried"})
}

// capture has the host make the connection, and connects the socket to where it is picked up.
func (b *Broker) capture(socket, family int, w Wanted) unix.Errno {
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil {
		return errnoOf(err)
	}
	w.Wait = flags&unix.O_NONBLOCK == 0
	var errno unix.Errno
	if w.Source, errno = bindLoopback(socket, family); errno != 0 {
		return errno
	}
	if errno := b.Outside(w); errno != 0 {
		disconnect(socket) // gives the port back
		return errno
	}
	return connectTo(socket, loopback(family, b.CapturePort))
}

// bindLoopback binds a socket to a port of 127.0.0.1, unless it has one, and gives the address. An IPv6 socket is taken to
// loopback by IPv4, which a socket for IPv6 alone has to allow first. A socket that is bound says EINVAL to both: what
// getsockname tells of a port may be left from an earlier attempt.
func bindLoopback(socket, family int) (netip.AddrPort, unix.Errno) {
	if family == unix.AF_INET6 {
		err := unix.SetsockoptInt(socket, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
		if err != nil && err != unix.EINVAL {
			return netip.AddrPort{}, errnoOf(err)
		}
	}
	errno := bindTo(socket, loopback(family, 0))
	if errno == unix.EADDRINUSE { // every port has had a connection within the last minute
		before, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR)
		if err == nil && unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) == nil {
			errno = bindTo(socket, loopback(family, 0))
			_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, before)
		}
	}
	bound, ok := boundTo(socket)
	if errno == unix.EINVAL && ok && bound.Port() != 0 {
		errno = 0
	}
	return onLoopback(bound), errno
}

// disconnect takes a socket back to where it was before connect. It may be there already.
func disconnect(socket int) {
	unspecified := make([]byte, unix.SizeofSockaddrInet4)
	_ = connectTo(socket, unspecified)
}

// boundTo gives the address that a socket is bound to.
func boundTo(socket int) (netip.AddrPort, bool) {
	name, err := unix.Getsockname(socket)
	if err != nil {
		return netip.AddrPort{}, false
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), true
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port)), true
	}
	return netip.AddrPort{}, false
}

// onLoopback is the address that a connection to loopback comes from.
func onLoopback(a netip.AddrPort) netip.AddrPort {
	if !a.Addr().IsValid() || a.Addr().IsUnspecified() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	return a
}

// loopback is 127.0.0.1 as an address for a socket of a family.
func loopback(family, port int) []byte {
	b := make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(b, uint16(family))
	binary.BigEndian.PutUint16(b[2:], uint16(port))
	if family == unix.AF_INET {
		copy(b[4:], []byte{127, 0, 0, 1})
		return b[:unix.SizeofSockaddrInet4]
	}
	copy(b[18:], []byte{0xff, 0xff, 127, 0, 0, 1})
	return b
}

func bindTo(socket int, address []byte) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_BIND, uintptr(socket), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	return errno
}

// connectTo makes the call on a socket, with an address of ours. Interrupted, it goes on and is waited for.
func connectTo(socket int, address []byte) unix.Errno {
	_, _, errno := syscall.Syscall(unix.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	if errno != unix.EINTR {
		return errno
	}
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(socket), Events: unix.POLLOUT}}, -1); err != unix.EINTR {
			break
		}
	}
	return socketError(socket)
}

// connectOwn connects to a server of the command's own. On loopback the answer is there when the call returns, also for a
// socket that does not wait.
func connectOwn(socket int, address []byte) unix.Errno {
	errno := connectTo(socket, address)
	if errno != unix.EINPROGRESS {
		return errno
	}
	if refused := socketError(socket); refused != 0 {
		disconnect(socket) // the next connect would be told of this one
		return refused
	}
	return errno
}

// socketError takes the error that waits at a socket.
func socketError(socket int) unix.Errno {
	n, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return errnoOf(err)
	}
	return unix.Errno(n)
}

// maxLater bounds the calls that wait for something other than this process. The next one fails as it does where the
// kernel has no port left.
const maxLater = 1024

// answerLater makes a call that may take long, on a socket of the caller, while this thread answers others. Nothing of
// the task may be used in do but what stays as it is.
func (t *task) answerLater(socket int, do func(socket int) unix.Errno) answer {
	own, err := unix.FcntlInt(uintptr(socket), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return result(err)
	}
	if t.later.Add(1) > maxLater {
		t.later.Add(-1)
		unix.Close(own)
		return failed(unix.EAGAIN)
	}
	b, id := t.Broker, t.id
	go func() {
		defer b.later.Add(-1)
		errno := do(own)
		unix.Close(own) // before the answer: the caller's close must be the last one
		b.respond(&response{id: id, errno: -int32(errno)})
	}()
	return answer{later: true}
}
