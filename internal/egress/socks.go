package egress

import (
	"bufio"
	"errors"
	"io"
	"net/netip"
	"slices"
	"time"
)

// SOCKS5 (RFC 1928), without authentication: the listener says who asks.
const (
	socksVersion = 5

	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4

	socksGranted     = 0
	socksFailed      = 1
	socksNotAllowed  = 2
	socksNetUnreach  = 3
	socksHostUnreach = 4
	socksRefused     = 5
	socksNoCommand   = 7
	socksNoAddress   = 8
	socksNoMethod    = 0xff
)

// serveSOCKS serves one SOCKS5 connection. The deadline for the handshake is set already.
func (g *Gateway) serveSOCKS(c client, br *bufio.Reader) {
	if !g.greet(c, br) {
		return
	}
	host, port, code := readSOCKS(br)
	if code < 0 {
		return
	}
	c.SetReadDeadline(time.Time{})
	if code != socksGranted {
		what := "a SOCKS command other than CONNECT; BIND and UDP are not carried"
		if code == socksNoAddress {
			what = "a SOCKS address of an unknown kind"
		}
		g.refuse(protocolFault("", 0, "%s", what), "SOCKS "+itoa(code))
		reply(c, code)
		return
	}
	if c.over {
		g.refuse(limitReached(shown(host), port, "connections at once", "close connections that are no longer used"), "SOCKS 1")
		reply(c, socksFailed)
		return
	}
	u, err := g.dial(g.ctx, host, port)
	if err != nil {
		code := socksCode(err)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			g.refuse(refusal, "SOCKS "+itoa(code))
		}
		reply(c, code)
		linger(c.Conn)
		return
	}
	defer u.Close()
	if reply(c, socksGranted) == nil {
		g.tunnel(c, buffered(br), u)
	}
}

// greet agrees on no authentication.
func (g *Gateway) greet(c client, br *bufio.Reader) bool {
	greeting := make([]byte, 2, 2+255)
	if _, err := io.ReadFull(br, greeting); err != nil {
		return false
	}
	methods := greeting[2 : 2+int(greeting[1])]
	if _, err := io.ReadFull(br, methods); err != nil {
		return false
	}
	if !slices.Contains(methods, 0) {
		g.refuse(protocolFault("", 0, "SOCKS5 without the method \"no authentication\"; leave user and password away"), "SOCKS 255")
		c.Write([]byte{socksVersion, socksNoMethod})
		return false
	}
	_, err := c.Write([]byte{socksVersion, 0})
	return err == nil
}

// readSOCKS reads a request. The code is socksGranted when it is one to be judged, another when it is refused as it
// stands, and -1 when it is no request. The name is taken as it is, all its bytes: the policy reads it.
func readSOCKS(br *bufio.Reader) (host string, port, code int) {
	var b [4]byte
	if _, err := io.ReadFull(br, b[:]); err != nil || b[0] != socksVersion {
		return "", 0, -1
	}
	if b[1] != socksConnect {
		return "", 0, socksNoCommand
	}
	size := 0
	switch b[3] {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		n, err := br.ReadByte()
		if err != nil {
			return "", 0, -1
		}
		size = int(n)
	default:
		return "", 0, socksNoAddress
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(br, rest); err != nil {
		return "", 0, -1
	}
	host = string(rest[:size])
	if b[3] != socksName {
		a, _ := netip.AddrFromSlice(rest[:size])
		host = a.String()
	}
	return host, int(rest[size])<<8 | int(rest[size+1]), socksGranted
}

func reply(c client, code int) error {
	_, err := c.Write([]byte{socksVersion, byte(code), 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

func socksCode(err error) int {
	var f *Failure
	if !errors.As(err, &f) {
		return socksNotAllowed
	}
	switch f.Errno {
	case "ECONNREFUSED":
		return socksRefused
	case "ENETUNREACH":
		return socksNetUnreach
	}
	return socksHostUnreach
}
