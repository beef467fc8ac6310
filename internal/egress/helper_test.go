package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sallyport/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what should happen at once.
const patience = 10 * time.Second

func compile(t testing.TB, n policy.Network) *policy.Rules {
	t.Helper()
	r, err := policy.Policy{Network: n}.Compile(policy.CompileOptions{})
	require.NoError(t, err)
	return r
}

func allow(t testing.TB, entries ...string) *policy.Rules {
	t.Helper()
	return compile(t, policy.Network{AllowedDomains: entries})
}

// zone is a resolver without a network.
type zone map[string][]string

func (z zone) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, a := range z[host] {
		found = append(found, netip.MustParseAddr(a))
	}
	if found == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "192.0.2.53:53", IsNotFound: true}
	}
	return found, nil
}

// recorder keeps what is recorded.
type recorder struct {
	mu   sync.Mutex
	list []Refusal
}

func (r *recorder) record(x *Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, *x)
}

func (r *recorder) all() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Refusal(nil), r.list...)
}

// world is a gateway and an internet of loopback servers. Nothing in it leaves the machine: an address that is not on
// loopback is dialled as the server that stands for it, or not at all.
type world struct {
	*Gateway
	t       testing.TB
	zone    zone
	servers map[string]string // "192.88.0.1:443" -> a real address on loopback
	records *recorder

	mu    sync.Mutex
	dials []string // "name address:port"
}

// public is an address for servers that need one: Google's, not special in any way, and never really dialled.
const public = "8.8.8.8"

func newWorld(t testing.TB, rules *policy.Rules, limits Limits) *world {
	t.Helper()
	w := &world{t: t, zone: zone{}, servers: map[string]string{}, records: &recorder{}}
	g, err := New(Config{Rules: rules, Resolver: w.zone, Limits: limits, Record: w.records.record})
	require.NoError(t, err)
	w.Gateway = g
	g.dialAddress = w.dialFake
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return w
}

func (w *world) dialFake(ctx context.Context, t target, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, t.host+" "+to.String())
	w.mu.Unlock()
	if real, ok := w.servers[to.String()]; ok {
		to = netip.MustParseAddrPort(real)
	}
	if !to.Addr().IsLoopback() {
		return nil, fmt.Errorf("%s is not in this world", to)
	}
	return dialTCP(ctx, t, to)
}

func (w *world) dialled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.dials...)
}

// host puts a server into the world, under a name, at the public address.
func (w *world) host(name string, port int, real net.Addr) {
	w.zone[name+"."] = []string{public}
	w.servers[joinHostPort(public, port)] = real.String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

// proxy starts the proxy's port and gives its address.
func (w *world) proxy() string {
	w.t.Helper()
	ln := listen(w.t)
	w.ServeProxy(ln)
	return ln.Addr().String()
}

// web starts an HTTP server that is http://name/.
func (w *world) web(name string, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	w.host(name, 80, s.Listener.Addr())
	return s
}

// httpClient goes through the proxy.
func (w *world) httpClient(scheme, proxy string) *http.Client {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: scheme, Host: proxy})}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// dialTest connects to a listener of the gateway.
func dialTest(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// raw sends bytes to the proxy and reads the answer to a request of that method.
func (w *world) raw(proxy, request string) (*http.Response, string) {
	w.t.Helper()
	c := dialTest(w.t, proxy)
	_, err := io.WriteString(c, request)
	require.NoError(w.t, err)
	method, _, _ := strings.Cut(request, " ")
	return readAnswer(w.t, bufio.NewReader(c), method)
}

func readAnswer(t testing.TB, br *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	require.NoError(t, err)
	defer resp.Body.Close()
	if method == "CONNECT" && resp.StatusCode == 200 {
		return resp, ""
	}
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// echo starts a TCP server that sends back what it gets, and "bye" after the end.
func echo(t testing.TB) net.Listener {
	return serveTCP(t, func(c net.Conn) {
		io.Copy(c, c)
		io.WriteString(c, "bye")
	})
}

func serveTCP(t testing.TB, serve func(net.Conn)) net.Listener {
	ln := listen(t)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(2 * patience))
				serve(c)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); running.Wait() })
	return ln
}

func portOf(a net.Addr) int {
	_, p, _ := net.SplitHostPort(a.String())
	n, _ := strconv.Atoi(p)
	return n
}

// eventually polls a condition.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, patience, time.Millisecond, what)
}

type netConn = net.Conn

// resolverFunc is a resolver that changes its mind.
type resolverFunc func(host string) []string

func (f resolverFunc) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return zone{host: f(host)}.LookupNetIP(ctx, network, host)
}

func clientConfig(name string) *tls.Config { return &tls.Config{ServerName: name} }
