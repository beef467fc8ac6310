package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"sallyport/policy"
)

// Resolver finds the addresses of a name; *net.Resolver is one. The name it is given ends in a dot, so that no search
// domain makes another name of it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	maxAddresses = 16                     // of one name that are looked at; more are a burden, not a help
	nextAddress  = 250 * time.Millisecond // until the next address is tried besides (RFC 8305)
)

// dial decides, resolves, checks and dials. What it returns is counted and can be cut; the caller closes it.
func (g *Gateway) dial(ctx context.Context, host string, port int) (*Upstream, error) {
	ctx, cancel := context.WithTimeout(ctx, g.limits.Dial)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	rules := g.rules.Load()
	t, refusal := g.decide(rules, host, port)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := g.reserve(t); refusal != nil {
		return nil, refusal
	}
	defer g.release()
	addresses, err := g.addresses(ctx, t)
	if err != nil {
		return nil, failure(t, err)
	}
	checked, refusal := g.check(rules, t, addresses)
	if refusal != nil {
		return nil, refusal
	}
	conn, a, err := g.race(ctx, t, checked)
	if err != nil {
		return nil, failure(t, err)
	}
	return g.admit(rules, &Upstream{Conn: conn, gateway: g, target: t, address: a})
}

var errNoAddress = errors.New("the name has no address")

// addresses resolves a target, once.
func (g *Gateway) addresses(ctx context.Context, t target) ([]netip.Addr, error) {
	switch {
	case t.literal.IsValid():
		return []netip.Addr{t.literal}, nil
	case t.local:
		return loopbacks, nil
	}
	found, err := g.resolver.LookupNetIP(ctx, "ip", t.host+".")
	if err == nil && len(found) == 0 {
		err = errNoAddress
	}
	return found[:min(len(found), maxAddresses)], err
}

// check gives those of the addresses that may be dialled, or why none may.
func (g *Gateway) check(rules *policy.Rules, t target, addresses []netip.Addr) ([]netip.Addr, *Refusal) {
	own, err := g.own()
	if err != nil { // nothing is dialled on the word of a list that cannot be read
		return nil, t.refuseAddress(addresses[0], "an address that cannot be compared with the host's own")
	}
	var checked []netip.Addr
	var first *Refusal
	for _, a := range addresses {
		a = a.Unmap()
		if refusal := g.judgeAddress(t, rules, a, own); refusal == nil {
			checked = append(checked, a)
		} else if first == nil {
			first = refusal
		}
	}
	if len(checked) > 0 {
		first = nil
	}
	return interleave(checked), first
}

// interleave puts the families in turn, beginning with the one the resolver prefers.
func interleave(addresses []netip.Addr) []netip.Addr {
	var families [2][]netip.Addr
	for _, a := range addresses {
		i := 0
		if a.Is4() != addresses[0].Is4() {
			i = 1
		}
		families[i] = append(families[i], a)
	}
	mixed := addresses[:0:0]
	for i := range max(len(families[0]), len(families[1])) {
		for _, f := range families {
			if i < len(f) {
				mixed = append(mixed, f[i])
			}
		}
	}
	return mixed
}

type dialled struct {
	conn    net.Conn
	address netip.Addr
	err     error
}

// race dials the addresses in turn, the next one when one failed or took long, and keeps the first that answers. When
// it returns, every other attempt has ended.
func (g *Gateway) race(ctx context.Context, t target, addresses []netip.Addr) (net.Conn, netip.Addr, error) {
	if len(addresses) == 1 {
		conn, err := g.dialAddress(ctx, t, netip.AddrPortFrom(addresses[0], uint16(t.port)))
		return conn, addresses[0], err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialled)
	pending, next := 0, 0
	start := func() {
		a := addresses[next]
		next++
		pending++
		go func() {
			conn, err := g.dialAddress(ctx, t, netip.AddrPortFrom(a, uint16(t.port)))
			results <- dialled{conn, a, err}
		}()
	}
	timer := time.NewTimer(nextAddress)
	defer timer.Stop()
	start()
	var won, lost dialled
	for pending > 0 {
		select {
		case r := <-results:
			pending--
			switch {
			case r.err == nil && won.conn == nil:
				won = r
				cancel()
			case r.err == nil:
				r.conn.Close()
			case lost.err == nil:
				lost = r
			}
			if r.err != nil && won.conn == nil && next < len(addresses) && ctx.Err() == nil {
				start()
				timer.Reset(nextAddress)
			}
		case <-timer.C:
			if won.conn == nil && next < len(addresses) {
				start()
				timer.Reset(nextAddress)
			}
		}
	}
	if won.conn != nil {
		return won.conn, won.address, nil
	}
	return nil, netip.Addr{}, lost.err
}

// dialTCP dials one address. It is given no name, so it resolves nothing.
func dialTCP(ctx context.Context, _ target, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// failure puts an error of the network into words for the child.
func failure(t target, err error) *Failure {
	f := &Failure{Host: t.host, Port: t.port, Errno: "EHOSTUNREACH", Reason: "the host cannot be reached", err: err}
	var lookup *net.DNSError
	switch {
	case errors.Is(err, errNoAddress), errors.As(err, &lookup) && lookup.IsNotFound:
		f.Reason = "the name does not resolve"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		f.Errno, f.Reason = "ETIMEDOUT", "there was no answer in time"
	case lookup != nil:
		f.Reason = "the name could not be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Errno, f.Reason = "ECONNREFUSED", "the connection was refused there"
	case errors.Is(err, syscall.ENETUNREACH):
		f.Errno, f.Reason = "ENETUNREACH", "there is no route to that network"
	}
	return f
}
