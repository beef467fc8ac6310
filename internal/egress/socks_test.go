package egress

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// socksRequest is a greeting and a request in one.
func socksRequest(cmd byte, host string, port int) []byte {
	b := []byte{5, 1, 0, 5, cmd, 0}
	if a, err := netip.ParseAddr(host); err != nil {
		b = append(b, 3, byte(len(host)))
		b = append(b, host...)
	} else if a.Is4() {
		b = append(append(b, 1), a.AsSlice()...)
	} else {
		b = append(append(b, 4), a.AsSlice()...)
	}
	return append(b, byte(port>>8), byte(port))
}

// socksAnswer sends bytes and gives all that comes back.
func socksAnswer(t *testing.T, proxy string, request []byte) []byte {
	t.Helper()
	c := dialTest(t, proxy)
	_, err := c.Write(request)
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	return all
}

// TestSOCKS: names and addresses, granted and not.
func TestSOCKS(t *testing.T) {
	w := newWorld(t, allow(t, "good.test", "9.9.9.9", "[2620:fe::9]:80", "inside.test"), Limits{})
	ln := echo(t)
	w.host("good.test", 80, ln.Addr())
	w.zone["inside.test."] = []string{"10.0.0.1"}
	w.servers["9.9.9.9:80"] = ln.Addr().String()
	w.servers["[2620:fe::9]:80"] = ln.Addr().String()
	proxy := w.proxy()
	for _, host := range []string{"good.test", "GOOD.Test.", "9.9.9.9", "2620:fe::9", "::ffff:9.9.9.9"} {
		got := socksAnswer(t, proxy, append(socksRequest(1, host, 80), "hello"...))
		require.Equal(t, "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00hellobye", string(got), host)
	}
	require.Equal(t, "good.test 8.8.8.8:80", w.dialled()[1], "the canonical spelling is dialled")
	require.Empty(t, w.records.all())
	dials := len(w.dialled())

	refused := []string{
		"evil.test", "good.test.evil.test", "9.9.9.8", "::1", "2620:fe::8", "inside.test", "::ffff:127.0.0.1", "127.0.0.1", "169.254.169.254",
		"evil.test\x00.good.test", "good.test\x00", "good.test\r\n", "good.test ", " good.test", "good.test%00", "good.test..", ".good.test",
		"good.test:80", "[good.test]", "ɢood.test", "xn--good.test\xff", "2130706433", "127.1", "0x7f.1", "0177.0.0.1", "fe80::1%eth0",
		"user@good.test", "good.test/", strings.Repeat("a", 255), "", "-good.test",
	}
	for _, host := range refused {
		got := socksAnswer(t, proxy, socksRequest(1, host, 80))
		require.Equal(t, []byte{5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0}, got, "%q", host)
		records := w.records.all()
		require.Equal(t, "SOCKS 2", records[len(records)-1].How)
	}
	require.Len(t, w.records.all(), len(refused))
	require.Len(t, w.dialled(), dials)
}

// TestSOCKSRefusals: what is not CONNECT without authentication.
func TestSOCKSRefusals(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{})
	proxy := w.proxy()
	for name, c := range map[string]struct {
		send []byte
		want string
	}{
		"BIND":              {socksRequest(2, "good.test", 80), "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		"UDP ASSOCIATE":     {socksRequest(3, "good.test", 80), "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		"an unknown kind":   {[]byte{5, 1, 0, 5, 1, 0, 9, 0, 0}, "\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"},
		"a password":        {[]byte{5, 1, 2}, "\x05\xff"},
		"no method":         {[]byte{5, 0}, "\x05\xff"},
		"SOCKS4":            {[]byte{4, 1, 0, 80, 1, 1, 1, 1, 0}, "\x00\x5b\x00\x00\x00\x00\x00\x00"},
		"TLS":               {[]byte{0x16, 3, 1, 0, 5}, string(alertAccessDenied)},
		"port 0":            {socksRequest(1, "good.test", 0), "\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"},
		"a second version":  {[]byte{5, 1, 0, 4, 1, 0, 1, 1, 1, 1, 1, 0, 80}, "\x05\x00"},
		"an end":            {[]byte{5, 1, 0, 5, 1, 0, 3, 200, 'a'}, "\x05\x00"},
		"an end before all": {[]byte{5}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, string(socksAnswer(t, proxy, c.send)))
		})
	}
	require.Len(t, w.records.all(), 8)
	require.Empty(t, w.dialled())
}

// TestHalfClose: the end of one direction is passed on as that, both ways.
func TestHalfClose(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{})
	ln := serveTCP(t, func(c net.Conn) {
		io.WriteString(c, "first") // the server speaks first
		c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		w.records.record(&Refusal{Host: string(b)})
	})
	w.host("good.test", 22, ln.Addr())
	c := dialTest(t, w.proxy())
	io.WriteString(c, "CONNECT good.test:22 HTTP/1.1\r\n\r\n")
	br := bufio.NewReader(c)
	_, _ = readAnswer(t, br, "CONNECT")
	all, err := io.ReadAll(br)
	require.NoError(t, err)
	require.Equal(t, "first", string(all), "before the client sent a byte")
	io.WriteString(c, "second")
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	eventually(t, "the other half", func() bool { r := w.records.all(); return len(r) == 1 && r[0].Host == "second" })
}
