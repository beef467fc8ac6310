package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/policy"
)

// Config is what a Gateway is made of. The zero value reaches nothing.
type Config struct {
	Rules    *policy.Rules // nil reaches nothing
	Resolver Resolver      // nil is net.DefaultResolver
	Limits   Limits
	// Record is called with every refusal, from several goroutines; it must not block. Repeated ones are its to count.
	Record func(*Refusal)
}

// Limits bound what one child can have. A zero field is its default.
type Limits struct {
	// Connections at once, of all listeners together; 256. One more is told so, and twice as many are not even answered. There
	// are no more than twice as many to hosts either, which matters for those that were made for a client yet to come.
	Connections int
	// Names that have an address of their own; 16384. The one that was not asked for the longest is forgotten.
	Names int
	// HeadBytes of a request's or response's head; 64 KiB, more than any server takes.
	HeadBytes int
	// Head is the time for a whole head, a SOCKS handshake or a TLS hello, from its first byte; 10 s.
	Head time.Duration
	// KeepAlive is the time to the first byte of the next request; 2 min.
	KeepAlive time.Duration
	// Dial is the time to resolve and connect, all addresses together; 30 s.
	Dial time.Duration
	// Idle ends a connection over which nothing went for that long; zero never does.
	Idle time.Duration
	// Bytes that may go both ways together, heads of requests and answers too; zero is no limit. A connection under way is cut
	// there, and after that nothing is connected any more.
	Bytes int64
}

func (l Limits) withDefaults() Limits {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	wait := func(t *time.Duration, d time.Duration) {
		if *t <= 0 {
			*t = d
		}
	}
	def(&l.Connections, 256)
	def(&l.Names, 16384)
	def(&l.HeadBytes, 64<<10)
	wait(&l.Head, 10*time.Second)
	wait(&l.KeepAlive, 2*time.Minute)
	wait(&l.Dial, 30*time.Second)
	return l
}

// rest is how long a connection may lie between two requests.
func (l Limits) rest() time.Duration {
	if l.Idle > 0 {
		return min(l.KeepAlive, l.Idle)
	}
	return l.KeepAlive
}

// Gateway judges and carries the connections of one child. Its methods may be called from several goroutines.
type Gateway struct {
	rules    atomic.Pointer[policy.Rules]
	nothing  *policy.Rules // reaches nothing
	swapping sync.Mutex    // one SetRules at a time, so that the last one has the last word
	resolver Resolver
	limits   Limits
	record   func(*Refusal)
	names    *names
	ctx      context.Context // ends when the gateway closes
	cancel   context.CancelFunc

	sent, received, refused atomic.Int64
	bulk                    atomic.Int64 // large buffers in use

	mu        sync.Mutex
	closed    bool
	open      map[io.Closer]struct{} // listeners and accepted connections
	clients   int                    // accepted connections
	dialling  int                    // connections to hosts that are being made
	upstreams map[*Upstream]struct{}
	running   sync.WaitGroup

	// The checks and the dialler, as fields so that a test can take one away and see the attack succeed.
	dialAddress     func(context.Context, target, netip.AddrPort) (net.Conn, error)
	own             func() ([]netip.Addr, error)
	judgeAddress    func(target, *policy.Rules, netip.Addr, []netip.Addr) *Refusal
	judgeServerName func(target, hello) *Refusal
	judgeRequest    func(*request) error
	rejudge         func(*Upstream, *policy.Rules) *Refusal
}

// New makes a gateway. It fails only if a policy that reaches nothing cannot be made.
func New(c Config) (*Gateway, error) {
	nothing, err := (policy.Policy{}).Compile(policy.CompileOptions{})
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		nothing:  nothing,
		resolver: c.Resolver, limits: c.Limits.withDefaults(), record: c.Record,
		open: map[io.Closer]struct{}{}, upstreams: map[*Upstream]struct{}{},
		dialAddress: dialTCP, own: ownAddresses, judgeAddress: target.judgeAddress, judgeServerName: target.judgeServerName,
		judgeRequest: (*request).judge, rejudge: (*Upstream).rejudge,
	}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	if g.record == nil {
		g.record = func(*Refusal) {}
	}
	g.names = newNames(g.limits.Names)
	g.SetRules(c.Rules)
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g, nil
}

// Stats counts since the gateway was made.
type Stats struct {
	Sent, Received int64 // bytes to and from the hosts
	Refused        int64
	Clients        int // accepted connections that are open
	Upstreams      int // connections to hosts that are open
}

// Stats gives the counters as they are now.
func (g *Gateway) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{g.sent.Load(), g.received.Load(), g.refused.Load(), g.clients, len(g.upstreams)}
}

// SetRules puts other rules in the place of the present ones. When it returns, every decision is by the new rules, and
// every connection that they do not allow is cut.
// Nil reaches nothing.
func (g *Gateway) SetRules(rules *policy.Rules) {
	if rules == nil {
		rules = g.nothing
	}
	g.swapping.Lock()
	defer g.swapping.Unlock()
	g.rules.Store(rules)
	g.mu.Lock()
	var open []*Upstream
	for u := range g.upstreams {
		open = append(open, u)
	}
	g.mu.Unlock()
	for _, u := range open {
		if refusal := g.rejudge(u, rules); refusal != nil {
			g.refuse(refusal, "cut")
			u.cut()
		}
	}
}

// Close cuts every connection, closes the listeners, and returns when nothing of the gateway runs any more.
func (g *Gateway) Close() error {
	g.mu.Lock()
	g.closed = true
	var open []io.Closer
	for c := range g.open {
		open = append(open, c)
	}
	for u := range g.upstreams {
		open = append(open, u.Conn)
	}
	g.mu.Unlock()
	g.cancel()
	for _, c := range open {
		c.Close() // what it says is of no use: it may have been closed by its own side already
	}
	g.running.Wait()
	return nil
}

// begin runs f as a part of the gateway, with c closed when f returns or the gateway closes. It closes c at once when the
// gateway is closed already.
func (g *Gateway) begin(c io.Closer, f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.Close()
		return false
	}
	g.open[c] = struct{}{}
	g.running.Go(func() {
		defer g.end(c)
		f()
	})
	return true
}

func (g *Gateway) end(c io.Closer) {
	c.Close()
	g.mu.Lock()
	delete(g.open, c)
	g.mu.Unlock()
}

// client is an accepted connection. over says that it is one too many, which it is to be told.
type client struct {
	net.Conn
	over bool
}

// accept takes connections from a listener until it closes. turnAway gets those that are far too many, and must be quick.
func (g *Gateway) accept(ln net.Listener, serve func(client), turnAway func(net.Conn)) {
	g.begin(ln, func() {
		var wait time.Duration
		for {
			conn, err := ln.Accept()
			switch {
			case err == nil:
				wait = 0
				g.start(conn, serve, turnAway)
			case isClosed(err) || !g.pause(&wait):
				return
			}
		}
	})
}

func hangUp(c net.Conn) { c.Close() }

// pause waits before the next Accept, longer each time: out of descriptors is a state that passes. It says whether the
// gateway is still open.
func (g *Gateway) pause(wait *time.Duration) bool {
	*wait = min(max(2**wait, 5*time.Millisecond), time.Second)
	select {
	case <-time.After(*wait):
		return true
	case <-g.ctx.Done():
		return false
	}
}

func (g *Gateway) start(conn net.Conn, serve func(client), turnAway func(net.Conn)) {
	g.mu.Lock()
	n := g.clients
	if n >= 2*g.limits.Connections {
		g.mu.Unlock()
		g.begin(conn, func() { turnAway(conn) })
		return
	}
	g.clients++
	g.mu.Unlock()
	left := func() {
		g.mu.Lock()
		g.clients--
		g.mu.Unlock()
	}
	if !g.begin(conn, func() { defer left(); serve(client{conn, n >= g.limits.Connections}) }) {
		left()
	}
}

// refuse completes a refusal and records it.
func (g *Gateway) refuse(r *Refusal, how string) *Refusal {
	r.Time, r.How = time.Now(), how
	g.refused.Add(1)
	g.record(r)
	return r
}

func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }
