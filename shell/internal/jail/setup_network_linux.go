package jail

import (
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The listeners of a child are made inside its network namespace and held by the host alone. So whoever is accepted on
// one can only be that child, and nothing that it sends has to prove who it is.

// listenBacklog is how many connections may wait for the host at one listener; the kernel cuts it to net.core.somaxconn.
const listenBacklog = 1024

// ifreq is struct ifreq with an address in it.
type ifreq struct {
	name    [unix.IFNAMSIZ]byte
	address unix.RawSockaddrInet4
	_       [8]byte
}

// makeListeners makes the listeners and sends them to the host. The copies here are closed: the command never has one.
func (b *builder) makeListeners(plan *Plan) {
	b.layer = "network"
	b.leadNamesHome(plan.NameRange)
	text, err := json.Marshal(Message{Listeners: &Listeners{}})
	if err != nil {
		b.err = err
		return
	}
	rights := unix.UnixRights(make([]int, ListenerCount)...)
	for i, l := range []struct{ kind, port int }{
		ProxyListener: {unix.SOCK_STREAM, ProxyPort}, NameListener: {unix.SOCK_STREAM, NamePort},
		NamePackets: {unix.SOCK_DGRAM, NamePort}, CaptureListener: {unix.SOCK_STREAM, CapturePort},
	} {
		b.listener(l.kind, l.port, (*int32)(unsafe.Pointer(&rights[unix.CmsgLen(0)+4*i])))
	}
	message := &unix.Msghdr{Iov: &unix.Iovec{Base: &text[0], Len: uint64(len(text))}, Iovlen: 1, Control: &rights[0], Controllen: uint64(len(rights))}
	b.keep = append(b.keep, text, rights)
	b.do("hand the listeners over", "sendmsg", unix.SYS_SENDMSG, regSocket, unsafe.Pointer(message), unix.MSG_NOSIGNAL)
}

// listener makes one, on 127.0.0.1, and writes its number into the message. It closes at the exec.
func (b *builder) listener(kind, port int, into *int32) {
	const doing = "make a listener"
	fd := b.get(doing, "socket", unix.SYS_SOCKET, unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	b.calls[len(b.calls)-1].into = into
	address := inet4(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	b.do(doing, "bind", unix.SYS_BIND, fd, unsafe.Pointer(&address), int(unsafe.Sizeof(address)))
	if kind == unix.SOCK_STREAM {
		b.do(doing, "listen", unix.SYS_LISTEN, fd, listenBacklog)
	}
	b.free = append(b.free, fd)
}

// leadNamesHome gives loopback the range of addresses that stand for names. Programs ask the kernel whether an address can
// be reached before they use it, and whether the machine has an address that is not loopback's (AI_ADDRCONFIG).
func (b *builder) leadNamesHome(given string) {
	prefix, err := netip.ParsePrefix(given)
	if err != nil {
		b.err = err
		return
	}
	const doing = "lead the addresses of names to loopback"
	fd := b.get(doing, "socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	mask := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-prefix.Bits()))))
	for _, step := range []struct {
		call  string
		ioctl int
		value netip.Addr
	}{
		{"ioctl(SIOCSIFADDR)", unix.SIOCSIFADDR, prefix.Masked().Addr()},
		{"ioctl(SIOCSIFNETMASK)", unix.SIOCSIFNETMASK, mask},
	} {
		request := &ifreq{address: inet4(step.value, 0)}
		copy(request.name[:], "lo:1")
		b.do(doing, step.call, unix.SYS_IOCTL, fd, step.ioctl, unsafe.Pointer(request))
	}
	b.close(fd)
}

func inet4(a netip.Addr, port int) unix.RawSockaddrInet4 {
	s := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: a.As4()}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&s.Port))[:], uint16(port))
	return s
}
