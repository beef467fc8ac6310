package egress

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"sallyport/policy"
)

// Upstream is a connection to a host, judged and checked. It is cut when the rules no longer allow it.
type Upstream struct {
	net.Conn
	gateway *Gateway
	target  target
	address netip.Addr
	client  atomic.Pointer[client] // who is served by it, cut with it
}

// admit takes a connection into the gateway's count, and judges it again if the rules changed while it was dialled.
func (g *Gateway) admit(judged *policy.Rules, u *Upstream) (*Upstream, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		u.Conn.Close()
		return nil, failure(u.target, net.ErrClosed)
	}
	g.upstreams[u] = struct{}{}
	g.mu.Unlock()
	// From here on SetRules sees it. What it swapped in before is seen here.
	if now := g.rules.Load(); now != judged {
		if refusal := g.rejudge(u, now); refusal != nil {
			u.Close()
			return nil, refusal
		}
	}
	return u, nil
}

// rejudge judges an open connection by other rules.
func (u *Upstream) rejudge(rules *policy.Rules) *Refusal {
	t, refusal := u.gateway.decide(rules, u.target.host, u.target.port)
	if refusal != nil {
		return refusal
	}
	own, err := u.gateway.own()
	if err != nil {
		return t.refuseAddress(u.address, "an address that cannot be compared with the host's own")
	}
	return t.judgeAddress(rules, u.address, own)
}

// Close ends the connection to the host.
func (u *Upstream) Close() error {
	u.gateway.mu.Lock()
	delete(u.gateway.upstreams, u)
	u.gateway.mu.Unlock()
	return u.Conn.Close()
}

// serves ties a client to the connection: they are cut together.
func (u *Upstream) serves(c client) { u.client.Store(&c) }

// cut ends both sides at once. What waits in them is not sent.
func (u *Upstream) cut() {
	reset(u.Conn)
	if c := u.client.Load(); c != nil {
		reset(c.Conn)
	}
}

// reset closes a connection so that the other side sees an error and not an orderly end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

const (
	pieceBytes = 1 << 20 // moved before the counters are looked at again
	// The same under a limit: a slow piece must not pass for an idle one, and many connections at once not go far beyond.
	smallPieceBytes = 64 << 10
)

var (
	errIdle  = errors.New("nothing went over the connection for too long")
	errBytes = errors.New("over the limit of bytes")
)

// flow is one tunnel's two directions.
type flow struct {
	g    *Gateway
	last atomic.Int64 // when something moved, in either direction
}

func (g *Gateway) newFlow() *flow {
	f := &flow{g: g}
	f.moved()
	return f
}

func (f *flow) moved() { f.last.Store(time.Now().UnixNano()) }

func (f *flow) idle() bool {
	return time.Since(time.Unix(0, f.last.Load())) >= f.g.limits.Idle
}

// pump moves n bytes from src to dst, or all until its end when n is negative. Both are bare connections: between two of
// TCP, io.Copy has the kernel move the bytes (splice), and anything wrapped around either would undo that.
func (f *flow) pump(dst, src net.Conn, n int64, count *atomic.Int64) error {
	for n != 0 {
		piece := f.g.piece()
		if n > 0 {
			piece = min(piece, n)
		}
		begun := time.Now()
		idle := f.g.limits.Idle
		if idle > 0 {
			src.SetReadDeadline(begun.Add(idle))
			dst.SetWriteDeadline(begun.Add(2 * idle))
		}
		moved, err := io.Copy(dst, io.LimitReader(src, piece))
		if moved > 0 {
			f.moved()
		}
		if f.g.over(count, moved) {
			return errBytes
		}
		if n > 0 {
			n -= moved
		}
		switch {
		case err != nil && idle > 0 && isTimeout(err):
			// Reading timed out, and nothing is lost. When it was the writing, bytes are lost on the way: then it is over.
			// And when it came early, somebody else wants it to end.
			if spent := time.Since(begun); f.idle() || spent < idle || spent >= 2*idle {
				return errIdle
			}
		case err != nil:
			return err
		case moved < piece && n < 0:
			return nil
		case moved < piece && n > 0:
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}

// piece is how much is moved before the counters are looked at again.
func (g *Gateway) piece() int64 {
	piece := int64(pieceBytes)
	if g.limits.Idle > 0 || g.limits.Bytes > 0 {
		piece = smallPieceBytes
	}
	if limit := g.limits.Bytes; limit > 0 { // one more than is left, so that more is seen to be more
		piece = min(piece, max(limit-g.sent.Load()-g.received.Load(), 0)+1)
	}
	return piece
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// over counts bytes and says whether the child has had more than its limit.
func (g *Gateway) over(count *atomic.Int64, n int64) bool {
	count.Add(n)
	return g.limits.Bytes > 0 && g.sent.Load()+g.received.Load() > g.limits.Bytes
}

// reserve keeps a place for a connection to a host while it is dialled. It says when there is none, or when the child has
// had all its bytes: without that each new connection would carry a piece more.
func (g *Gateway) reserve(t target) *Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.limits.Bytes > 0 && g.sent.Load()+g.received.Load() >= g.limits.Bytes:
		return bytesReached(t)
	case len(g.upstreams)+g.dialling >= 2*g.limits.Connections:
		return limitReached(t.host, t.port, "connections at once", "close connections that are no longer used")
	}
	g.dialling++
	return nil
}

func (g *Gateway) release() {
	g.mu.Lock()
	g.dialling--
	g.mu.Unlock()
}

// join carries a tunnel: first to the host, then both ways until both sides have ended or one fails. An end is passed on as
// an end, so that a program that closes its half still gets the answer.
func (g *Gateway) join(c client, u *Upstream, first func() ([]byte, error)) {
	f := g.newFlow()
	down := make(chan error, 1)
	go func() {
		err := f.pump(c.Conn, u.Conn, -1, &g.received)
		f.finish(c.Conn, u.Conn, err)
		down <- err
	}()
	early, err := first()
	if err == nil && len(early) > 0 {
		_, err = u.Conn.Write(early)
		if g.over(&g.sent, int64(len(early))) {
			err = errBytes
		}
	}
	if err == nil {
		err = f.pump(u.Conn, c.Conn, -1, &g.sent)
	}
	f.finish(u.Conn, c.Conn, err)
	if other := <-down; errors.Is(err, errBytes) || errors.Is(other, errBytes) {
		g.refuse(bytesReached(u.target), "cut")
	}
}

// finish passes the end of one direction on, or ends both when it failed.
func (f *flow) finish(dst, src net.Conn, err error) {
	half, ok := dst.(interface{ CloseWrite() error })
	if err == nil && ok {
		half.CloseWrite()
		return
	}
	dst.Close()
	src.Close()
}
