package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHelloIsBounded: a stream of records that never becomes a hello is refused soon, and one in the smallest pieces does
// not cost the square of their number.
func TestHelloIsBounded(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{Head: patience})
	w.host("good.test", 443, echo(t).Addr())
	c := tunnelTo(t, w.proxy(), "good.test", 443)
	// Empty records of a version that does not exist: 64 MB of them, which were kept in memory until the time was over.
	block := bytes.Repeat([]byte{0x16, 0, 0, 0, 0}, 1<<16)
	sent, err := 0, error(nil)
	for err == nil && sent < 64<<20 {
		n := 0
		n, err = c.Write(block)
		sent += n
	}
	require.Error(t, err, "it took them all")
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded))
	eventually(t, "a record", func() bool { return len(w.records.all()) == 1 })
	require.Contains(t, w.records.all()[0].Reason, "empty records")

	// A byte a record, and a byte a read: each is looked at a few times, and not once more for every one after it.
	stream := splitRecords(append(make([]byte, 5), append([]byte{1, 0, 0x7f, 0xff}, make([]byte, 32000)...)...), 1)
	reader := helloReader{}
	for i := range stream {
		was := reader.read
		require.Equal(t, helloPartial, reader.next(stream[:i+1]).state)
		require.LessOrEqual(t, i+1-reader.read, 6, "what was looked at is not looked at again")
		require.GreaterOrEqual(t, reader.read, was)
	}
}

// TestHeadsAreBounded: what a head makes us do is bounded by its size, not by its square.
func TestHeadsAreBounded(t *testing.T) {
	read := func(text string, strict bool) error {
		_, err := readHead(bufio.NewReader(strings.NewReader(text)), 64<<10, strict)
		return err
	}
	require.ErrorContains(t, read("HTTP/1.1 200 OK\r\nA: b\r\n"+strings.Repeat(" x\n", 20<<10)+"\r\n", false), "lines")
	require.NoError(t, read("HTTP/1.1 200 OK\r\nA: b\r\n"+strings.Repeat(" x\n", 100)+"\r\n", false))
	require.ErrorContains(t, read("GET / HTTP/1.1\r\nConnection: "+strings.Repeat("a,", 16<<10)+"\r\n\r\n", true), "options in Connection")
}

// TestByteLimitCountsEverything: heads and the lines around chunks are bytes too, and when all are used up nothing is
// connected any more: each new connection would carry a piece beyond the limit.
func TestByteLimitCountsEverything(t *testing.T) {
	const limit = 1 << 20
	long := strings.Repeat("a", 50<<10)
	for name, c := range map[string]struct{ request, answer string }{
		"heads of requests":   {"GET http://www.test/?" + long + " HTTP/1.1\r\nHost: www.test\r\n\r\n", "HTTP/1.1 204 No\r\n\r\n"},
		"heads of answers":    {"GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "HTTP/1.1 204 No\r\nA: " + long + "\r\n\r\n"},
		"interim answers":     {"GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "HTTP/1.1 103 Hints\r\nA: " + long + "\r\n\r\nHTTP/1.1 204 No\r\n\r\n"},
		"extensions of chunk": {"GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("a", 4000)+"\r\nx\r\n", 12) + "0\r\n\r\n"},
	} {
		w := newWorld(t, allow(t, "www.test"), Limits{Bytes: limit})
		var moved atomic.Int64
		w.host("www.test", 80, serveTCP(t, func(conn net.Conn) {
			br := bufio.NewReader(conn)
			for {
				r, err := http.ReadRequest(br)
				if err != nil {
					return
				}
				n, err := io.WriteString(conn, c.answer)
				if moved.Add(int64(n + len(r.RequestURI))); err != nil {
					return
				}
			}
		}).Addr())
		proxy := w.proxy()
		for range 40 {
			conn := dialTest(t, proxy)
			io.WriteString(conn, c.request)
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
		}
		require.Less(t, moved.Load(), int64(limit+2*len(long)), name)
		resp, text := w.raw(proxy, c.request)
		require.Equal(t, 503, resp.StatusCode, name)
		require.Contains(t, text, "over the limit of bytes")
		for _, r := range w.records.all() {
			require.Equal(t, ListLimit, r.Rule.List)
		}
	}
}

// TestByteLimitEnds: new tunnels do not carry on where an old one was cut, and an upload that was cut is told why.
func TestByteLimitEnds(t *testing.T) {
	const limit = 200 << 10
	w := newWorld(t, allow(t, "www.test"), Limits{Bytes: limit})
	var moved atomic.Int64
	w.host("www.test", 80, serveTCP(t, func(c net.Conn) { n, _ := io.Copy(io.Discard, c); moved.Add(n) }).Addr())
	proxy := w.proxy()
	_, text := w.raw(proxy, "POST http://www.test/ HTTP/1.1\r\nHost: www.test\r\nContent-Length: 300000\r\n\r\n"+strings.Repeat("x", 300000))
	require.Contains(t, text, "over the limit of bytes", "and not that the host failed")
	for range 20 {
		require.Equal(t, byte(socksNotAllowed), socksAnswer(t, proxy, socksRequest(1, "www.test", 80))[3])
	}
	_, err := w.ConnectCaptured(t.Context(), "www.test", 80)
	require.ErrorContains(t, err, "over the limit of bytes")
	eventually(t, "nothing is open", func() bool { return w.Stats().Upstreams == 0 })
	require.Less(t, moved.Load(), int64(limit+1))
}

// TestUpstreamLimit: connections that are made for clients that never come are bounded too. Those of a client that is
// turned away are closed.
func TestUpstreamLimit(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{Connections: 2})
	w.host("good.test", 80, echo(t).Addr())
	var made []*Upstream
	for range 4 {
		u, err := w.ConnectCaptured(t.Context(), "good.test", 80)
		require.NoError(t, err)
		made = append(made, u)
	}
	_, err := w.ConnectCaptured(t.Context(), "good.test", 80)
	require.ErrorContains(t, err, "connections at once")
	require.Zero(t, w.dialling)

	for _, u := range made[1:] {
		u.Close()
	}
	proxy := w.proxy()
	for range 4 {
		dialTest(t, proxy)
	}
	eventually(t, "they are taken", func() bool { return w.Stats().Clients == 4 })
	capture := listen(t)
	w.ServeCaptured(capture, func(net.Conn) (Meant, error) { return Meant{Host: "good.test", Port: 80, Upstream: made[0]}, nil })
	if c, err := net.Dial("tcp", capture.Addr().String()); err == nil { // the reset may come before it
		defer c.Close()
	}
	eventually(t, "what was dialled for it is closed", func() bool { return w.Stats().Upstreams == 0 })
}

// TestLoopbackGrantedByAddress: a program that is not helped by a proxy reaches a loopback address that is granted as an
// address, and one that is granted as localhost, and neither by the other's grant of another port.
func TestLoopbackGrantedByAddress(t *testing.T) {
	port := portOf(echo(t).Addr())
	for _, entry := range []string{"127.0.0.1", "127.0.0.0/8", "localhost"} {
		w := newWorld(t, allow(t, joinHostPort(entry, port)), Limits{})
		if strings.Contains(entry, "/") {
			w.SetRules(allow(t, entry))
		}
		require.True(t, w.Grants("127.0.0.1", port), entry)
		u, err := w.ConnectCaptured(t.Context(), "127.0.0.1", port)
		require.NoError(t, err, entry)
		u.Close()
		if !strings.Contains(entry, "/") {
			require.False(t, w.Grants("127.0.0.1", port+1))
		}
		w.SetRules(allow(t, "localhost:1", "127.0.0.1:2", "::1", "*"))
		require.False(t, w.Grants("127.0.0.1", port))
	}
}

// TestAnswerIsNotAnsweredAgain: a fault in a request's body, met when its answer is half way out, does not put a second
// answer into the body of the first.
func TestAnswerIsNotAnsweredAgain(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	w.host("www.test", 80, serveTCP(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf")
		io.Copy(io.Discard, c)
	}).Addr())
	c := dialTest(t, w.proxy())
	io.WriteString(c, "POST http://www.test/ HTTP/1.1\r\nHost: www.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	br := bufio.NewReader(c)
	for line := ""; line != "\r\n"; {
		var err error
		line, err = br.ReadString('\n')
		require.NoError(t, err)
	}
	io.WriteString(c, "zz\r\n")
	rest, err := io.ReadAll(br)
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded))
	require.Equal(t, "half", string(rest))
}

// TestRefusedConnectIsTheLast: what a program sends after CONNECT without waiting is for its host. It is not read as a request
// when CONNECT is refused.
func TestRefusedConnectIsTheLast(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	var asked atomic.Int64
	w.web("www.test", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	c := dialTest(t, w.proxy())
	inner := "GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\nConnection: close\r\n\r\n"
	io.WriteString(c, "CONNECT evil.test:443 HTTP/1.1\r\n\r\n"+inner)
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(all, []byte("HTTP/1.1 ")))
	require.Zero(t, asked.Load())
	require.Len(t, w.records.all(), 1)
	w.raw(w.proxy(), inner)
	require.EqualValues(t, 1, asked.Load(), "alone it is a request")
}

// TestAnswersOutOfTurn: bytes after an answer are not the answer to the next request.
func TestAnswersOutOfTurn(t *testing.T) {
	const stale = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale"
	for _, first := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst", "HTTP/1.1 204 No\r\nContent-Length: 88\r\n\r\n",
		"HTTP/1.1 304 Not\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		w := newWorld(t, allow(t, "www.test"), Limits{})
		w.host("www.test", 80, serveTCP(t, func(c net.Conn) {
			br := bufio.NewReader(c)
			for {
				r, err := http.ReadRequest(br)
				switch {
				case err != nil:
					return
				case r.URL.Path == "/first":
					io.WriteString(c, first+stale)
				default:
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfresh")
				}
			}
		}).Addr())
		c := dialTest(t, w.proxy())
		br := bufio.NewReader(c)
		io.WriteString(c, "GET http://www.test/first HTTP/1.1\r\nHost: www.test\r\n\r\n")
		readAnswer(t, br, "GET")
		io.WriteString(c, "GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n")
		_, got := readAnswer(t, br, "GET")
		require.Equal(t, "fresh", got, "%q", first)
	}
}

// TestIdleBetweenRequests: a limit of idle time holds between two requests as well.
func TestIdleBetweenRequests(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{Idle: 100 * time.Millisecond, KeepAlive: time.Hour})
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "here") })
	proxy := w.proxy()
	c := dialTest(t, proxy)
	br := bufio.NewReader(c)
	fmt.Fprintf(c, "GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\n\r\n")
	_, got := readAnswer(t, br, "GET")
	require.Equal(t, "here", got)
	_, err := br.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	_, err = dialTest(t, proxy).Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
