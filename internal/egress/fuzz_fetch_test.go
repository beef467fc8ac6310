package egress

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// FuzzFetch: whatever the URL, and wherever it is redirected to, what is dialled is what was judged, and the request asks
// that host.
func FuzzFetch(f *testing.F) {
	for _, u := range []string{"http://good.test/", "https://good.test/", "http://10.1.2.3:8080/?a#b", "http://１０.1.2.3/", "http://good.test%00.evil.test/",
		"http://good.test:80@evil.test/", "http://[::ffff:7f00:1]:5432/", "http://LOCALHOST.:5432/", "HTTP://Good.Test.:443", "http://evil.test\\@good.test/",
		"http://a.good.test/", "//10.1.2.3/x", "http://good。test/", "http://[2620:fe::9%25eth0]/", "http://0x0a.66051/", "http://xn--good-.test/", "http://inside.test/"} {
		f.Add("http://good.test/", u)
		f.Add(u, "/")
	}
	f.Fuzz(func(t *testing.T, first, location string) {
		if strings.ContainsFunc(location, func(r rune) bool { return r < ' ' }) {
			location = ""
		}
		w := newFuzzed(t)
		w.dialAddress = func(ctx context.Context, d target, to netip.AddrPort) (net.Conn, error) {
			c, err := w.dialChecked(ctx, d, to)
			s, ok := c.(*scriptConn)
			if !ok {
				return c, err
			}
			if len(w.upstreams) == 1 {
				s.in = []byte("HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n")
			}
			return &polite{scriptConn: s, asked: make(chan struct{})}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		fetcher := Fetcher{Gateway: w.Gateway, Redirects: 2, Bytes: 1000}
		_, err := fetcher.Fetch(ctx, Request{Method: "GET", URL: first, Headers: [][2]string{{"X-Secret", "1"}}})
		require.NoError(t, w.Close())
		require.False(t, first == "http://good.test/" && location == "/" && err != nil, "the plainest one works: %v", err)
		for i, c := range w.upstreams {
			sent := c.out.Bytes()
			if !bytes.HasPrefix(sent, []byte("GET ")) {
				continue // TLS
			}
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
			require.NoError(t, err)
			host, port, err := splitAuthority(r.Host, 80)
			require.NoError(t, err)
			asked, err := policy.CanonicalHost(host)
			require.NoError(t, err)
			require.Equal(t, w.targets[i].host, asked)
			require.Equal(t, w.targets[i].port, port)
			same := w.targets[i].host == w.targets[0].host && w.targets[i].port == w.targets[0].port
			require.True(t, same || r.Header.Get("X-Secret") == "", "a header of the program's went to another origin")
		}
	})
}

// polite answers when it was asked, and not before: what comes unasked is a fault to a client.
type polite struct {
	*scriptConn
	once  sync.Once
	asked chan struct{}
}

func (p *polite) Read(b []byte) (int, error) {
	<-p.asked
	return p.scriptConn.Read(b)
}

func (p *polite) Write(b []byte) (int, error) {
	defer p.once.Do(func() { close(p.asked) })
	return p.scriptConn.Write(b)
}

func (p *polite) Close() error {
	defer p.once.Do(func() { close(p.asked) })
	return p.scriptConn.Close()
}
