package egress

import (
	"errors"
	"io"
	"time"
)

// alertAccessDenied is a fatal TLS alert (49), which programs print as "access denied".
var alertAccessDenied = []byte{0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 49}

var errServerName = errors.New("refused by its server name")

// tunnel carries a connection to a host. early is what the client sent already.
func (g *Gateway) tunnel(c client, early []byte, u *Upstream) {
	u.serves(c)
	g.join(c, u, func() ([]byte, error) {
		if u.target.literal.IsValid() || u.target.local || u.target.free {
			return early, nil
		}
		return g.firstFlight(c, early, u.target)
	})
}

// firstFlight reads as much of a stream as it takes to know the TLS server name or that it is not TLS, and judges it.
// A client may wait for the server to speak first, for as long as it likes; once it began a hello it must end it.
func (g *Gateway) firstFlight(c client, early []byte, t target) ([]byte, error) {
	buf := append(make([]byte, 0, max(4096, len(early))), early...)
	begun := false
	reader := helloReader{}
	for {
		h := reader.next(buf)
		if h.state == helloNone && t.port == 443 {
			h = oldHello(buf)
		}
		if h.state != helloPartial {
			c.SetReadDeadline(time.Time{})
			if refusal := g.judgeServerName(t, h); refusal != nil {
				g.refuse(refusal, "TLS alert")
				c.Write(alertAccessDenied)
				return nil, errServerName
			}
			return buf, nil
		}
		if !begun && len(buf) > 0 {
			begun = true
			c.SetReadDeadline(time.Now().Add(g.limits.Head))
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := c.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil && n == 0 {
			return g.endOfFlight(c, buf, t, err)
		}
	}
}

// endOfFlight decides about a stream that ended, or stalled, before it could be judged: an end without a byte is passed
// on, a piece of a hello is not.
func (g *Gateway) endOfFlight(c client, buf []byte, t target, err error) ([]byte, error) {
	if len(buf) == 0 {
		return nil, nil // the copy that follows meets the same end
	}
	if refusal := g.judgeServerName(t, bad("it does not end")); refusal != nil && (err == io.EOF || isTimeout(err)) {
		g.refuse(refusal, "TLS alert")
		c.Write(alertAccessDenied)
	}
	return nil, errServerName
}

// oldHello looks for the hello of SSL 2, by which a server may still be asked for TLS, and which names no server.
func oldHello(b []byte) hello {
	switch {
	case b[0]&0x80 == 0:
		return hello{state: helloNone}
	case len(b) < 3:
		return hello{}
	case b[2] == 1:
		return bad("an SSL 2 hello, which names no server")
	}
	return hello{state: helloNone}
}
