package live

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["reach-neighbour"] = reachNeighbour
	attackers["reach-neighbour-directly"] = reachDirectly
	attackers["send-everywhere"] = sendEverywhere
}

// said is what a server of the world answers.
const said = "welcome to"

// reachNeighbour finds every port that answers on loopback and asks each, in every way, for a host of somebody else.
func reachNeighbour(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	host, address := args[0], args[1]
	open, err := listening()
	if err != nil {
		return finding{}, err
	}
	if len(open) == 0 {
		return finding{}, errors.New("no port answers: there is no proxy to attack")
	}
	for _, port := range open {
		all := pleas(host, address)
		if port != 3128 {
			all = all[:10] // who does not speak HTTP waits for more of it, each time until we give up
		}
		for _, what := range all {
			answer, err := plead(port, what)
			if err == nil && strings.Contains(answer, said) {
				return got("port %d answered %q with %q", port, what, answer)
			}
		}
	}
	if f, err := reachDirectly(args); err != nil || f.verdict == through {
		return f, err
	}
	return finding{refused, fmt.Sprintf("asked the ports %v", open)}, nil
}

// listening are the ports at which anybody listens in this network namespace, as the kernel tells, and those of the usual
// services that answer although it does not tell.
func listening() ([]int, error) {
	ports := map[int]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(b), "\n")[1:] {
			fields := strings.Fields(line)
			const listens = "0A"
			if len(fields) < 4 || fields[3] != listens {
				continue
			}
			_, hex, _ := strings.Cut(fields[1], ":")
			port, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				return nil, err
			}
			ports[int(port)] = true
		}
	}
	for port := 1; port < 1024; port++ {
		if c, err := net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), time.Second); err == nil {
			ports[port] = true
			_ = c.Close()
		}
	}
	return slices.Sorted(maps.Keys(ports)), nil
}

// pleas are requests for a host that name somebody else, or look like something that is always let through.
func pleas(host, address string) []string {
	get := "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
	var all []string
	for _, h := range []string{host, address, host + ".", strings.ToUpper(host), "api.example.test\x00." + host, host + "\x00.api.example.test"} {
		for _, token := range []string{"", "Proxy-Authorization: Basic Y2hpbGQtMjp0b2tlbg==\r\n", "X-Forwarded-For: 127.0.0.1\r\nX-Sandbox: 2\r\nForwarded: for=neighbour\r\n"} {
			all = append(all,
				"CONNECT "+h+":80 HTTP/1.1\r\nHost: "+h+"\r\n"+token+"\r\n"+get,
				"GET http://"+h+"/ HTTP/1.1\r\nHost: "+h+"\r\n"+token+"Connection: close\r\n\r\n",
				"GET http://api.example.test/ HTTP/1.1\r\nHost: "+h+"\r\n"+token+"Connection: close\r\n\r\n",
				"GET http://"+h+"/ HTTP/1.1\r\nHost: api.example.test\r\n"+token+"Connection: close\r\n\r\n",
				"GET / HTTP/1.1\r\nHost: "+h+"\r\n"+token+"Connection: close\r\n\r\n")
		}
		all = append(all, "\x05\x01\x00"+"\x05\x01\x00\x03"+string(rune(len(h)))+h+"\x00\x50"+get,
			"\x05\x02\x00\x02"+"\x01\x05child\x05token"+"\x05\x01\x00\x03"+string(rune(len(h)))+h+"\x00\x50"+get)
	}
	a := netip.MustParseAddr(address).As4()
	return append(all, "\x05\x01\x00"+"\x05\x01\x00\x01"+string(a[:])+"\x00\x50"+get)
}

// plead sends all of it and reads what comes.
func plead(port int, what string) (string, error) {
	c, err := net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, what); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(c, 64<<10))
	if len(b) > 0 {
		err = nil
	}
	answer := string(b)
	if strings.Contains(answer, said+" api.example.test") && !strings.Contains(answer, "evil") {
		answer = "" // its own host
	}
	return answer, err
}

// reachDirectly connects to the address, in every way that a connection is made.
func reachDirectly(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	a := netip.MustParseAddr(args[1])
	to := &unix.SockaddrInet4{Port: 80, Addr: a.As4()}
	mapped := &unix.SockaddrInet6{Port: 80, Addr: a.As16()}
	get := []byte("GET / HTTP/1.0\r\nHost: " + args[0] + "\r\n\r\n")
	asked := func(fd int) error {
		if _, err := unix.Write(fd, get); err != nil {
			return err
		}
		b := make([]byte, 4096)
		n, err := unix.Read(fd, b)
		if err == nil && !strings.Contains(string(b[:n]), said) {
			err = fmt.Errorf("was answered %q", b[:n])
		}
		return err
	}
	plain := func(family, kind, protocol int, to unix.Sockaddr) func() error {
		return func() error {
			return withSocket(family, kind, protocol, func(fd int) error {
				if err := unix.Connect(fd, to); err != nil {
					return err
				}
				return asked(fd)
			})
		}
	}
	return every([]attempt{
		{"connect", plain(unix.AF_INET, unix.SOCK_STREAM, 0, to)},
		{"connect to a mapped address", plain(unix.AF_INET6, unix.SOCK_STREAM, 0, mapped)},
		{"connect by MPTCP", plain(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, to)},
		{"sendto with MSG_FASTOPEN", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				if err := unix.Sendto(fd, get, unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, to); err != nil {
					return err
				}
				return asked(fd)
			})
		}},
		{"TCP_FASTOPEN_CONNECT", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1), unix.Connect(fd, to)); err != nil {
					return err
				}
				return asked(fd)
			})
		}},
	}, networkRefusals...)
}

// sendEverywhere sends datagrams to an address, from fresh sockets and from connected ones, and to neighbours on the link.
// Its finding is refused only when the kernel refused each of them: one that is lost on the way was sent.
func sendEverywhere(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	to4 := netip.MustParseAddr(args[0]).As4()
	datagram := func(to unix.Sockaddr, family, protocol int) func() error {
		return func() error {
			return withSocket(family, unix.SOCK_DGRAM, protocol, func(fd int) error { return unix.Sendto(fd, []byte("escaped"), 0, to) })
		}
	}
	ping := []byte{8, 0, 0, 0, 0, 0, 0, 1, 'x'}
	return every([]attempt{
		{"a datagram", datagram(&unix.SockaddrInet4{Port: 9999, Addr: to4}, unix.AF_INET, 0)},
		{"a question to a name server", datagram(&unix.SockaddrInet4{Port: 53, Addr: to4}, unix.AF_INET, 0)},
		{"multicast", datagram(&unix.SockaddrInet4{Port: 5353, Addr: [4]byte{224, 0, 0, 251}}, unix.AF_INET, 0)},
		{"broadcast", datagram(&unix.SockaddrInet4{Port: 9999, Addr: [4]byte{255, 255, 255, 255}}, unix.AF_INET, 0)},
		{"UDP-Lite", datagram(&unix.SockaddrInet4{Port: 9999, Addr: to4}, unix.AF_INET, 136)},
		{"version 6", datagram(&unix.SockaddrInet6{Port: 9999, Addr: [16]byte{0x26, 0x06, 0x47, 0, 15: 1}}, unix.AF_INET6, 0)},
		{"mapped", datagram(&unix.SockaddrInet6{Port: 9999, Addr: netip.AddrFrom4(to4).As16()}, unix.AF_INET6, 0)},
		{"a connected datagram socket", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
				if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 9999, Addr: to4}); err != nil {
					return err
				}
				_, err := unix.Write(fd, []byte("escaped"))
				return err
			})
		}},
		{"sendmsg", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
				return unix.Sendmsg(fd, []byte("escaped"), nil, &unix.SockaddrInet4{Port: 9999, Addr: to4}, 0)
			})
		}},
		{"ping", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, func(fd int) error {
				return unix.Sendto(fd, ping, 0, &unix.SockaddrInet4{Addr: to4})
			})
		}},
		{"raw", func() error {
			return withSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, func(fd int) error {
				return unix.Sendto(fd, ping, 0, &unix.SockaddrInet4{Addr: to4})
			})
		}},
	}, networkRefusals...)
}
