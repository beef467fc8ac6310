package live

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["reach-host-by-tcp"] = reachByTCP
	attackers["reach-host-by-mptcp"] = reachByMPTCP
	attackers["reach-host-by-udp"] = reachByUDP
	attackers["reach-abstract-socket"] = reachAbstract
	attackers["reach-path-socket"] = reachPath
	attackers["reach-path-by-datagram-pair"] = reachByPair
	attackers["make-sockets"] = makeSockets
	attackers["serve-inside"] = serveInside
}

// greeting is what the host's servers answer; nothing else is taken for them.
const greeting = "the host\n"

// withSocket makes a socket, sets a time limit on it, and closes it after use.
func withSocket(family, kind, protocol int, use func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	limit := unix.Timeval{Sec: 2}
	if err := errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)); err != nil {
		return err
	}
	return use(fd)
}

// greeted reads the greeting.
func greeted(fd int) error {
	buf := make([]byte, 64)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return err
	}
	if string(buf[:n]) != greeting {
		return fmt.Errorf("was answered %q", buf[:n])
	}
	return nil
}

func connected(fd int, to unix.Sockaddr) error {
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	return greeted(fd)
}

var loopback4 = [4]byte{127, 0, 0, 1}

// networkRefusals are what a network of one's own says of the host's ports, and what a filter says.
var networkRefusals = []syscall.Errno{unix.ECONNREFUSED, unix.ENETUNREACH, unix.EADDRNOTAVAIL, unix.EACCES, unix.EPERM,
	unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.EOPNOTSUPP}

// reachByTCP connects to a server of the host, plainly and with data in the first packet.
func reachByTCP(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	port := atoi(args[0])
	to := &unix.SockaddrInet4{Port: port, Addr: loopback4}
	mapped := &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	return every([]attempt{
		{"connect", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return connected(fd, to) })
		}},
		{"connect to a mapped address", func() error {
			return withSocket(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error { return connected(fd, mapped) })
		}},
		{"sendto with MSG_FASTOPEN", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				if err := unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, to); err != nil {
					return err
				}
				return greeted(fd)
			})
		}},
	}, networkRefusals...)
}

// reachByMPTCP connects with a protocol that rules for TCP do not name.
func reachByMPTCP(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	to := &unix.SockaddrInet4{Port: atoi(args[0]), Addr: loopback4}
	err := withSocket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, func(fd int) error { return connected(fd, to) })
	return judge("connect", err, networkRefusals...)
}

// reachByUDP sends to a server of the host and waits for its answer.
func reachByUDP(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	to := &unix.SockaddrInet4{Port: atoi(args[0]), Addr: loopback4}
	err := withSocket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
		if err := unix.Connect(fd, to); err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return err
		}
		return greeted(fd)
	})
	return judge("send and receive", err, networkRefusals...)
}

// reachAbstract connects to a socket without a file.
func reachAbstract(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	err := withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error {
		return connected(fd, &unix.SockaddrUnix{Name: "@" + args[0]})
	})
	return judge("connect", err, networkRefusals...)
}

// reachPath connects to a socket that has a file, as docker.sock and D-Bus do.
func reachPath(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	to := &unix.SockaddrUnix{Name: args[0]}
	return every([]attempt{
		{"stream", func() error {
			return withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return connected(fd, to) })
		}},
		{"stream, high bits of the family set", func() error {
			fd, _, errno := unix.Syscall(unix.SYS_SOCKET, unix.AF_UNIX|1<<32, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if errno != 0 {
				return errno
			}
			defer unix.Close(int(fd))
			return connected(int(fd), to)
		}},
	}, networkRefusals...)
}

// reachByPair sends from one end of a datagram pair to a path socket, without connecting.
func reachByPair(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	to := &unix.SockaddrUnix{Name: args[0]}
	from := func(kind int, send func(fd int) error) func() error {
		return func() error {
			fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fds[0])
			defer unix.Close(fds[1])
			return send(fds[0])
		}
	}
	return every([]attempt{
		{"sendto", from(unix.SOCK_DGRAM, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, to) })},
		{"sendmsg", from(unix.SOCK_DGRAM, func(fd int) error { return unix.Sendmsg(fd, []byte("x"), nil, to, 0) })},
		// The kernel makes a datagram pair of it.
		{"sendto from SOCK_RAW", from(unix.SOCK_RAW, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, to) })},
	}, networkRefusals...)
}

// socketKind is a kind of socket that no command gets.
type socketKind struct {
	name                   string
	family, kind, protocol int
	root                   bool // the kernel gives it to root alone
}

// socketKinds by name (process case 19).
var socketKinds = []socketKind{
	{"AF_ALG", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, false},
	{"AF_VSOCK", unix.AF_VSOCK, unix.SOCK_STREAM, 0, false},
	{"AF_PACKET", unix.AF_PACKET, unix.SOCK_RAW, 0, true},
	{"AF_PACKET, obsolete", unix.AF_INET, unix.SOCK_PACKET, 0, true},
	{"AF_XDP", unix.AF_XDP, unix.SOCK_RAW, 0, true},
	{"AF_BLUETOOTH", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, false},
	{"AF_KEY", unix.AF_KEY, unix.SOCK_RAW, 2, true},
	{"AF_TIPC", unix.AF_TIPC, unix.SOCK_STREAM, 0, false},
	{"AF_QIPCRTR", unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0, false},
	{"netlink kobject_uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, false},
	{"netlink generic", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC, false},
	{"netlink sock_diag", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG, false},
	{"netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, false},
	{"netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER, false},
	{"raw IPv4", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, true},
	{"raw IPv6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, true},
	{"MPTCP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, false},
	{"SCTP", unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP, false},
	{"UDP-Lite", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, false},
	{"DCCP", unix.AF_INET, 6, unix.IPPROTO_DCCP, false},
	{"AF_UNIX datagram", unix.AF_UNIX, unix.SOCK_DGRAM, 0, false},
	{"AF_UNIX stream", unix.AF_UNIX, unix.SOCK_STREAM, 0, false},
	{"AF_UNIX seqpacket", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, false},
}

// make makes the socket, plainly and with flags and high bits that the kernel ignores.
func (k socketKind) make(family, kind uintptr) error {
	fd, _, errno := unix.Syscall(unix.SYS_SOCKET, family, kind, uintptr(k.protocol))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// makeSockets makes those that the host named, because this kernel has them.
func makeSockets(args []string) (finding, error) {
	var all []attempt
	for _, k := range socketKinds {
		for _, name := range args {
			if name != k.name {
				continue
			}
			all = append(all,
				attempt{k.name, func() error { return k.make(uintptr(k.family), uintptr(k.kind|unix.SOCK_CLOEXEC)) }},
				attempt{k.name + ", high bits set", func() error {
					return k.make(uintptr(k.family)|0xbad<<32, uintptr(k.kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)|1<<40)
				}})
		}
	}
	if len(all) == 0 {
		return finding{}, errors.New("no kind was named: " + strings.Join(args, ", "))
	}
	return every(all, networkRefusals...)
}

// serveInside is what must work: a server and its client in the same jail, over TCP, UDP and a pair.
func serveInside([]string) (finding, error) {
	for name, kind := range map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM} {
		err := withSocket(unix.AF_INET, kind, 0, func(server int) error {
			if err := unix.Bind(server, &unix.SockaddrInet4{Addr: loopback4}); err != nil {
				return err
			}
			if kind == unix.SOCK_STREAM {
				if err := unix.Listen(server, 1); err != nil {
					return err
				}
			}
			to, err := unix.Getsockname(server)
			if err != nil {
				return err
			}
			return withSocket(unix.AF_INET, kind, 0, func(client int) error { return unix.Connect(client, to) })
		})
		if err != nil {
			return finding{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			return finding{}, fmt.Errorf("socketpair: %w", err)
		}
		unix.Close(fds[0])
		unix.Close(fds[1])
	}
	return got("a server on loopback was reached from inside")
}
