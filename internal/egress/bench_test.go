package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchWorld reaches loopback servers by an explicit grant, with the real dialler.
func benchWorld(b *testing.B, port int) (w *world, proxy string) {
	w = newWorld(b, allow(b, fmt.Sprintf("localhost:%d", port)), Limits{})
	w.dialAddress = dialTCP
	return w, w.proxy()
}

// arms runs a benchmark against a server directly and in every way through the gateway, so that they can be compared in one
// run.
func arms(b *testing.B, server net.Addr, run func(b *testing.B, dial func() net.Conn)) {
	port := portOf(server)
	w, proxy := benchWorld(b, port)
	captured := listen(b)
	w.ServeCaptured(captured, func(net.Conn) (Meant, error) { return Meant{Host: "127.0.0.1", Port: port}, nil })
	ask := func(request []byte, answer int) net.Conn {
		c := mustDial(b, proxy)
		c.Write(request)
		_, err := io.ReadFull(c, make([]byte, answer))
		require.NoError(b, err)
		return c
	}
	for _, arm := range []struct {
		name string
		dial func() net.Conn
	}{
		{"direct", func() net.Conn { return mustDial(b, server.String()) }},
		{"connect", func() net.Conn {
			return ask(fmt.Appendf(nil, "CONNECT localhost:%d HTTP/1.1\r\n\r\n", port), len("HTTP/1.1 200 Connection established\r\n\r\n"))
		}},
		{"socks", func() net.Conn { return ask(socksRequest(socksConnect, "localhost", port), 12) }},
		{"captured", func() net.Conn { return mustDial(b, captured.Addr().String()) }},
	} {
		b.Run(arm.name, func(b *testing.B) { run(b, arm.dial) })
	}
}

func mustDial(b *testing.B, address string) net.Conn {
	c, err := net.Dial("tcp", address)
	require.NoError(b, err)
	return c
}

// BenchmarkBulk moves 100 MB bodies in one direction.
func BenchmarkBulk(b *testing.B) {
	const size = 100 << 20
	piece := make([]byte, 1<<20)
	server := serveTCP(b, func(c net.Conn) {
		for range size / len(piece) {
			c.Write(piece)
		}
	})
	arms(b, server.Addr(), func(b *testing.B, dial func() net.Conn) {
		b.SetBytes(size)
		buf := make([]byte, 128<<10) // io.Copy's own 32 KB would measure the client
		for b.Loop() {
			c := dial()
			n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, buf)
			require.NoError(b, err)
			require.EqualValues(b, size, n)
			c.Close()
		}
	})
}

// BenchmarkConnect opens a connection, sends a byte, gets it back, and closes.
func BenchmarkConnect(b *testing.B) {
	server := serveTCP(b, func(c net.Conn) { io.Copy(c, c) })
	arms(b, server.Addr(), func(b *testing.B, dial func() net.Conn) {
		one := []byte{'x'}
		for b.Loop() {
			c := dial()
			c.Write(one)
			_, err := io.ReadFull(c, one)
			require.NoError(b, err)
			c.Close()
		}
	})
}

// BenchmarkRequests sends keep-alive requests by Go's client, one and eight at once, directly and in absolute form.
func BenchmarkRequests(b *testing.B) {
	ln := listen(b)
	s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "hello") })}
	go s.Serve(ln)
	b.Cleanup(func() { s.Close() })
	address := fmt.Sprintf("http://localhost:%d/", portOf(ln.Addr()))
	_, host := benchWorld(b, portOf(ln.Addr()))
	proxy := &url.URL{Scheme: "http", Host: host}
	for _, clients := range []int{1, 8} {
		for _, arm := range []string{"direct", "forward"} {
			b.Run(fmt.Sprintf("%d/%s", clients, arm), func(b *testing.B) {
				tr := &http.Transport{MaxIdleConnsPerHost: clients}
				// Go's client takes no proxy for localhost unless it is told so by a function.
				if arm == "forward" {
					tr.Proxy = func(*http.Request) (*url.URL, error) { return proxy, nil }
				}
				defer tr.CloseIdleConnections()
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				for range clients {
					wg.Go(func() {
						client := &http.Client{Transport: tr}
						for left.Add(-1) >= 0 {
							resp, err := client.Get(address)
							if err != nil || resp.StatusCode != 200 {
								b.Error(resp, err)
								return
							}
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			})
		}
	}
}

// BenchmarkRoundTrip is the same without a client that costs more than the proxy: the bytes of a request and its answer.
func BenchmarkRoundTrip(b *testing.B) {
	server := serveTCP(b, func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			for {
				line, err := br.ReadSlice('\n')
				if err != nil {
					return
				}
				if len(line) == 2 {
					break
				}
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		}
	})
	port := portOf(server.Addr())
	_, proxy := benchWorld(b, port)
	for _, arm := range []struct{ name, address string }{{"direct", server.Addr().String()}, {"forward", proxy}} {
		b.Run(arm.name, func(b *testing.B) {
			c := mustDial(b, arm.address)
			defer c.Close()
			request := fmt.Appendf(nil, "GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n", port, port)
			answer := make([]byte, len("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
			for b.Loop() {
				c.Write(request)
				_, err := io.ReadFull(c, answer)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkBody fetches 100 MB bodies directly and in absolute form, of known length and in chunks.
func BenchmarkBody(b *testing.B) {
	const size = 100 << 20
	piece := make([]byte, 1<<20)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			rw.Header().Set("Content-Length", fmt.Sprint(size))
		}
		for range size / len(piece) {
			rw.Write(piece)
		}
	}))
	b.Cleanup(s.Close)
	port := portOf(s.Listener.Addr())
	_, host := benchWorld(b, port)
	for _, framing := range []string{"length", "chunks"} {
		for _, arm := range []string{"direct", "forward"} {
			b.Run(framing+"/"+arm, func(b *testing.B) {
				tr := &http.Transport{}
				defer tr.CloseIdleConnections()
				if arm == "forward" {
					tr.Proxy = func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: host}, nil }
				}
				buf := make([]byte, 128<<10)
				b.SetBytes(size)
				for b.Loop() {
					resp, err := (&http.Client{Transport: tr}).Get(fmt.Sprintf("http://localhost:%d/%s", port, framing))
					require.NoError(b, err)
					n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{resp.Body}, buf)
					require.NoError(b, err)
					require.EqualValues(b, size, n)
					resp.Body.Close()
				}
			})
		}
	}
}
