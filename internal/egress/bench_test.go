package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchWorld reaches loopback servers by an explicit grant, with the real dialler.
func benchWorld(b *testing.B, port int) (proxy string) {
	w := newWorld(b, allow(b, fmt.Sprintf("localhost:%d", port)), Limits{})
	w.dialAddress = dialTCP
	return w.proxy()
}

// arms runs a benchmark against a server directly and through the proxy, so that the two can be compared in one run.
func arms(b *testing.B, server net.Addr, run func(b *testing.B, dial func() net.Conn)) {
	proxy := benchWorld(b, portOf(server))
	b.Run("direct", func(b *testing.B) {
		run(b, func() net.Conn { return mustDial(b, server.String()) })
	})
	b.Run("connect", func(b *testing.B) {
		run(b, func() net.Conn {
			c := mustDial(b, proxy)
			fmt.Fprintf(c, "CONNECT localhost:%d HTTP/1.1\r\n\r\n", portOf(server))
			answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
			_, err := io.ReadFull(c, answer)
			require.NoError(b, err)
			return c
		})
	})
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
		for b.Loop() {
			c := dial()
			n, err := io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c})
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
	proxy := &url.URL{Scheme: "http", Host: benchWorld(b, portOf(ln.Addr()))}
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
	proxy := benchWorld(b, port)
	for arm, address := range map[string]string{"direct": server.Addr().String(), "forward": proxy} {
		b.Run(arm, func(b *testing.B) {
			c := mustDial(b, address)
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
