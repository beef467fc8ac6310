package egress

import (
	"errors"
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
	untaken *time.Timer            // closes one that nobody came for; nil when it is served already
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
	u.take()
	u.gateway.mu.Lock()
	delete(u.gateway.upstreams, u)
	u.gateway.mu.Unlock()
	return u.Conn.Close()
}

// keep closes the connection when nobody takes it in time.
func (u *Upstream) keep(d time.Duration) {
	u.gateway.mu.Lock()
	defer u.gateway.mu.Unlock()
	u.untaken = time.AfterFunc(d, func() { u.Close() })
}

func (u *Upstream) take() {
	u.gateway.mu.Lock()
	defer u.gateway.mu.Unlock()
	if u.untaken != nil {
		u.untaken.Stop()
	}
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
	var answered, told atomic.Bool // by the host, and why it is refused
	down := make(chan error, 1)
	go func() {
		err := f.pump(c.Conn, u.Conn, -1, &g.received)
		answered.Store(err == nil)
		finish(c.Conn, u.Conn, err, told.Load())
		down <- err
	}()
	early, err := first()
	if err == nil && len(early) > 0 {
		if err = errBytes; !g.over(&g.sent, int64(len(early))) {
			err = f.write(u.Conn, early)
		}
	}
	if err == nil {
		err = f.pump(u.Conn, c.Conn, -1, &g.sent)
	}
	told.Store(errors.Is(err, errServerName))
	// When the host ended its side properly, that it takes nothing more does not make its answer less whole.
	finish(u.Conn, c.Conn, err, answered.Load() || told.Load())
	if other := <-down; errors.Is(err, errBytes) || errors.Is(other, errBytes) {
		g.refuse(bytesReached(u.target), "cut")
	}
}

// finish passes the end of one direction on. When it failed it ends both: what was cut must not look whole, unless
// gently says that it is.
func finish(dst, src net.Conn, err error, gently bool) {
	half, ok := dst.(interface{ CloseWrite() error })
	switch {
	case err == nil && ok:
		half.CloseWrite()
	case err == nil || gently:
		dst.Close()
		src.Close()
	default:
		reset(dst)
		reset(src)
	}
}
