package hostfuncs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/hostfuncs"
)

// TestFetchForgetsCredentials: once a redirect left the origin, no later hop has a header that could be a secret, whatever
// its name; a server that sends a request on to itself does not get it back (both arms: without leaving, all arrive).
func TestFetchForgetsCredentials(t *testing.T) {
	seen := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s|%s|%s|%s", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("Private-Token"), r.Header.Get("Accept"))
	}
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "/second", http.StatusFound)
			return
		}
		seen(w, r)
	}))
	defer b.Close()
	a := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/own":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/here":
			seen(w, r)
		default:
			http.Redirect(w, r, b.URL+r.URL.Path, http.StatusFound)
		}
	}))
	defer a.Close()
	const headers = `{ headers: { Authorization: "s1", "X-Api-Key": "s2", "Private-Token": "s3", Accept: "text/plain" } }`
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{}, a.Listener.Addr().String(), b.Listener.Addr().String()))
		for path, want := range map[string]string{"/own": "s1|s2|s3|text/plain", "/direct": "|||text/plain", "/first": "|||text/plain"} {
			require.Equal(t, fmt.Sprintf("%q", want), data(t, c, fmt.Sprintf(`(await fetch(%q, %s)).text`, a.URL+path, headers)), path)
		}
	})
}

// TestFetchLeavesNothing: when an evaluation has ended, so has what its request was doing: a look-up, and a connection
// whose server says nothing.
func TestFetchLeavesNothing(t *testing.T) {
	ended := make(chan struct{})
	slow := waiting{ended}
	mute := httptest.NewUnstartedServer(nil).Listener
	defer mute.Close()
	gone := make(chan error)
	go func() {
		for {
			c, err := mute.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
				for b := make([]byte, 4096); ; {
					if _, err := c.Read(b); err != nil {
						gone <- err
						return
					}
				}
			}()
		}
	}()
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		limits := compartment.Limits{Time: 300 * time.Millisecond}
		c := open(t, e, limits, fetchOf(t, hostfuncs.FetchOptions{Resolver: slow}, "slow.test"))
		require.NotEqual(t, compartment.StatusOK, run(t, c, `await fetch("http://slow.test/")`).Status)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("the name is still being looked up")
		}
		c = open(t, e, limits, fetchOf(t, hostfuncs.FetchOptions{}, mute.Addr().String()))
		require.NotEqual(t, compartment.StatusOK, run(t, c, `await fetch("https://`+mute.Addr().String()+`/")`).Status)
		err := <-gone
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the connection is still there")
	})
}

// waiting is a resolver that finds nothing until it is told to stop.
type waiting struct{ ended chan struct{} }

func (w waiting) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	w.ended <- struct{}{}
	return nil, ctx.Err()
}

// TestFetchHostileHeaders: the headers of an answer are data under any name, and too many are a refusal and no fault of
// the host's.
func TestFetchHostileHeaders(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/far" {
			http.Redirect(w, r, "/many?"+strings.Repeat("x", 30<<10), http.StatusFound)
			return
		}
		if r.URL.Path == "/many" {
			w.Header().Set("X-Many", strings.Repeat("\xff", 60<<10))
			fmt.Fprint(w, strings.Repeat("x", 890_000))
			return
		}
		h := w.Header()
		h["__proto__"], h["constructor"], h["Then"] = []string{"evil"}, []string{"c"}, []string{"t"}
		h["X-Bytes"] = []string{"\xe9"}
	}))
	defer s.Close()
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{}, s.Listener.Addr().String()))
		require.Equal(t, `["evil","c","t","é",true,"undefined"]`, data(t, c, fmt.Sprintf(`
			const h = (await fetch(%q)).headers;
			[Object.getOwnPropertyDescriptor(h, "__proto__").value, h.constructor, h.then, h["x-bytes"], Object.getPrototypeOf(h) === Object.prototype, typeof ({}).evil]`, s.URL)))
		code, _ := refused(t, c, fmt.Sprintf(`fetch(%q)`, s.URL+"/many"))
		require.Equal(t, "too_large", code)
		code, _ = refused(t, c, fmt.Sprintf(`fetch(%q)`, s.URL+"/far"))
		require.Equal(t, "unreachable", code, "a URL that no program may ask for")
	})
}
