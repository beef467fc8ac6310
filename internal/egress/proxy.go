package egress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"
)

// ServeProxy speaks HTTP and SOCKS5 on a listener, until the gateway or the listener closes. It returns at once; the
// listener is the gateway's from then on.
func (g *Gateway) ServeProxy(ln net.Listener) { g.accept(ln, g.serveProxy, hangUp) }

const bufferBytes = 8 << 10 // of a reader; a longer line is read in pieces

// serveProxy tells the protocols apart by the first byte.
func (g *Gateway) serveProxy(c client) {
	br := bufio.NewReaderSize(c.Conn, bufferBytes)
	c.SetReadDeadline(time.Now().Add(g.limits.rest()))
	first, err := br.Peek(1)
	if err != nil {
		return
	}
	c.SetReadDeadline(time.Now().Add(g.limits.Head))
	switch first[0] {
	case socksVersion:
		g.serveSOCKS(c, br)
	case 0x04:
		g.refuse(protocolFault("", 0, "SOCKS4, which cannot carry a name to be judged; use SOCKS5 (socks5h://)"), "SOCKS4 91")
		c.Write([]byte{0, 91, 0, 0, 0, 0, 0, 0})
	case 0x16:
		g.refuse(protocolFault("", 0, "TLS to the proxy itself; name the proxy as http:// and not https://"), "TLS alert")
		c.Write(alertAccessDenied)
	default:
		f := &forwarder{g: g, c: c, br: br, flow: g.newFlow()}
		f.flow.still = f.wanted
		defer f.hangUp()
		for f.next() {
		}
	}
}

// next serves one request, and says whether another one may follow.
func (f *forwarder) next() bool {
	f.c.SetDeadline(time.Now().Add(f.g.limits.rest()))
	if _, err := f.br.Peek(1); err != nil {
		return false
	}
	f.c.SetDeadline(time.Now().Add(f.g.limits.Head))
	h, err := readHead(f.br, f.g.limits.HeadBytes, true)
	f.c.SetDeadline(time.Time{})
	var fault headError
	if errors.As(err, &fault) {
		return f.refuseHead(&request{head: h}, fault)
	}
	if err != nil {
		return false
	}
	r, err := parseRequest(h)
	if err == nil {
		err = f.g.judgeRequest(r)
	}
	if errors.As(err, &fault) {
		return f.refuseHead(r, fault)
	}
	if f.c.over {
		return f.answer(r, limitReached(shown(r.host), r.port, "connections at once", "close connections that are no longer used"), true)
	}
	if r.connect() {
		return f.connect(r)
	}
	return f.forward(r)
}

// refuseHead answers a head that was not understood. What follows it could be anything, so nothing more is read.
func (f *forwarder) refuseHead(r *request, fault headError) bool {
	host := ""
	if r.host != "" {
		host = shown(r.host)
	}
	return f.answer(r, protocolFault(host, r.port, "%s", string(fault)), true)
}

// answer tells the client why its request goes nowhere, and says whether another one may follow.
func (f *forwarder) answer(r *request, err error, last bool) bool {
	a := answerError(err)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		f.g.refuse(refusal, "HTTP "+itoa(a.status))
	}
	last = last || r.close || !r.framing.empty()
	if _, err := f.c.Write(a.bytes(r.head, r.method != "HEAD", last)); err != nil || !last {
		return err == nil
	}
	linger(f.c.Conn)
	return false
}

// linger closes in a way that lets the client read the answer: what it still sends would otherwise make the kernel throw
// the answer away.
func linger(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		c.SetReadDeadline(time.Now().Add(time.Second))
		io.CopyN(io.Discard, c, 256<<10)
	}
	c.Close()
}

// connect serves CONNECT.
func (f *forwarder) connect(r *request) bool {
	u, err := f.g.dial(f.g.ctx, r.host, r.port)
	if err != nil {
		// The last answer: a program that did not wait for it has begun to speak to its host, and that is no request.
		return f.answer(r, err, true)
	}
	defer u.Close()
	if _, err := io.WriteString(f.c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return false
	}
	f.g.tunnel(f.c, buffered(f.br), u)
	return false
}

// buffered takes what a reader has read ahead.
func buffered(br *bufio.Reader) []byte {
	b, _ := br.Peek(br.Buffered())
	return b
}
