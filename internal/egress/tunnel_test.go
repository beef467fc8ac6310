package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// secure starts an HTTPS server that is https://example.com/, the name in the test certificate, and gives its roots.
func (w *world) secure() (*httptest.Server, *x509.CertPool) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "over TLS to "+r.Host) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it is attacked
	s.StartTLS()
	w.t.Cleanup(s.Close)
	w.host("example.com", 443, s.Listener.Addr())
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, roots
}

// TestTLS: a real client through CONNECT and through SOCKS5.
func TestTLS(t *testing.T) {
	w := newWorld(t, allow(t, "example.com:443"), Limits{})
	_, roots := w.secure()
	proxy := w.proxy()
	for _, scheme := range []string{"http", "socks5", "socks5h"} {
		client := w.httpClient(scheme, proxy)
		client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
		resp, err := client.Get("https://example.com/")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		require.Equal(t, "over TLS to example.com", string(body))
		_, err = client.Get("https://evil.test/")
		require.Error(t, err)
	}
	require.Len(t, w.records.all(), 3)
}

// handshake makes a TLS handshake through a tunnel to example.com on a port, with that server name.
func (w *world) handshake(proxy string, port int, config *tls.Config) error {
	c := dialTest(w.t, proxy)
	io.WriteString(c, "CONNECT "+joinHostPort("example.com", port)+" HTTP/1.1\r\n\r\n")
	resp, _ := readAnswer(w.t, bufio.NewReader(c), "CONNECT")
	require.Equal(w.t, 200, resp.StatusCode)
	config.InsecureSkipVerify = true
	return tls.Client(c, config).Handshake()
}

// TestServerName: in a tunnel that was granted by name, a hello for another name is refused. Without the check it goes
// through: the server at that address serves both.
func TestServerName(t *testing.T) {
	w := newWorld(t, allow(t, "example.com"), Limits{})
	s, _ := w.secure()
	w.host("example.com", 6380, s.Listener.Addr())
	proxy := w.proxy()
	require.NoError(t, w.handshake(proxy, 443, &tls.Config{ServerName: "example.com"}))
	require.NoError(t, w.handshake(proxy, 443, &tls.Config{ServerName: "EXAMPLE.com"}))
	require.NoError(t, w.handshake(proxy, 6380, &tls.Config{}), "without a name on another port")
	require.Empty(t, w.records.all())
	for _, c := range []struct {
		port int
		name string
		why  string
	}{{443, "evil.test", `"evil.test"`}, {6380, "evil.test", `"evil.test"`}, {443, "a.example.com", `"a.example.com"`}, {443, "", "without a TLS server name"}} {
		before := len(w.records.all())
		err := w.handshake(proxy, c.port, &tls.Config{ServerName: c.name})
		require.ErrorContains(t, err, "access denied", "the alert says what it is")
		records := w.records.all()
		require.Len(t, records, before+1)
		require.Equal(t, CodeRuntime, records[before].Code)
		require.Equal(t, ListServerName, records[before].Rule.List)
		require.Contains(t, records[before].Reason, c.why)
		require.Equal(t, "TLS alert", records[before].How)
	}
	w.judgeServerName = func(target, hello) *Refusal { return nil }
	require.NoError(t, w.handshake(proxy, 443, &tls.Config{ServerName: "evil.test"}), "without the check the attack succeeds")
}

// TestServerNameOfGrantedAddress: a grant of the address grants whatever is served there.
func TestServerNameOfGrantedAddress(t *testing.T) {
	w := newWorld(t, allow(t, "9.9.9.9:443"), Limits{})
	s, _ := w.secure()
	w.servers["9.9.9.9:443"] = s.Listener.Addr().String()
	c := dialTest(t, w.proxy())
	io.WriteString(c, "CONNECT 9.9.9.9:443 HTTP/1.1\r\n\r\n")
	readAnswer(t, bufio.NewReader(c), "CONNECT")
	require.NoError(t, tls.Client(c, &tls.Config{ServerName: "any.test", InsecureSkipVerify: true}).Handshake())
}

// clientHello gives the bytes of a real hello.
func clientHello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	config.InsecureSkipVerify = true
	done := make(chan error, 1)
	go func() { done <- tls.Client(b, config).Handshake() }()
	buf := make([]byte, 64<<10)
	n, err := a.Read(buf)
	require.NoError(t, err)
	b.Close()
	require.Error(t, <-done)
	return buf[:n]
}

// records splits a hello over records of so many bytes.
func splitRecords(hello []byte, size int) []byte {
	var out []byte
	for body := hello[5:]; len(body) > 0; {
		n := min(size, len(body))
		out = append(out, 0x16, 3, 1, byte(n>>8), byte(n))
		out = append(out, body[:n]...)
		body = body[n:]
	}
	return out
}

// TestReadHello: hellos in one piece and in many, and what is none.
func TestReadHello(t *testing.T) {
	whole := clientHello(t, &tls.Config{ServerName: "example.com"})
	for _, size := range []int{1, 2, 3, 4, 100, 1 << 14} {
		b := splitRecords(whole, size)
		for i := range b {
			require.Equal(t, helloPartial, readHello(b[:i]).state, "%d of %d", i, len(b))
			if size > 4 && i > 200 {
				break
			}
		}
		require.Equal(t, hello{state: helloRead, name: "example.com"}, readHello(b))
		require.Equal(t, hello{state: helloRead, name: "example.com"}, readHello(append(b, "more"...)))
	}
	require.Equal(t, hello{state: helloRead}, readHello(clientHello(t, &tls.Config{})))
	for _, version := range []byte{0, 2, 9, 15} { // servers do not all look at it
		odd := append([]byte{0x16, version, 0x30}, whole[3:]...)
		require.Equal(t, hello{state: helloRead, name: "example.com"}, readHello(odd))
		require.Equal(t, hello{state: helloRead, name: "example.com"}, readHello(append([]byte{0x16, version, 0, 0, 0}, odd...)))
	}
	for _, text := range []string{"SSH-2.0-x\r\n", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "GET / HTTP/1.1\r\n", "\x16\x40", "\x16\x01\x00\x00\x01\x00", "\x16\x01\x00\x00\x00\x00", "\x80\x2e\x01"} {
		require.Equal(t, helloNone, readHello([]byte(text)).state, "%q", text)
	}
	body := func(change func([]byte) []byte) []byte {
		b := change(append([]byte(nil), whole[5:]...))
		return append([]byte{0x16, 3, 1, byte(len(b) >> 8), byte(len(b))}, b...)
	}
	at := bytes.Index(whole, []byte("example.com")) - 5
	twice := append([]byte(nil), whole[5+at-9:5+at+11]...)
	for name, b := range map[string][]byte{
		"a warning before it":          append([]byte{0x15, 3, 1, 0, 2, 1, 0}, whole...),
		"a change of cipher before it": append([]byte{0x14, 3, 3, 0, 1, 1}, whole...),
		"a warning of no version":      append([]byte{0x15, 1, 1, 0, 2, 1, 0}, whole...),
		"a change of no version":       append([]byte{0x14, 0, 0, 0, 1, 1}, whole...),
		"an empty record":              append([]byte{0x16, 3, 1, 0, 0}, whole...),
		"a record that is too long":    {0x16, 3, 1, 0x40, 1, 1},
		"another handshake":            body(func(b []byte) []byte { b[0] = 2; return b }),
		"a huge one":                   {0x16, 3, 1, 0, 4, 1, 1, 0, 0},
		"another record inside":        append(splitRecords(whole, 50)[:55], 0x15, 3, 1, 0, 2, 1, 0),
		"something else inside":        append(splitRecords(whole, 50)[:55], "junk"...),
		"a name of another kind":       body(func(b []byte) []byte { b[at-3] = 1; return b }),
		"an empty name":                body(func(b []byte) []byte { b[at-2], b[at-1] = 0, 0; return b }),
		"a name that is too short":     body(func(b []byte) []byte { b[at-1]--; return b }),
		"an extension beyond the end":  body(func(b []byte) []byte { b[at-7] = 0xff; return b }),
		"two names": body(func(b []byte) []byte {
			b = append(b, twice...)
			grow := func(i, width int) {
				n := 0
				for _, x := range b[i : i+width] {
					n = n<<8 | int(x)
				}
				n += len(twice)
				for j := width - 1; j >= 0; j-- {
					b[i+j] = byte(n)
					n >>= 8
				}
			}
			grow(1, 3)
			i := 4 + 34
			i += 1 + int(b[i])
			i += 2 + int(b[i])<<8 + int(b[i+1])
			i += 1 + int(b[i])
			grow(i, 2)
			return b
		}),
	} {
		require.Equal(t, helloBad, readHello(b).state, name)
	}
}

// TestOtherProtocols: what is not TLS passes, on port 443 too; a hello that does not go on, and one of SSL 2 where only
// TLS is expected, do not.
func TestOtherProtocols(t *testing.T) {
	w := newWorld(t, allow(t, "example.com"), Limits{Head: 200 * time.Millisecond})
	ln := echo(t)
	w.host("example.com", 443, ln.Addr())
	w.host("example.com", 5432, ln.Addr())
	proxy := w.proxy()
	send := func(port int, pieces ...string) string {
		c := dialTest(t, proxy)
		io.WriteString(c, "CONNECT "+joinHostPort("example.com", port)+" HTTP/1.1\r\n\r\n")
		br := bufio.NewReader(c)
		readAnswer(t, br, "CONNECT")
		for _, p := range pieces {
			io.WriteString(c, p)
		}
		if !strings.HasPrefix(pieces[0], "\x16") && pieces[0] != "\x80" {
			c.(*net.TCPConn).CloseWrite()
		}
		all, err := io.ReadAll(br)
		if err != nil {
			require.False(t, errors.Is(err, os.ErrDeadlineExceeded), err)
		}
		return string(all)
	}
	for _, port := range []int{443, 5432} {
		for _, text := range []string{"SSH-2.0-OpenSSH\r\n", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "GET / HTTP/1.1\r\n\r\n", "x"} {
			require.Equal(t, text+"bye", send(port, text))
		}
	}
	require.Equal(t, "\x80\x2e\x01\x03\x01bye", send(5432, "\x80\x2e\x01\x03\x01"[:1]+"\x2e\x01\x03\x01"))
	require.Empty(t, w.records.all())
	for _, pieces := range [][]string{{"\x16"}, {"\x16\x03\x01\x02"}, {"\x80", "\x2e\x01\x03\x01"}} {
		before := len(w.records.all())
		require.Equal(t, string(alertAccessDenied), send(443, pieces...))
		require.Len(t, w.records.all(), before+1)
	}
}

// TestSetRulesCuts: a connection that the new rules do not allow is cut within 100 ms, every kind of it, and no other.
// Without the second judgement it lives on.
func TestSetRulesCuts(t *testing.T) {
	for _, checked := range []bool{true, false} {
		w := newWorld(t, allow(t, "old.test", "new.test"), Limits{})
		if !checked {
			w.rejudge = func(*Upstream, *policy.Rules) *Refusal { return nil }
		}
		ln := echo(t)
		for port := range 3 {
			w.host("old.test", 100+port, ln.Addr())
			w.host("new.test", 100+port, ln.Addr())
		}
		proxy := w.proxy()
		open := func(host string) net.Conn {
			c := dialTest(t, proxy)
			c.Write(socksRequest(1, host, 100))
			_, err := io.ReadFull(c, make([]byte, 12))
			require.NoError(t, err)
			return c
		}
		ping := func(c net.Conn) error {
			c.Write([]byte("x"))
			_, err := io.ReadFull(c, make([]byte, 1))
			return err
		}
		prepared, err := w.ConnectCaptured(t.Context(), "old.test", 101)
		require.NoError(t, err)
		defer prepared.Close()
		old, kept := open("old.test"), open("new.test")
		require.NoError(t, ping(old))
		require.NoError(t, ping(kept))

		begun := time.Now()
		w.SetRules(allow(t, "new.test"))
		require.NoError(t, ping(kept), "still allowed")
		if !checked {
			require.NoError(t, ping(old), "without the second judgement it lives on")
			require.NoError(t, ping(prepared.Conn))
			continue
		}
		_, err = io.ReadFull(old, make([]byte, 1))
		require.Error(t, err)
		require.Less(t, time.Since(begun), 100*time.Millisecond)
		require.Error(t, ping(prepared.Conn), "one that is not handed over yet too")
		records := w.records.all()
		require.Len(t, records, 2)
		require.Equal(t, "cut", records[0].How)
		_, err = w.dial(t.Context(), "old.test", 100)
		require.Error(t, err, "new decisions use the new rules")

		w.SetRules(compile(t, policy.Network{AllowedDomains: []string{"new.test"}, DeniedDomains: []string{public}}))
		require.Error(t, ping(kept), "its address is denied now")
		w.SetRules(nil)
		_, err = w.dial(t.Context(), "new.test", 100)
		require.Error(t, err)
	}
}

// TestSetRulesWhileDialling: rules that change between the decision and the connection decide too.
func TestSetRulesWhileDialling(t *testing.T) {
	w := newWorld(t, allow(t, "old.test"), Limits{})
	w.host("old.test", 80, echo(t).Addr())
	w.resolver = resolverFunc(func(string) []string { w.SetRules(nil); return []string{public} })
	_, err := w.dial(t.Context(), "old.test", 80)
	var r *Refusal
	require.ErrorAs(t, err, &r)
	require.Zero(t, w.Stats().Upstreams)
}

// TestSetRulesCutsTheStalled: a client that takes nothing is cut too, though nothing can be passed on to it.
func TestSetRulesCutsTheStalled(t *testing.T) {
	w := newWorld(t, allow(t, "old.test"), Limits{})
	w.host("old.test", 80, serveTCP(t, func(c net.Conn) { io.Copy(c, neverEnding{}) }).Addr())
	tunnelTo(t, w.proxy(), "old.test", 80)
	received := int64(-1)
	eventually(t, "it is stalled", func() bool {
		was := received
		received = w.Stats().Received
		time.Sleep(20 * time.Millisecond)
		return received > 0 && was == received
	})
	begun := time.Now()
	w.SetRules(nil)
	eventually(t, "it is cut", func() bool { return w.Stats().Clients == 0 })
	require.Less(t, time.Since(begun), 100*time.Millisecond)
}
