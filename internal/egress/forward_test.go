package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForward sends requests of every framing through the proxy, by a real client to a real server.
func TestForward(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Seen-Host", r.Host)
		rw.Header().Set("Seen-Fields", fmt.Sprint(r.Header))
		switch r.URL.Path {
		case "/big":
			rw.Header().Set("Content-Length", fmt.Sprint(len(big)))
			rw.Write(big)
		case "/stream":
			for i := range 3 {
				fmt.Fprintf(rw, "line %d\n", i)
				rw.(http.Flusher).Flush()
			}
		case "/empty":
			rw.WriteHeader(204)
		case "/hints":
			rw.Header().Set("Link", "</x>")
			rw.WriteHeader(103)
			rw.WriteHeader(200)
		default:
			// Without it the server gives the connection up rather than answer before it has the whole body.
			if err := http.NewResponseController(rw).EnableFullDuplex(); err != nil {
				panic(err)
			}
			n, err := io.Copy(rw, r.Body)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(rw, "|%s %s %d", r.Method, r.URL, n)
		}
	})
	client := w.httpClient("http", w.proxy())
	client.Transport.(*http.Transport).MaxConnsPerHost = 1 // it would rather open one than wait a moment
	do := func(method, path string, body io.Reader) (*http.Response, string) {
		req, err := http.NewRequest(method, "http://WWW.test."+path, body)
		require.NoError(t, err)
		req.Header.Set("Proxy-Authorization", "Basic c2VjcmV0")
		req.Header.Set("X-Kept", "yes")
		if body != nil && path != "/up" { // with it this server closes after a large body
			req.Header.Set("Expect", "100-continue")
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "www.test", resp.Header.Get("Seen-Host"))
		require.Contains(t, resp.Header.Get("Seen-Fields"), "X-Kept:[yes]")
		require.NotContains(t, resp.Header.Get("Seen-Fields"), "Proxy-")
		return resp, string(got)
	}
	for range 2 { // the second time over the same connections
		_, got := do("GET", "/a?b=c", nil)
		require.Equal(t, "|GET /a?b=c 0", got)
		_, got = do("POST", "/p", strings.NewReader("length"))
		require.Equal(t, "length|POST /p 6", got)
		_, got = do("PUT", "/c", io.MultiReader(strings.NewReader("chunks")))
		require.Equal(t, "chunks|PUT /c 6", got)
		_, got = do("POST", "/up", io.MultiReader(bytes.NewReader(big)))
		require.Equal(t, string(big)+"|POST /up 4194304", got)
		_, got = do("POST", "/up", bytes.NewReader(big))
		require.Equal(t, string(big)+"|POST /up 4194304", got)
		_, got = do("GET", "/big", nil)
		require.Equal(t, string(big), got)
		_, got = do("GET", "/stream", nil)
		require.Equal(t, "line 0\nline 1\nline 2\n", got)
		resp, _ := do("GET", "/empty", nil)
		require.Equal(t, 204, resp.StatusCode)
		resp, _ = do("HEAD", "/big", nil)
		require.EqualValues(t, len(big), resp.ContentLength)
		resp, _ = do("GET", "/hints", nil)
		require.Equal(t, 200, resp.StatusCode)
	}
	require.Len(t, w.dialled(), 1, "one connection for all")
	require.Empty(t, w.records.all(), "what is allowed leaves no record")
	require.Greater(t, w.Stats().Received, int64(4*len(big)))
}

// TestStreamIsNotHeldBack: what a server sends is passed on at once, chunked or not.
func TestStreamIsNotHeldBack(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	next := make(chan bool)
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			rw.Header().Set("Content-Length", "6")
		}
		for range 3 {
			io.WriteString(rw, "x\n")
			rw.(http.Flusher).Flush()
			<-next
		}
	})
	client := w.httpClient("http", w.proxy())
	for _, path := range []string{"/chunked", "/length"} {
		resp, err := client.Get("http://www.test" + path)
		require.NoError(t, err)
		br := bufio.NewReader(resp.Body)
		for range 3 {
			line, err := br.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "x\n", line)
			next <- true
		}
		resp.Body.Close()
	}
}

// TestEachRequestIsJudged: a kept-alive connection does not carry a grant over to the next request.
func TestEachRequestIsJudged(t *testing.T) {
	w := newWorld(t, allow(t, "one.test", "two.test"), Limits{})
	var hits atomic.Int64
	serve := func(rw http.ResponseWriter, r *http.Request) { hits.Add(1); io.WriteString(rw, r.Host) }
	s := w.web("one.test", serve)
	w.host("two.test", 80, s.Listener.Addr())
	w.host("evil.test", 80, s.Listener.Addr())
	c := dialTest(t, w.proxy())
	br := bufio.NewReader(c)
	ask := func(host string) (*http.Response, string) {
		fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
		return readAnswer(t, br, "GET")
	}
	_, got := ask("one.test")
	require.Equal(t, "one.test", got)
	resp, got := ask("evil.test")
	require.Equal(t, 403, resp.StatusCode)
	require.Contains(t, got, "evil.test")
	_, got = ask("two.test")
	require.Equal(t, "two.test", got, "the connection goes on after a refusal")
	w.SetRules(allow(t, "two.test"))
	require.EqualValues(t, 2, hits.Load())

	// All three at once: pipelined requests are answered in turn, each by itself.
	c = dialTest(t, w.proxy())
	br = bufio.NewReader(c)
	var all strings.Builder
	for _, host := range []string{"two.test", "one.test", "two.test"} {
		fmt.Fprintf(&all, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	}
	io.WriteString(c, all.String())
	for _, want := range []int{200, 403, 200} {
		resp, _ := readAnswer(t, br, "GET")
		require.Equal(t, want, resp.StatusCode)
	}
}

// TestServerCloses: an answer that ends with the connection, an answer in HTTP/1.0, and a kept connection that the
// server closed in the meantime.
func TestServerCloses(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	ln := serveTCP(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		switch r.URL.Path {
		case "/end":
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nuntil the end")
		case "/old":
			io.WriteString(c, "HTTP/1.0 200 OK\nContent-Length: 3\n\nold")
		case "/nothing":
		case "/junk":
			io.WriteString(c, "220 smtp.test ESMTP\r\n")
		case "/two":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")
		case "/short":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabcd")
		default:
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nonce")
		}
	})
	w.host("www.test", 80, ln.Addr())
	client := w.httpClient("http", w.proxy())
	get := func(path string) (int, string, error) {
		resp, err := client.Get("http://www.test" + path)
		require.NoError(t, err, path)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b), err
	}
	for _, c := range []struct{ path, want string }{{"/end", "until the end"}, {"/old", "old"}, {"/", "once"}, {"/", "once"}, {"/", "once"}} {
		status, got, err := get(c.path)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Equal(t, c.want, got)
	}
	for _, path := range []string{"/nothing", "/junk", "/two"} {
		status, got, err := get(path)
		require.NoError(t, err)
		require.Equal(t, 502, status, path)
		require.Contains(t, got, "not of the sandbox")
	}
	_, _, err := get("/short")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a body that was cut must not look whole")
	require.Empty(t, w.records.all())
}

// TestServerAnswersEarly: a server that does not want the body answers before it has it.
func TestServerAnswersEarly(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	ln := serveTCP(t, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		io.Copy(io.Discard, c)
	})
	w.host("www.test", 80, ln.Addr())
	resp, got := w.raw(w.proxy(), "POST http://www.test/ HTTP/1.1\r\nHost: www.test\r\nContent-Length: 1000000\r\n\r\nbeginning")
	require.Equal(t, 413, resp.StatusCode)
	require.Equal(t, "no", got)
	eventually(t, "the exchange ends", func() bool { s := w.Stats(); return s.Clients == 0 && s.Upstreams == 0 })
}

// TestOldClient: HTTP/1.0 gets a body without chunks, and the end of the connection.
func TestOldClient(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, "in ")
		rw.(http.Flusher).Flush()
		io.WriteString(rw, "chunks")
	})
	resp, got := w.raw(w.proxy(), "GET http://www.test/ HTTP/1.0\r\n\r\n")
	require.Equal(t, "in chunks", got)
	require.Empty(t, resp.TransferEncoding)
}

// TestWebSocketUpgrade: an upgrade to web sockets becomes a tunnel; one to anything else is not passed on.
func TestWebSocketUpgrade(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	ln := serveTCP(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain")
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello")
		io.Copy(c, br)
	})
	w.host("www.test", 80, ln.Addr())
	proxy := w.proxy()
	c := dialTest(t, proxy)
	io.WriteString(c, "GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\nearly")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	require.Equal(t, "websocket", resp.Header.Get("Upgrade"))
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	rest, err := io.ReadAll(br)
	require.NoError(t, err)
	require.Equal(t, "helloearly", string(rest))

	_, got := w.raw(proxy, "GET http://www.test/ HTTP/1.1\r\nHost: www.test\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n")
	require.Equal(t, "plain", got)
}
