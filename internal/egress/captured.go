package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"sallyport/policy"
)

// Meant says where a captured connection was to go.
type Meant struct {
	Host string // the address that connect(2) was given, or a name
	Port int
	// Upstream is what ConnectCaptured gave for it, or nil to have it dialled now. It is the gateway's from then on.
	Upstream *Upstream
}

// ServeCaptured carries connections of programs that know no proxy: each was meant for another host, and its socket was
// connected to this listener instead. meant says for which, by the remote address of the connection; an error refuses it.
// ServeCaptured returns at once.
//
// An address that stands for a name is judged as the name. A loopback address is the host's localhost, if it is not granted
// as it is.
func (g *Gateway) ServeCaptured(ln net.Listener, meant func(net.Conn) (Meant, error)) {
	g.accept(ln, func(c client) {
		m, err := meant(c.Conn)
		if err != nil {
			reset(c.Conn)
			return
		}
		u := m.Upstream
		if u != nil {
			u.take()
			defer u.Close()
		}
		if c.over {
			g.refuse(limitReached(shown(m.Host), m.Port, "connections at once", "close connections that are no longer used"), "ECONNRESET")
			reset(c.Conn)
			return
		}
		if u == nil {
			if u, err = g.connectCaptured(g.ctx, m.Host, m.Port, "ECONNRESET"); err != nil {
				reset(c.Conn)
				return
			}
			defer u.Close()
		}
		g.tunnel(c, nil, u)
	}, func(conn net.Conn) {
		reset(conn)
		// What was dialled for it would otherwise wait for ever, and a child could have the host open as many as it likes.
		if m, err := meant(conn); err == nil && m.Upstream != nil {
			m.Upstream.Close()
		}
	})
}

// Caller is who asks for a captured connection, for the record.
type Caller struct {
	PID     int
	Program string
	// Late says that connect(2) has returned already, so that a refusal is a reset. Nil never is late.
	Late *atomic.Bool
}

type callerKey struct{}

// WithCaller gives ConnectCaptured the one who asks.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// ConnectCaptured judges and dials for a connection that is about to be captured, so that connect(2) can fail as it
// should: a *Refusal, which is recorded here, as EACCES; a *Failure with its Errno. Whoever does not hand the Upstream
// over in a Meant closes it; after Limits.Head it closes itself, for a program may end between the two.
func (g *Gateway) ConnectCaptured(ctx context.Context, host string, port int) (*Upstream, error) {
	u, err := g.connectCaptured(ctx, host, port, "EACCES")
	if err == nil {
		u.keep(g.limits.Head)
	}
	return u, err
}

// Grants says whether the present rules let a captured connection be tried, and records nothing.
func (g *Gateway) Grants(host string, port int) bool {
	rules := g.rules.Load()
	_, refusal := g.decide(rules, asCaptured(rules, host, port), port)
	return refusal == nil
}

func (g *Gateway) connectCaptured(ctx context.Context, host string, port int, how string) (*Upstream, error) {
	u, err := g.dial(ctx, asCaptured(g.rules.Load(), host, port), port)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		if c, ok := ctx.Value(callerKey{}).(Caller); ok {
			refusal.PID, refusal.Program = c.PID, c.Program
			if c.Late != nil && c.Late.Load() {
				how = "ECONNRESET"
			}
		}
		g.refuse(refusal, how)
	}
	return u, err
}

// asCaptured turns a loopback address into the name by which the host's loopback is granted. A program that looked
// localhost up has nothing but the address left. An address that is granted itself stays.
func asCaptured(rules *policy.Rules, host string, port int) string {
	if c, err := policy.CanonicalHost(host); err == nil {
		a, err := netip.ParseAddr(c)
		if err == nil && slices.Contains(loopbacks, a) && !rules.Connect(c, port).Allowed {
			return localhost
		}
	}
	return host
}
