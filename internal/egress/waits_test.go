package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCutIsNoEnd: what the host broke off does not look whole.
func TestCutIsNoEnd(t *testing.T) {
	for _, head := range []string{"HTTP/1.0 200 OK\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"} {
		for _, version := range []string{"1.0", "1.1"} {
			w := newWorld(t, allow(t, "good.test"), Limits{})
			arrived := make(chan bool)
			w.host("good.test", 80, serveTCP(t, func(c net.Conn) {
				c.Read(make([]byte, 1024))
				io.WriteString(c, head)
				<-arrived
				reset(c)
			}).Addr())
			c := dialTest(t, w.proxy())
			fmt.Fprintf(c, "GET http://good.test/ HTTP/%s\r\nHost: good.test\r\n\r\n", version)
			br := bufio.NewReader(c)
			_, err := br.ReadString('f')
			require.NoError(t, err)
			close(arrived)
			_, err = io.ReadAll(br)
			require.ErrorIs(t, err, syscall.ECONNRESET, "%q", head)
		}
	}
	w := newWorld(t, allow(t, "good.test"), Limits{Bytes: 1 << 20})
	w.host("good.test", 80, serveTCP(t, func(c net.Conn) {
		c.Write([]byte("half"))
		c.Read(make([]byte, 1))
		reset(c)
	}).Addr())
	w.host("good.test", 81, serveTCP(t, func(c net.Conn) { io.Copy(c, neverEnding{}) }).Addr())
	proxy := w.proxy()
	c := tunnelTo(t, proxy, "good.test", 80)
	io.ReadFull(c, make([]byte, 4))
	c.Write([]byte("x"))
	_, err := io.ReadAll(c)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = io.ReadAll(tunnelTo(t, proxy, "good.test", 81))
	require.ErrorIs(t, err, syscall.ECONNRESET, "cut by the limit")
}

// TestClientThatLeft: nobody waits for an answer that nobody wants.
func TestClientThatLeft(t *testing.T) {
	w := newWorld(t, allow(t, "mute.test"), Limits{KeepAlive: 100 * time.Millisecond})
	w.host("mute.test", 80, serveTCP(t, func(c net.Conn) { io.Copy(io.Discard, c) }).Addr())
	proxy := w.proxy()
	for _, end := range []func(net.Conn){func(c net.Conn) { c.Close() }, reset} {
		for _, rest := range []string{"\r\n", "Content-Length: 4\r\n\r\nbody"} {
			c := dialTest(t, proxy)
			io.WriteString(c, "POST http://mute.test/ HTTP/1.1\r\nHost: mute.test\r\n"+rest)
			eventually(t, "it is sent", func() bool { return w.Stats().Upstreams == 1 })
			end(c)
			eventually(t, "it is gone", func() bool { s := w.Stats(); return s.Clients == 0 && s.Upstreams == 0 })
		}
	}
}

// TestIdleWhileUploading: a host that is silent while it is sent something is not idle.
func TestIdleWhileUploading(t *testing.T) {
	const idle = 400 * time.Millisecond
	for _, chunked := range []bool{false, true} {
		w := newWorld(t, allow(t, "good.test"), Limits{Idle: idle})
		w.web("good.test", nil).Config.Handler = readAll
		c := dialTest(t, w.proxy())
		head := "Content-Length: 12\r\n\r\n"
		if chunked {
			head = "Transfer-Encoding: chunked\r\n\r\n"
		}
		io.WriteString(c, "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n"+head)
		for range 12 {
			time.Sleep(idle / 8)
			if chunked {
				io.WriteString(c, "1\r\nx\r\n")
			} else {
				io.WriteString(c, "x")
			}
		}
		if chunked {
			io.WriteString(c, "0\r\n\r\n")
		}
		resp, text := readAnswer(t, bufio.NewReader(c), "POST")
		require.Equal(t, 200, resp.StatusCode, text)
		require.Equal(t, "12", text)
	}
}

// readAll answers how many bytes it was sent.
var readAll = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	fmt.Fprint(rw, n)
})

// TestUntaken: what was dialled for a program that ended before it connected is not kept.
func TestUntaken(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{Head: 200 * time.Millisecond})
	w.host("good.test", 80, echo(t).Addr())
	for range 3 {
		_, err := w.ConnectCaptured(t.Context(), "good.test", 80)
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.Stats().Upstreams)
	eventually(t, "nobody came for them", func() bool { return w.Stats().Upstreams == 0 })
}

// TestNoLengthOfNothing: an answer that has no body has no length either, for who would wait for it.
func TestNoLengthOfNothing(t *testing.T) {
	w := newWorld(t, allow(t, "good.test"), Limits{})
	w.host("good.test", 80, serveTCP(t, func(c net.Conn) {
		c.Read(make([]byte, 1024))
		io.WriteString(c, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")
	}).Addr())
	resp, _ := w.raw(w.proxy(), "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n")
	require.Equal(t, 204, resp.StatusCode)
	require.Empty(t, resp.Header.Get("Content-Length"))
}
