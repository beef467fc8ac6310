package egress

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// TestRefusalsTellTheTruth: what a program gets names host, port, rule and remedy, and says that flags will not help.
func TestRefusalsTellTheTruth(t *testing.T) {
	w := newWorld(t, compile(t, policy.Network{
		AllowedDomains: []string{"good.test:443", "inside.test"}, DeniedDomains: []string{"bad.test"},
		DeniedDomainReasons: map[string]string{"bad.test": "it sells häts"},
	}), Limits{})
	w.zone["inside.test."] = []string{"127.0.0.1"}
	proxy := w.proxy()
	cases := []struct{ request, code, phrase, rule, remedy, reason string }{
		{"CONNECT evil.test:443 HTTP/1.1\r\n", CodeAllowList, "Connection blocked by network allowlist: evil.test:443", "default", `add "evil.test:443" to network.allowedDomains`, "not on the allow-list"},
		{"GET http://EVIL.test./x HTTP/1.1\r\nHost: evil.test\r\n", CodeAllowList, "evil.test:80", "default", `"evil.test:80"`, "not on the allow-list"},
		{"CONNECT good.test:80 HTTP/1.1\r\n", CodeAllowList, "good.test:80", "default", `"good.test:80"`, `("good.test:443" is)`},
		{"CONNECT bad.test:443 HTTP/1.1\r\n", CodeDenyList, "Connection blocked by network denylist: bad.test:443", "deniedDomains", "beats an allowed one", "it sells häts"},
		{"CONNECT inside.test:22 HTTP/1.1\r\n", CodeRuntime, "Connection blocked by sandbox runtime", "address", `"127.0.0.1:22"`, "resolved to a loopback address"},
		{"CONNECT a%00b:443 HTTP/1.1\r\n", CodeAllowList, `"a%00b"`, "invalid", "", "percent sign"},
	}
	for _, c := range cases {
		t.Run(c.request[:20], func(t *testing.T) {
			resp, text := w.raw(proxy, c.request+"\r\n")
			require.Equal(t, 403, resp.StatusCode)
			require.Contains(t, resp.Status, c.phrase)
			require.Equal(t, c.code, resp.Header.Get("X-Proxy-Error"))
			require.Contains(t, resp.Header.Get("Content-Type"), "text/plain")
			for _, part := range []string{titles[c.code], c.rule, c.remedy, c.reason, policyNotFault} {
				require.Contains(t, text, part)
			}
			records := w.records.all()
			last := records[len(records)-1]
			require.Equal(t, OpConnect, last.Operation)
			require.Equal(t, c.code, last.Code)
			require.Equal(t, "HTTP 403", last.How)
			require.Equal(t, c.rule, last.Rule.List)
			require.Contains(t, last.Remedy, c.remedy)
			require.False(t, last.Time.IsZero())

			resp, text = w.raw(proxy, c.request+"Accept: text/html, Application/JSON;q=0.9\r\n\r\n")
			require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			var got refusalJSON
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			require.Equal(t, refusalJSON{c.code, titles[c.code], last.Host, last.Port, last.RuleText(), last.Reason, last.Remedy, policyNotFault}, got)
		})
	}
	require.Len(t, w.records.all(), 2*len(cases))
	require.EqualValues(t, 2*len(cases), w.Stats().Refused)
	require.Empty(t, w.dialled())
}

// TestRefusalTextIsEscaped: no byte of a hostile name gets into a line of ours.
func TestRefusalTextIsEscaped(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{})
	for _, host := range []string{"a\r\nX-Evil: 1\r\n\r\nThis is fine", "a\x00b.test", "\x1b[2J", strings.Repeat("long", 60), "ü.test", "\xff\xfe"} {
		_, err := w.dial(t.Context(), host, 443)
		var r *Refusal
		require.ErrorAs(t, err, &r)
		for _, last := range []bool{true, false} {
			text := string(answerError(err).bytes(head{}, true, last))
			top, body, _ := strings.Cut(text, "\r\n\r\n")
			require.NotContains(t, top, "\r\nX-Evil")
			require.NotContains(t, body, "\nX-Evil")
			require.NotContains(t, body, "\nThis is fine")
			require.False(t, strings.ContainsAny(body, "\x1b\x00\r"))
			require.Less(t, len(r.Host), 3*maxShown)
			for _, line := range strings.Split(top, "\r\n") {
				require.Equal(t, onOneLine(line), line)
			}
		}
	}
}

// TestFailuresAreNoRefusals: what the network did not do is said to be that, without the host's resolver in it.
func TestFailuresAreNoRefusals(t *testing.T) {
	w := newWorld(t, allow(t, "gone.test", "off.test", "odd.test"), Limits{})
	w.zone["off.test."] = []string{public}
	closed := listen(t)
	w.servers[public+":80"] = closed.Addr().String()
	closed.Close()
	w.zone["odd.test."] = []string{"8.8.4.4"} // not in this world
	for _, c := range []struct {
		host, want, errno string
		status, socks     int
	}{
		{"gone.test", "does not resolve", "EHOSTUNREACH", 502, 4},
		{"off.test", "refused there", "ECONNREFUSED", 502, 5},
		{"odd.test", "cannot be reached", "EHOSTUNREACH", 502, 4},
	} {
		resp, text := w.raw(w.proxy(), fmt.Sprintf("CONNECT %s:80 HTTP/1.1\r\n\r\n", c.host))
		require.Equal(t, c.status, resp.StatusCode)
		require.Equal(t, "upstream-failed", resp.Header.Get("X-Proxy-Error"))
		require.Contains(t, text, c.want)
		require.Contains(t, text, "not of the sandbox")
		require.NotContains(t, text+resp.Status, "192.0.2.53")
		_, err := w.ConnectCaptured(t.Context(), c.host, 80)
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, c.errno, f.Errno)
		require.Equal(t, c.socks, socksCode(err))
	}
	require.Empty(t, w.records.all(), "a failure is no refusal")
}

// TestHeadsRefused: a request that two programs could read in two ways is not forwarded.
func TestHeadsRefused(t *testing.T) {
	const get = "GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\n"
	cases := []struct{ name, request, why string }{
		{"no version", "GET http://www.test/\r\n\r\n", "first line"},
		{"HTTP/0.9", "GET http://www.test/ HTTP/0.9\r\n\r\n", "version"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "version"},
		{"two spaces", "GET  http://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "first line"},
		{"tab", "GET\thttp://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "first line"},
		{"LF alone", "GET http://www.test/ HTTP/1.1\nHost: www.test\n\n", "CR LF"},
		{"LF in the fields", get + "A: b\n\r\n", "CR LF"},
		{"CR inside", get + "A: b\rC: d\r\n\r\n", "control"},
		{"NUL in the target", "GET http://www.test\x00.evil/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "control"},
		{"NUL in a field", get + "A: b\x00\r\n\r\n", "control"},
		{"folded", get + "A: b\r\n c\r\n\r\n", "folded"},
		{"folded host", "GET http://www.test/ HTTP/1.1\r\nHost:\r\n www.test\r\n\r\n", "folded"},
		{"space before the colon", get + "Content-Length : 5\r\n\r\n", "no header field"},
		{"no colon", get + "what\r\n\r\n", "no header field"},
		{"empty name", get + ": x\r\n\r\n", "no header field"},
		{"no host", "GET http://www.test/ HTTP/1.1\r\n\r\n", "not exactly one Host"},
		{"two hosts", get + "Host: www.test\r\n\r\n", "not exactly one Host"},
		{"another host", "GET http://www.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "not the target"},
		{"another port", "GET http://www.test/ HTTP/1.1\r\nHost: www.test:81\r\n\r\n", "not the target"},
		{"host with a list", "GET http://www.test/ HTTP/1.1\r\nHost: www.test, evil.test\r\n\r\n", "not the target"},
		{"host with a user", "GET http://www.test/ HTTP/1.1\r\nHost: u@www.test\r\n\r\n", "user name"},
		{"empty host", "GET http://www.test/ HTTP/1.1\r\nHost:\r\n\r\n", "not the target"},
		{"CONNECT for another host", "CONNECT www.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", "not the target"},
		{"CONNECT for another port", "CONNECT www.test:443 HTTP/1.1\r\nHost: www.test:22\r\n\r\n", "not the target"},
		{"CONNECT without a port", "CONNECT www.test HTTP/1.1\r\n\r\n", "without a port"},
		{"CONNECT to port 0", "CONNECT www.test:0 HTTP/1.1\r\n\r\n", "port"},
		{"CONNECT to port +443", "CONNECT www.test:+443 HTTP/1.1\r\n\r\n", "port"},
		{"CONNECT to port 0443", "CONNECT www.test:0443 HTTP/1.1\r\n\r\n", "port"},
		{"CONNECT to port 65979", "CONNECT www.test:65979 HTTP/1.1\r\n\r\n", "port"},
		{"CONNECT to two ports", "CONNECT www.test:443:22 HTTP/1.1\r\n\r\n", "two ports"},
		{"CONNECT to a URL", "CONNECT http://www.test:443 HTTP/1.1\r\n\r\n", "two ports"},
		{"CONNECT with a body", "CONNECT www.test:443 HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", "body"},
		{"CONNECT with a user", "CONNECT u:p@www.test:443 HTTP/1.1\r\n\r\n", "user name"},
		{"connect", "connect www.test:443 HTTP/1.1\r\n\r\n", "another case"},
		{"user", "GET http://u:p@www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "user name"},
		{"user that looks like a host", "GET http://www.test:80@evil.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "user name"},
		{"fragment", "GET http://www.test#@evil.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "character"},
		{"backslash", "GET http://www.test\\@evil.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "character"},
		{"outside ASCII", "GET http://www.test/ü HTTP/1.1\r\nHost: www.test\r\n\r\n", "character"},
		{"brackets around a name", "GET http://[www.test]/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "brackets"},
		{"a zone", "GET http://[fe80::1%25eth0]/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "brackets"},
		{"origin form", "GET / HTTP/1.1\r\nHost: www.test\r\n\r\n", "this is a proxy"},
		{"asterisk", "OPTIONS * HTTP/1.1\r\nHost: www.test\r\n\r\n", "this is a proxy"},
		{"https", "GET https://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "CONNECT"},
		{"ftp", "GET ftp://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", `scheme "ftp"`},
		{"file", "GET file:///etc/passwd HTTP/1.1\r\nHost: www.test\r\n\r\n", "scheme"},
		{"no scheme", "GET www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "this is a proxy"},
		{"length and chunks", get + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "both"},
		{"two lengths", get + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "more than once"},
		{"the same length twice", get + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "more than once"},
		{"a list of lengths", get + "Content-Length: 5, 5\r\n\r\n", "no number"},
		{"+5", get + "Content-Length: +5\r\n\r\n", "no number"},
		{"0x5", get + "Content-Length: 0x5\r\n\r\n", "no number"},
		{"-1", get + "Content-Length: -1\r\n\r\n", "no number"},
		{"a length beyond everything", get + "Content-Length: 99999999999999999999\r\n\r\n", "no number"},
		{"gzip, chunked", get + "Transfer-Encoding: gzip, chunked\r\n\r\n", "other than chunked"},
		{"xchunked", get + "Transfer-Encoding: xchunked\r\n\r\n", "other than chunked"},
		{"two encodings", get + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", "more than once"},
		{"chunks in HTTP/1.0", "POST http://www.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0"},
		{"too long", get + "A: " + strings.Repeat("x", 70<<10) + "\r\n\r\n", "too long"},
		{"too many fields", get + strings.Repeat("A: b\r\n", 300) + "\r\n", "more than 256"},
		{"two empty lines before", "\r\n\r\n\r\n" + get + "\r\n", "no header field"},
	}
	w := newWorld(t, allow(t, "www.test", "evil.test"), Limits{})
	w.zone["www.test."], w.zone["evil.test."] = []string{public}, []string{public}
	proxy := w.proxy()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			before := len(w.records.all())
			conn := dialTest(t, proxy)
			_, err := io.WriteString(conn, c.request)
			require.NoError(t, err)
			all, err := io.ReadAll(conn)
			require.NoError(t, err, "one answer, and the end")
			text := string(all)
			if c.name == "two empty lines before" { // nothing but an end: there was no request
				require.Contains(t, text, "400")
				return
			}
			require.True(t, strings.HasPrefix(text, "HTTP/1.1 400 "), text)
			require.Equal(t, 1, strings.Count(text, "HTTP/1.1 4"), text)
			require.Contains(t, text, c.why)
			require.Contains(t, text, "X-Proxy-Error: bad-request")
			require.Contains(t, text, policyNotFault)
			records := w.records.all()
			require.Len(t, records, before+1)
			require.Equal(t, "HTTP 400", records[before].How)
		})
	}
	require.Empty(t, w.dialled())
}

// TestBodiesRefused: a chunked body that is not what it says ends the exchange, and the host never sees its end.
func TestBodiesRefused(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	got := make(chan string, 1)
	ln := serveTCP(t, func(c netConn) {
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	w.host("www.test", 80, ln.Addr())
	for _, body := range []string{"5\r\nabc\r\n0\r\n\r\n", "-5\r\nabcde\r\n0\r\n\r\n", "0x5\r\nabcde\r\n0\r\n\r\n", "5\nabcde\r\n0\r\n\r\n",
		"ffffffffffffffff1\r\n", "3\r\nabcde\r\n0\r\n\r\n", "\r\n\r\n", "5;" + strings.Repeat("x", 5000) + "\r\n", "0\r\nA: b\nHost: x\r\n\r\n"} {
		resp, text := w.raw(w.proxy(), "POST http://www.test/ HTTP/1.1\r\nHost: www.test\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
		require.Equal(t, 400, resp.StatusCode, "%q: %s", body, text)
		require.NotContains(t, <-got, "0\r\n\r\n", "%q", body)
	}
}

// TestAddressesRefused: an allowed name does not reach what only an address grants. Without the check each of them is
// dialled, and with a grant of the address too.
func TestAddressesRefused(t *testing.T) {
	own, err := ownAddresses()
	require.NoError(t, err)
	require.NotEmpty(t, own)
	addresses := map[string]string{
		"127.0.0.1": "loopback", "127.9.9.9": "loopback", "::1": "loopback", "0.0.0.0": "unspecified", "::": "unspecified", "0.1.2.3": "unspecified",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fd12::1": "private", "fec0::1": "private",
		"169.254.1.1": "link-local", "fe80::1": "link-local", "fe80::1%lo": "one link", "224.0.0.1": "multicast", "239.1.1.1": "multicast", "ff02::1": "multicast",
		"100.64.0.1": "carrier", "100.127.255.255": "carrier", "169.254.169.254": "metadata", "fd00:ec2::254": "metadata", "100.100.100.200": "metadata",
		"168.63.129.16": "metadata", "192.0.0.192": "metadata", "169.254.170.2": "metadata", "198.18.0.1": "benchmark", "198.19.255.255": "benchmark",
		"192.0.2.1": "documentation", "2001:db8::1": "documentation", "240.0.0.1": "reserved", "255.255.255.255": "reserved", "192.0.0.1": "reserved",
		"::ffff:127.0.0.1": "loopback", "::ffff:169.254.169.254": "metadata", "::127.0.0.1": "carried", "::8.8.8.8": "carried", "2002:7f00:1::": "carried",
		"2002:808:808::": "carried", "64:ff9b::7f00:1": "loopback address carried", "64:ff9b::a9fe:a9fe": "metadata service carried", "64:ff9b::a00:1": "private address carried",
		"64:ff9b:1::808:808": "carried", "2001:0:1::1": "carried", "::ffff:0:127.0.0.1": "carried",
		"203.0.114.7": "host itself", "64:ff9b::cb00:7207": "host itself carried", "2a00::7": "host itself",
	}
	for address, kind := range addresses {
		t.Run(address, func(t *testing.T) {
			w := newWorld(t, allow(t, "name.test", "*.wild.test"), Limits{})
			w.own = func() ([]netip.Addr, error) {
				return append(own, netip.MustParseAddr("203.0.114.7"), netip.MustParseAddr("2a00::7")), nil
			}
			w.zone["name.test."] = []string{address}
			w.zone["a.wild.test."] = []string{address}
			for _, host := range []string{"name.test", "a.wild.test"} {
				_, err := w.dial(t.Context(), host, 443)
				var r *Refusal
				require.ErrorAs(t, err, &r)
				require.Equal(t, CodeRuntime, r.Code)
				require.Contains(t, r.Reason, kind)
				require.Contains(t, r.Reason, "resolved to")
			}
			require.Empty(t, w.dialled(), "refused before anything is dialled")

			a := netip.MustParseAddr(address).Unmap()
			grant := "[" + a.WithZone("").String() + "]"
			if a.Is4() {
				grant = a.String()
			}
			if a.Zone() == "" { // a zone cannot be granted
				w.SetRules(allow(t, "name.test", grant))
				w.dial(t.Context(), "name.test", 443)
				require.Len(t, w.dialled(), 1, "granted by address")
			}
			w.SetRules(allow(t, "name.test"))
			w.judgeAddress = func(target, *policy.Rules, netip.Addr, []netip.Addr) *Refusal { return nil }
			before := len(w.dialled())
			w.dial(t.Context(), "name.test", 443)
			require.Len(t, w.dialled(), before+1, "without the check the attack succeeds")
		})
	}
}

// TestOrdinaryAddresses: the check does not refuse everything.
func TestOrdinaryAddresses(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "192.0.1.1", "198.20.0.1", "2606:4700::1111", "64:ff9b::808:808", "223.255.255.255"} {
		require.Empty(t, whatIs(netip.MustParseAddr(a), nil), a)
	}
}

// TestOwnAddresses: the addresses of this machine are found, all but loopback by being its own.
func TestOwnAddresses(t *testing.T) {
	own, err := ownAddresses()
	require.NoError(t, err)
	require.Contains(t, own, loopbacks[0])
	for _, a := range own {
		require.NotEmpty(t, whatIs(a, own), a)
	}
	w := newWorld(t, allow(t, "name.test"), Limits{})
	w.zone["name.test."] = []string{public}
	w.own = func() ([]netip.Addr, error) { return nil, io.ErrClosedPipe }
	_, err = w.dial(t.Context(), "name.test", 443)
	var r *Refusal
	require.ErrorAs(t, err, &r, "a list that cannot be read refuses")
	require.Empty(t, w.dialled())
}

// TestRebinding: a name is resolved once for a connection, and what was checked is dialled; the next connection is
// checked again.
func TestRebinding(t *testing.T) {
	w := newWorld(t, allow(t, "flip.test"), Limits{})
	w.host("flip.test", 80, echo(t).Addr())
	asked := 0
	w.resolver = resolverFunc(func(host string) []string {
		asked++
		if asked == 1 {
			return []string{"127.0.0.1", public}
		}
		return []string{"127.0.0.1"}
	})
	u, err := w.dial(t.Context(), "flip.test", 80)
	require.NoError(t, err)
	defer u.Close()
	require.Equal(t, 1, asked)
	require.Equal(t, []string{"flip.test 8.8.8.8:80"}, w.dialled(), "the address that was refused is not tried")
	_, err = w.dial(t.Context(), "flip.test", 80)
	var r *Refusal
	require.ErrorAs(t, err, &r)
}

// TestDeniedAddress: a denied range holds for what an allowed name resolves to.
func TestDeniedAddress(t *testing.T) {
	w := newWorld(t, compile(t, policy.Network{AllowedDomains: []string{"name.test"}, DeniedDomains: []string{"8.8.0.0/16"}}), Limits{})
	w.zone["name.test."] = []string{public}
	_, err := w.dial(t.Context(), "name.test", 443)
	var r *Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, CodeDenyList, r.Code)
	require.Contains(t, r.Reason, public)
	require.Empty(t, w.dialled())
}

// TestLocalhost: the host's own service is reached by the entry that spells it, on that port alone; neither "*" nor a
// name that resolves there is such an entry, and localhost is never looked up.
func TestLocalhost(t *testing.T) {
	ln := echo(t)
	port := portOf(ln.Addr())
	w := newWorld(t, allow(t, fmt.Sprintf("localhost:%d", port), "alias.test", "*:22"), Limits{})
	w.zone["localhost."] = []string{public}
	w.zone["alias.test."] = []string{"127.0.0.1"}
	u, err := w.dial(t.Context(), "LOCALHOST.", port)
	require.NoError(t, err)
	require.NoError(t, u.Close())
	for _, c := range []struct {
		host string
		port int
	}{{"localhost", port + 1}, {"localhost", 22}, {"127.0.0.1", port}, {"alias.test", port}, {"a.localhost", 22}, {"::1", port}} {
		dials := len(w.dialled())
		_, err := w.dial(t.Context(), c.host, c.port)
		if c.host != "a.localhost" { // that one is allowed by "*", and resolves to nothing
			var r *Refusal
			require.ErrorAs(t, err, &r, c.host)
		}
		require.Error(t, err)
		require.Len(t, w.dialled(), dials)
	}
	for _, d := range w.dialled() {
		require.True(t, strings.HasPrefix(d, "localhost 127.0.0.1:") || strings.HasPrefix(d, "localhost [::1]:"), d)
	}
	u, err = w.ConnectCaptured(t.Context(), "127.0.0.1", port)
	require.NoError(t, err, "a captured connect has nothing but the address")
	require.NoError(t, u.Close())
}

// TestUnrestricted: a policy without network rules has none here either.
func TestUnrestricted(t *testing.T) {
	ln := echo(t)
	w := newWorld(t, compile(t, policy.Network{Unrestricted: true}), Limits{})
	w.zone["name.test."] = []string{"127.0.0.1"}
	for _, host := range []string{"name.test", "127.0.0.1", "localhost"} {
		u, err := w.dial(t.Context(), host, portOf(ln.Addr()))
		require.NoError(t, err)
		require.NoError(t, u.Close())
	}
}
