package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/internal/egress"
	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// network is the host's side of one command's network: the listeners that were made inside, and the gateway behind them.
// All methods of a nil one do nothing.
type network struct {
	jail    *jailProcess
	gateway *egress.Gateway

	mu      sync.Mutex
	wanted  map[netip.AddrPort]*wanted // by the address that the connection will come from
	dialing int                        // of wanted, those that are not made yet
	most    int                        // connections to hosts at one moment, these among them
	closed  bool
	running sync.WaitGroup
}

// openNetwork begins to serve the listeners of a new jail.
func (j *jailProcess) openNetwork(files []*os.File) error {
	defer closeAll(files)
	if len(files) != jail.ListenerCount || j.network != nil {
		return &Error{Code: CodeFailed, Layer: "network", Detail: "set up a jail: its listeners did not arrive"}
	}
	l := j.plan.limits
	n := &network{jail: j, wanted: map[netip.AddrPort]*wanted{}, most: cmp.Or(l.Connections, defaultConnections)}
	var err error
	n.gateway, err = egress.New(egress.Config{
		Limits: egress.Limits{Connections: n.most, Bytes: l.NetworkBytes, Idle: l.NetworkIdle},
		Record: func(r *egress.Refusal) { j.refused(r) },
	})
	if err != nil {
		return &Error{Code: CodeFailed, Layer: "network", Detail: "open the network of a jail", Err: err}
	}
	j.mu.Lock()
	j.network = n
	j.mu.Unlock()
	if err := n.serve(files); err != nil {
		n.gateway.Close() // and with it what is served already
		return &Error{Code: CodeFailed, Layer: "network", Detail: "serve the listeners of a jail", Err: err}
	}
	j.plan.lists.add(n.gateway)
	return nil
}

func (n *network) serve(files []*os.File) error {
	var listeners [jail.ListenerCount]net.Listener
	for _, i := range []int{jail.ProxyListener, jail.NameListener, jail.CaptureListener} {
		var err error
		if listeners[i], err = net.FileListener(files[i]); err != nil {
			for _, l := range listeners[:i] {
				if l != nil {
					l.Close()
				}
			}
			return err
		}
	}
	packets, err := net.FilePacketConn(files[jail.NamePackets])
	if err == nil {
		n.gateway.ServeDNSPackets(packets)
	}
	n.gateway.ServeProxy(listeners[jail.ProxyListener])
	n.gateway.ServeDNS(listeners[jail.NameListener])
	n.gateway.ServeCaptured(listeners[jail.CaptureListener], n.meant)
	return err
}

// close cuts everything and waits until it is gone.
func (n *network) close() {
	if n == nil {
		return
	}
	n.jail.plan.lists.remove(n.gateway)
	n.expectNoMore()
	n.gateway.Close() // it has no error to give
	n.running.Wait()
}

// patienceForProgram is how long a connect that must not wait is kept waiting for its true result. A name server and a
// host nearby answer within it. After that it is told to go on, and a failure is a connection that is reset.
const patienceForProgram = 25 * time.Millisecond

// connect decides and dials for a connection that is about to be captured, and answers the first process.
func (n *network) connect(c *jail.Connect) {
	if n == nil {
		return // nothing of ours asks then
	}
	answer := func(errno syscall.Errno) {
		// A first process that is gone needs no answer.
		_ = n.jail.send(jail.Message{Connected: &jail.Connected{Number: c.Number, Errno: errno}}, nil)
	}
	if c.Own && !n.gateway.Grants(c.Host, c.Port) {
		answer(unix.ECONNREFUSED) // as it is: no server of the command's own listens there
		return
	}
	w := &wanted{done: make(chan struct{})}
	if errno := n.expect(c, w); errno != 0 {
		answer(errno)
		return
	}
	n.running.Go(func() {
		who := egress.Caller{PID: c.PID, Program: string(c.Program), Late: &w.late}
		w.upstream, w.err = n.gateway.ConnectCaptured(egress.WithCaller(context.Background(), who), c.Host, c.Port)
		n.made(c.Source, w)
	})
	n.running.Go(func() { answer(n.outcome(c, w)) })
}

// outcome waits for what connect(2) is to say.
func (n *network) outcome(c *jail.Connect, w *wanted) syscall.Errno {
	var late <-chan time.Time
	if !c.Wait {
		timer := time.NewTimer(patienceForProgram)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-w.done:
	case <-late:
		w.late.Store(true)
		return 0
	}
	if w.err == nil {
		return 0
	}
	n.forget(c.Source, w)
	return connectErrno(w.err)
}

// connectErrno is what connect(2) says of a decision, or of the network.
func connectErrno(err error) syscall.Errno {
	var failed *egress.Failure
	var refusal *egress.Refusal
	switch {
	case errors.As(err, &refusal):
		return unix.EACCES
	case !errors.As(err, &failed):
		return unix.ENETDOWN
	}
	switch failed.Errno {
	case "ECONNREFUSED":
		return unix.ECONNREFUSED
	case "ETIMEDOUT":
		return unix.ETIMEDOUT
	case "ENETUNREACH":
		return unix.ENETUNREACH
	}
	return unix.EHOSTUNREACH
}

var errNotMeant = errors.New("no connection was to come from there")

// meant says where a connection that was captured is to go. One that a program makes to the port itself is nobody's.
func (n *network) meant(c net.Conn) (egress.Meant, error) {
	from, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return egress.Meant{}, errNotMeant
	}
	a := from.AddrPort()
	w := n.take(netip.AddrPortFrom(a.Addr().Unmap(), a.Port()))
	if w == nil {
		return egress.Meant{}, errNotMeant
	}
	<-w.done // bounded by the time for dialling, and by the end of the gateway
	if w.err != nil {
		return egress.Meant{}, w.err
	}
	return egress.Meant{Host: c.LocalAddr().String(), Upstream: w.upstream}, nil
}

// lists are the network rules of a sandbox, and every gateway that keeps them.
type lists struct {
	mu       sync.Mutex
	rules    *policy.Rules
	gateways map[*egress.Gateway]struct{}
}

func newLists(rules *policy.Rules) *lists {
	return &lists{rules: rules, gateways: map[*egress.Gateway]struct{}{}}
}

func (l *lists) add(g *egress.Gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gateways[g] = struct{}{}
	g.SetRules(l.rules)
}

func (l *lists) remove(g *egress.Gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.gateways, g)
}

// set puts other rules in force. When it returns, they are.
func (l *lists) set(rules *policy.Rules) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = rules
	for g := range l.gateways {
		g.SetRules(rules)
	}
}

func (p *jailPlan) listens() bool                { return p.wire.Listens() }
func (p *jailPlan) setLists(rules *policy.Rules) { p.lists.set(rules) }

// listed are the rules that the gateways keep.
func (p *jailPlan) listed() *policy.Rules { return p.lists.current() }

// current are the rules that new commands get.
func (l *lists) current() *policy.Rules {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rules
}

// refused records what the gateway refused.
func (j *jailProcess) refused(r *egress.Refusal) {
	j.note(Violation{
		Time: r.Time, PID: r.PID, Program: r.Program, Operation: r.Operation, Target: r.Target(), Errno: r.How,
		Rule: r.RuleText(), Remedy: r.Remedy, Count: 1,
		Decision: policy.Decision{Axis: policy.AxisConnect, Path: r.Target(), Rule: r.Rule, Reason: r.Reason, Remedy: r.Remedy},
	})
}

// networkEvidence is what the report says about a list.
func (p *jailPlan) networkEvidence() string {
	n := p.lists.current().Policy().Network
	text := fmt.Sprintf("list: %d entries, one listener that the host holds (127.0.0.1:%d, names on port %d, other connections captured)",
		len(n.AllowedDomains), jail.ProxyPort, jail.NamePort)
	for _, said := range listRemarks(p.lists.current()) {
		text += "; " + said
	}
	if len(p.unshown) > 0 {
		text += "; a mount of a file that was removed cannot be replaced, so commands see the host's " + strings.Join(p.unshown, " and ")
	}
	return text
}

// planNetwork decides what network the commands have, and what they find of its configuration.
func (p *jailPlan) planNetwork(n policy.Network) {
	switch {
	case n.Unrestricted:
		p.wire.Network = jail.NetworkHost
	case listed(n):
		p.wire.Network, p.wire.NameRange = jail.NetworkList, egress.NameRange().String()
		p.planNetworkFiles()
	}
}

// planNetworkFiles plans the files by which programs find the name server.
func (p *jailPlan) planNetworkFiles() {
	files := map[string][]byte{
		"/etc/resolv.conf": []byte("nameserver 127.0.0.1\n"),
		"/etc/hosts":       []byte("127.0.0.1 localhost sallyport\n::1 localhost ip6-localhost\n"),
	}
	// Other sources of names (systemd's, avahi's) are servers of the host behind path sockets.
	const sources = "/etc/nsswitch.conf"
	if b, err := os.ReadFile(sources); err == nil && len(b) < 64<<10 {
		files[sources] = hostsByName(b)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		var st unix.Stat_t
		switch err := unix.Lstat(path, &st); {
		case err != nil || !p.rules.Read(path).Allowed:
			continue // without the file, the C library asks 127.0.0.1
		case st.Nlink == 0:
			p.unshown = append(p.unshown, path)
			continue
		}
		p.wire.Files = append(p.wire.Files, jail.File{Path: []byte(path), Content: files[path]})
	}
}

var hostsLine = regexp.MustCompile(`(?m)^[ \t]*hosts:.*$`)

// hostsByName is an nsswitch.conf that looks hosts up in the file and by DNS.
func hostsByName(b []byte) []byte {
	const line = "hosts: files dns"
	if hostsLine.Match(b) {
		return hostsLine.ReplaceAll(b, []byte(line))
	}
	return append(bytes.TrimRight(b, "\n"), "\n"+line+"\n"...)
}

// cut ends every connection at once, while the jail is being killed.
func (n *network) cut() {
	if n != nil {
		go n.close()
	}
}
