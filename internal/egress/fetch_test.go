package egress

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFetchUsesNoProxyOfTheHost: what the host's environment says about proxies is for the host's own programs. A client
// that reads it goes there.
func TestFetchUsesNoProxyOfTheHost(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "the host") })
	t.Setenv("HTTP_PROXY", "http://proxy.test:1")
	t.Setenv("http_proxy", "http://proxy.test:1")
	t.Setenv("NO_PROXY", "")
	f := Fetcher{Gateway: w.Gateway, Bytes: 1000}
	r, err := f.Fetch(t.Context(), Request{Method: "GET", URL: "http://www.test/"})
	require.NoError(t, err)
	require.Equal(t, "the host", string(r.Body))
	require.Equal(t, []string{"www.test " + public + ":80"}, w.dialled())
	taken, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "http", Host: "www.test"}})
	require.NoError(t, err)
	require.Equal(t, "proxy.test:1", taken.Host, "without our own dialler it is taken")
}

// TestFetchIsCut: rules that no longer allow a host end the calls that are under way there, and a cancelled one ends too.
// Eight at once leave no connection.
func TestFetchIsCut(t *testing.T) {
	w := newWorld(t, allow(t, "www.test"), Limits{})
	begun := make(chan bool, 16)
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(200)
		rw.(http.Flusher).Flush()
		begun <- true
		<-r.Context().Done()
	})
	f := Fetcher{Gateway: w.Gateway, Bytes: 1000}
	for _, end := range []func(context.CancelFunc){
		func(cancel context.CancelFunc) { cancel() },
		func(context.CancelFunc) { w.SetRules(nil) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if _, err := f.Fetch(ctx, Request{Method: "GET", URL: "http://www.test/"}); err == nil {
					t.Error("it has an answer")
				}
			})
		}
		for range 8 {
			<-begun
		}
		require.Equal(t, 8, w.Stats().Upstreams)
		end(cancel)
		calls.Wait()
		eventually(t, "nothing is open", func() bool { return w.Stats().Upstreams == 0 })
		cancel()
	}
	_, err := f.Fetch(t.Context(), Request{Method: "GET", URL: "http://www.test/"})
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
}
