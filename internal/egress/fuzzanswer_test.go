package egress

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAnswer feeds what a hostile host answers. The oracle: whatever it says, the client takes nothing of it for the answer
// of the other host, to which its next request on the same connection goes.
func FuzzAnswer(f *testing.F) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, s := range []string{
		ok + "Content-Length: 2\r\n\r\nok", ok + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", ok + "\r\nrest",
		ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n2;x\nok\n0\nTrailer: y\n\n", ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
		ok + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ok + "Connection: content-length\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.0 200 OK\r\n\r\nrest",
		"HTTP/1.1 204 No\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 304 No\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 2\r\n\r\nok",
		"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", ok + "Content-Length: 1\r\n folded\r\n\r\nx",
		ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", ok + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", ok + "Content-Length: +2\r\n\r\nok", ok + "X: a\rb\r\nContent-Length: 0\r\n\r\n",
		ok + "Content-Length : 2\r\n\r\nok", "HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
	} {
		for kind := range byte(4) {
			f.Add([]byte(s), kind)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, kind byte) {
		method, version := "GET", "1.1"
		if kind&1 != 0 {
			method = "HEAD"
		}
		if kind&2 != 0 {
			version = "1.0"
		}
		w := newFuzzed(t)
		w.dialAddress = func(_ context.Context, d target, _ netip.AddrPort) (net.Conn, error) {
			in := []byte("HTTP/1.1 200 OK\r\nX-Host: good\r\nContent-Length: 4\r\n\r\ngood")
			if d.host != "good.test" {
				in = bytes.Clone(data)
			}
			return &scriptConn{in: in}, nil
		}
		got := w.serve([]byte(method + " http://a.good.test/ HTTP/" + version + "\r\nHost: a.good.test\r\n\r\nGET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n"))
		br := bufio.NewReader(bytes.NewReader(got))
		for {
			r, err := http.ReadResponse(br, &http.Request{Method: method})
			if err != nil {
				return
			}
			if r.StatusCode >= 200 {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.ContentLength < 0 && len(r.TransferEncoding) == 0 {
					return // the connection ends with it
				}
				require.False(t, r.Close && br.Buffered() > 0, "%q after %q", body, got)
				break
			}
		}
		r, err := http.ReadResponse(br, &http.Request{Method: "GET"})
		if err != nil {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Zero(t, br.Buffered(), "%q", got)
			return
		}
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, "good", string(body), "%q", got)
		require.Equal(t, "good", r.Header.Get("X-Host"))
		require.Zero(t, br.Buffered())
	})
}
