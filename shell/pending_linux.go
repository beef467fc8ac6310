package shell

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/internal/egress"
	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// wanted is a connection that is about to be captured.
type wanted struct {
	done     chan struct{} // closed when upstream and err are set
	upstream *egress.Upstream
	err      error
	late     atomic.Bool
	forget   *time.Timer // set when upstream is
}

const (
	// defaultConnections is Options.Limits.Connections when it is zero.
	defaultConnections = 256
	// patienceForPickUp is how long a connection that was made waits to be picked up. The first process does it at once,
	// unless the program has made its socket into one that cannot be connected.
	patienceForPickUp = 5 * time.Second
)

// expect takes a connection down under the address that it will come from. Each has one. Those that are being made, or
// are made and not picked up, count like those that are in use: a program can do without the picking up.
func (n *network) expect(c *jail.Connect, w *wanted) syscall.Errno {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return unix.ENETDOWN
	}
	if old := n.wanted[c.Source]; old != nil {
		select {
		case <-old.done: // it never came, and another socket has the port now
			n.drop(c.Source, old)
		default:
			return unix.EALREADY
		}
	}
	if n.gateway.Stats().Upstreams+n.dialing >= n.most {
		n.jail.refused(tooMany(c))
		return unix.EACCES
	}
	n.dialing++
	n.wanted[c.Source] = w
	return 0
}

// made tells that the decision has fallen.
func (n *network) made(from netip.AddrPort, w *wanted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialing--
	if w.upstream != nil && n.wanted[from] == w && !n.closed {
		w.forget = time.AfterFunc(patienceForPickUp, func() { n.forget(from, w) })
	}
	close(w.done)
}

// take hands over what is wanted from there, or nil.
func (n *network) take(from netip.AddrPort) *wanted {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.wanted[from]
	delete(n.wanted, from)
	if w != nil && w.forget != nil {
		w.forget.Stop()
	}
	return w
}

// forget drops one that nobody will pick up, unless it was, or another has its place.
func (n *network) forget(from netip.AddrPort, w *wanted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wanted[from] == w {
		n.drop(from, w)
	}
}

// drop is called with mu held, for one that is made.
func (n *network) drop(from netip.AddrPort, w *wanted) {
	delete(n.wanted, from)
	if w.forget != nil {
		w.forget.Stop()
	}
	if w.upstream != nil {
		w.upstream.Close() // nothing was sent
	}
}

// expectNoMore ends the expecting. The gateway cuts what was made.
func (n *network) expectNoMore() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, w := range n.wanted {
		if w.forget != nil {
			w.forget.Stop()
		}
	}
}

// tooMany refuses a connection over the limit.
func tooMany(c *jail.Connect) *egress.Refusal {
	r := &egress.Refusal{
		Time: time.Now(), Operation: egress.OpConnect, Host: c.Host, Port: c.Port, Code: egress.CodeRuntime, How: "EACCES",
		Rule:   policy.Rule{List: egress.ListLimit, Entry: "connections at once", Index: -1, Why: "a limit of this sandbox"},
		Remedy: "close connections that are no longer used", PID: c.PID, Program: string(c.Program),
	}
	r.Reason = fmt.Sprintf("tried to connect to %s, over the limit of %s", r.Target(), r.Rule.Entry)
	return r
}
