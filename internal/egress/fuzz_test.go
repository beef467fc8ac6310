package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// The oracle of every target here: the verdict and what is dialled agree. The dialler is a fake that looks at each name,
// address and port it is given, and judges them by the rules again, in its own way.

// fuzzed is a gateway whose every dial is looked at.
type fuzzed struct {
	*Gateway
	t     *testing.T
	rules *policy.Rules

	mu        sync.Mutex
	upstreams []*scriptConn
	targets   []target
}

// fuzzNames are names of every kind, and where they lead.
var fuzzNames = zone{
	"good.test.": {"8.8.8.8", "127.0.0.1"}, "a.good.test.": {"8.8.4.4"}, "evil.test.": {"1.1.1.1"}, "bad.test.": {"1.1.1.1"},
	"inside.test.": {"10.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1"}, "localhost.": {"8.8.8.8"},
	"granted.test.": {"10.1.2.3"},
}

func newFuzzed(t *testing.T) *fuzzed {
	f := &fuzzed{t: t, rules: compile(t, policy.Network{
		AllowedDomains: []string{"good.test", "*.good.test:80", "inside.test", "granted.test", "localhost:5432", "9.9.9.9:80", "10.1.2.3", "2620:fe::9"},
		DeniedDomains:  []string{"bad.test", "no.good.test"},
	})}
	g, err := New(Config{Rules: f.rules, Resolver: fuzzNames, Limits: Limits{Head: time.Second, Dial: time.Second}})
	require.NoError(t, err)
	g.dialAddress = f.dialChecked
	g.own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil }
	f.Gateway = g
	return f
}

func (f *fuzzed) dialChecked(_ context.Context, d target, to netip.AddrPort) (net.Conn, error) {
	name, err := policy.CanonicalHost(d.host)
	require.NoError(f.t, err)
	require.Equal(f.t, name, d.host, "dialled in another spelling than judged")
	require.EqualValues(f.t, d.port, to.Port())
	decision := f.rules.Connect(d.host, d.port)
	require.True(f.t, decision.Allowed, "dialled %s:%d, which is refused", d.host, d.port)
	a := to.Addr()
	if literal, err := netip.ParseAddr(name); err == nil {
		require.Equal(f.t, literal, a)
	} else if name == "localhost" {
		require.True(f.t, a.IsLoopback())
		require.Equal(f.t, 5432, d.port)
	} else {
		require.Contains(f.t, fuzzNames[name+"."], a.String(), "an address that the name does not have")
		plain := a.IsGlobalUnicast() && !a.IsPrivate() && a.Is4() && a.String() != "8.8.4.4"
		require.True(f.t, plain || f.rules.Connect(a.String(), d.port).Allowed, "%s leads to %s", name, a)
	}
	c := &scriptConn{answers: 8}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.upstreams = append(f.upstreams, c)
	f.targets = append(f.targets, d)
	return c, nil
}

// scriptConn is a connection with nobody at the other end: what is read is given, what is written is kept.
type scriptConn struct {
	mu      sync.Mutex
	in      []byte
	answers int // HTTP answers to give, one a read, before the end
	out     bytes.Buffer
	closed  bool
}

func (c *scriptConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if len(c.in) == 0 && c.answers > 0 {
		c.answers--
		c.in = []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *scriptConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	return c.out.Write(b)
}

func (c *scriptConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

func (c *scriptConn) CloseWrite() error { return nil }

func (*scriptConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*scriptConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*scriptConn) SetDeadline(time.Time) error      { return nil }
func (*scriptConn) SetReadDeadline(time.Time) error  { return nil }
func (*scriptConn) SetWriteDeadline(time.Time) error { return nil }

// serve gives bytes to the proxy and gives back what it answers.
func (f *fuzzed) serve(data []byte) []byte {
	c := &scriptConn{in: bytes.Clone(data)}
	f.serveProxy(client{Conn: c})
	require.NoError(f.t, f.Close())
	for _, u := range f.upstreams {
		require.True(f.t, u.closed)
	}
	return c.out.Bytes()
}

var oddHosts = []string{
	"good.test", "GOOD.TEST", "good.test.", "good.test..", ".good.test", "a.good.test", "no.good.test", "evil.test", "bad.test", "inside.test", "granted.test",
	"localhost", "LocalHost.", "good.test\x00", "evil.test\x00.good.test", "good.test\r\n", "good.test ", "good.test%00", "good.test%2eevil.test", "xn--gd-fka.test",
	"göod.test", "ｇood.test", "ⅼocalhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "9.9.9.9", "0x9.9.9.9", "151587081", "011.011.011.011",
	"9.9.9.9.", "[::1]", "::1", "[::ffff:127.0.0.1]", "::ffff:9.9.9.9", "[2620:fe::9]", "2620:FE:0::9", "[fe80::1%eth0]", "fe80::1%25lo", "64:ff9b::909:909", "2002:909:909::",
	"169.254.169.254", "2852039166", "0xa9fea9fe", "198.18.0.1", "user@good.test", "user:pass@good.test", "good.test@evil.test", "good.test:80@evil.test",
	"good.test#.evil.test", "good.test\\.evil.test", "good.test/..", "*.good.test", "-good.test", "good_test", "", strings.Repeat("a", 63) + ".good.test",
	strings.Repeat("a.", 120) + "good.test", strings.Repeat("a", 255),
}

var oddPorts = []string{"80", "443", "5432", "0", "080", "+80", "65536", "65616", "99999999999", "", "80 ", "0x50", "８０"}

// FuzzProxy feeds the proxy's port.
func FuzzProxy(f *testing.F) {
	for _, h := range oddHosts {
		for _, p := range oddPorts[:3] {
			f.Add([]byte("CONNECT " + h + ":" + p + " HTTP/1.1\r\nHost: " + h + ":" + p + "\r\n\r\nhello"))
			f.Add([]byte("GET http://" + h + ":" + p + "/ HTTP/1.1\r\nHost: " + h + ":" + p + "\r\n\r\n"))
		}
		f.Add([]byte("GET http://good.test/ HTTP/1.1\r\nHost: " + h + "\r\n\r\n"))
	}
	for _, p := range oddPorts {
		f.Add([]byte("CONNECT good.test:" + p + " HTTP/1.1\r\n\r\n"))
		f.Add([]byte("GET http://good.test:" + p + "/x HTTP/1.1\r\nHost: good.test\r\n\r\n"))
	}
	const get = "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n"
	for _, s := range []string{
		get + "\r\n" + get + "\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		get + "Host: evil.test\r\n\r\n", get + "X: y\r\n folded\r\n\r\n", get + "X : y\r\n\r\n", "GET http://good.test\r\n\r\n", "GET http://good.test/ HTTP/0.9\r\n\r\n",
		get + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		get + "Content-Length: 46\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n    " + get + "\r\n",
		get + "Transfer-Encoding: chunked\r\n\r\n5;x=\"\r\n\"\r\nhello\r\n0\r\nHost: evil.test\r\n\r\n" + get + "\r\n",
		get + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + get + "\r\n", get + "Transfer-Encoding:\tchunked \r\n\r\nFFFFFFFFFFFFFFFF\r\n",
		get + "Connection: host, x\r\nX: y\r\nUpgrade: websocket\r\n\r\n", "HTTPS://good.test/ HTTP/1.1\r\n\r\n", "GET gopher://good.test/ HTTP/1.1\r\n\r\n",
		"GET httP://good.test?x HTTP/1.1\r\nHost: good.test:80\r\n\r\n", "OPTIONS http://good.test HTTP/1.1\r\nHost: good.test\r\n\r\n", "\r\n" + get + "\r\n",
		"GET http://good.test/%00%0d%0aHost:evil HTTP/1.1\r\nHost: good.test\r\n\r\n", "GET http:///x HTTP/1.1\r\nHost: good.test\r\n\r\n", "GET http:good.test HTTP/1.1\r\n\r\n",
		"POST http://good.test/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "HEAD http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n" + get + "\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newFuzzed(t)
		answer := w.serve(data)
		if len(data) > 0 && data[0] == socksVersion {
			return // FuzzSOCKS has an oracle for it
		}
		// Go's own parser must understand the first request as what was dialled first. (It takes some that are refused.)
		if r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data))); err == nil && len(w.targets) > 0 && bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			require.True(t, sameTarget(w.targets[0], r.URL.Host), "%q was dialled as %s:%d", r.URL.Host, w.targets[0].host, w.targets[0].port)
		}
		tunnel := bytes.Contains(answer, []byte("200 Connection established"))
		for i, u := range w.upstreams {
			if tunnel && i == len(w.upstreams)-1 {
				continue // whatever follows is the host's to understand
			}
			checkForwarded(t, u.out.Bytes(), w.targets[i])
		}
	})
}

// sameTarget says whether an authority, as another parser has it, is a target.
func sameTarget(d target, authority string) bool {
	host, port := authority, 80
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		n, err := strconv.Atoi(authority[i+1:])
		if err != nil {
			return false
		}
		host, port = authority[:i], n
	}
	c, err := policy.CanonicalHost(host)
	return err == nil && c == d.host && port == d.port
}

// checkForwarded reads what a host got, as a server would: requests for that host, and nothing else.
func checkForwarded(t *testing.T, sent []byte, d target) {
	br := bufio.NewReader(bytes.NewReader(sent))
	for {
		r, err := http.ReadRequest(br)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, "%q", sent)
		require.True(t, sameTarget(d, r.Host), "%q was sent to %s:%d", sent, d.host, d.port)
		require.Empty(t, r.URL.Host)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // a body that the client broke off; the connection was closed there
		}
	}
}

// FuzzSOCKS feeds SOCKS5 requests.
func FuzzSOCKS(f *testing.F) {
	for _, h := range oddHosts {
		f.Add(byte(3), []byte(h), uint16(80))
	}
	for _, h := range []string{"127.0.0.1", "9.9.9.9", "10.1.2.3", "::1", "2620:fe::9", "::ffff:9.9.9.9", "::ffff:127.0.0.1", "64:ff9b::1", "0.0.0.0", "198.18.0.1"} {
		a := netip.MustParseAddr(h)
		kind := byte(1)
		if a.Is6() {
			kind = 4
		}
		f.Add(kind, a.AsSlice(), uint16(80))
	}
	f.Fuzz(func(t *testing.T, kind byte, host []byte, port uint16) {
		w := newFuzzed(t)
		request := []byte{5, 1, 0, 5, 1, 0, kind}
		text := string(host)
		if kind == socksName {
			host = host[:min(len(host), 255)]
			text = string(host)
			request = append(request, byte(len(host)))
		} else if a, ok := netip.AddrFromSlice(host); ok {
			text = a.String()
		}
		request = append(append(request, host...), byte(port>>8), byte(port))
		answer := w.serve(request)
		granted := bytes.HasPrefix(answer, []byte{5, 0, 5, 0})
		require.Equal(t, granted, len(w.targets) == 1)
		if granted && (kind == socksName || kind == socksIPv4 && len(host) == 4 || kind == socksIPv6 && len(host) == 16) {
			want, err := policy.CanonicalHost(text)
			require.NoError(t, err)
			require.Equal(t, want, w.targets[0].host)
			require.EqualValues(t, port, w.targets[0].port)
		}
	})
}

// FuzzHost: a host in any spelling is dialled as what it was judged to be, also by way of the name server.
func FuzzHost(f *testing.F) {
	for _, h := range oddHosts {
		f.Add(h, 80)
		f.Add(h, 5432)
	}
	f.Fuzz(func(t *testing.T, host string, port int) {
		w := newFuzzed(t)
		defer w.Close()
		u, err := w.dial(t.Context(), host, port)
		if err != nil {
			require.Empty(t, w.targets)
			var r *Refusal
			if errors.As(err, &r) {
				require.False(t, strings.ContainsAny(r.Host+r.Reason+r.Remedy+r.RuleText(), "\x00\r\n\x1b"), "%q", r)
				require.NotEmpty(t, r.Remedy)
			}
			return
		}
		defer u.Close()
		require.True(t, w.rules.Connect(host, port).Allowed)
		want, err := policy.CanonicalHost(host)
		require.NoError(t, err)
		require.Equal(t, want, w.targets[0].host)
		if _, err := netip.ParseAddr(want); err != nil {
			again, err := w.dial(t.Context(), w.names.address(want).String(), port)
			require.NoError(t, err)
			defer again.Close()
			require.Equal(t, w.targets[0], w.targets[1])
		}
	})
}

// FuzzDNS: no packet is too odd to answer, and an address is answered for an allowed name only, which it then stands for.
func FuzzDNS(f *testing.F) {
	for _, h := range oddHosts {
		if b, err := new(dns.Msg).SetQuestion(dns.Fqdn(h), dns.TypeA).Pack(); err == nil {
			f.Add(b)
		}
	}
	for _, kind := range []uint16{dns.TypeTXT, dns.TypeANY, dns.TypeAXFR, dns.TypeOPT, dns.TypeHTTPS} {
		b, err := new(dns.Msg).SetQuestion("good.test.", kind).SetEdns0(65535, true).Pack()
		require.NoError(f, err)
		f.Add(b)
		f.Add(b[:len(b)-3])
	}
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))                  // points at itself
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04g\x00.x\x04test\x00\x00\x01\x00\x01"))   // bytes that no name has
	f.Add([]byte("\x00\x01\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x04good\x04test\x00\x00\x01\x00\x01"))      // counts that are not there
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09good.test\x04test\x00\x00\x01\x00\x01")) // a dot inside a label
	f.Fuzz(func(t *testing.T, packet []byte) {
		w := newFuzzed(t)
		defer w.Close()
		b := w.answerDNS(packet, false)
		if b == nil {
			return
		}
		require.LessOrEqual(t, len(b), dnsUDPSize)
		var q, a dns.Msg
		require.NoError(t, a.Unpack(b))
		require.True(t, a.Response)
		require.Equal(t, packet[:2], b[:2])
		for _, rr := range a.Answer {
			require.NoError(t, q.Unpack(packet))
			switch rr := rr.(type) {
			case *dns.A:
				name, err := policy.CanonicalHost(strings.TrimSuffix(q.Question[0].Name, "."))
				require.NoError(t, err)
				address, _ := netip.AddrFromSlice(rr.A.To4())
				if name == localhost {
					require.True(t, address.IsLoopback())
					continue
				}
				require.True(t, w.rules.Lookup(name).Allowed, name)
				stands, ok := w.names.name(address)
				require.True(t, ok)
				require.Equal(t, name, stands)
			case *dns.AAAA:
				require.Equal(t, net.IPv6loopback, rr.AAAA)
			case *dns.PTR:
			default:
				t.Fatalf("answered %s", rr)
			}
		}
	})
}

// plainHello is a small hello that is the same each time, as seeds must be.
func plainHello(name string) []byte {
	entry := append([]byte{0, 0, byte(len(name))}, name...)
	extension := append([]byte{0, 0, 0, byte(len(entry) + 2), 0, byte(len(entry))}, entry...)
	if name == "" {
		extension = nil
	}
	versions := []byte{0, 43, 0, 3, 2, 3, 4}
	extension = append(extension, versions...)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0, 0, byte(len(extension)))
	body = append(body, extension...)
	message := append([]byte{1, 0, 0, byte(len(body))}, body...)
	return append([]byte{0x16, 3, 1, 0, byte(len(message))}, message...)
}

// FuzzHello: a server that finds a name in a hello finds the one that was judged.
func FuzzHello(f *testing.F) {
	for _, name := range []string{"example.com", "EXAMPLE.com", ""} {
		b := plainHello(name)
		f.Add(b)
		f.Add(splitRecords(b, 7))
		f.Add(append([]byte{0x15, 3, 1, 0, 2, 1, 0}, b...))
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte("SSH-2.0-x"))
	stop := errors.New("seen")
	f.Fuzz(func(t *testing.T, data []byte) {
		var seen *tls.ClientHelloInfo
		server := tls.Server(&scriptConn{in: bytes.Clone(data)}, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			seen = h
			return nil, stop
		}})
		server.Handshake()
		h := readHello(data)
		if bytes.Equal(data, plainHello("example.com")) {
			require.NotNil(t, seen, "the oracle reads hellos")
		}
		if seen != nil && h.state != helloBad {
			require.Equal(t, hello{state: helloRead, name: seen.ServerName}, h)
		}
		refused := target{host: "example.com", port: 443}.judgeServerName(h)
		if seen != nil && !strings.EqualFold(seen.ServerName, "example.com") {
			require.NotNil(t, refused)
		}
	})
}
