package hostfuncs_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/gate"
	"sallyport/hostfuncs"
	"sallyport/policy"
)

// site is a server on loopback that says what it was asked.
type site struct {
	*httptest.Server
	asked atomic.Int64
	gone  chan struct{} // a client of /hang has left
	other string        // where /away leads
}

func newSite(t *testing.T, start func(http.Handler) *httptest.Server) *site {
	s := &site{gone: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q auth=%q x=%q lang=%q", r.Method, r.URL.Path, body, r.Header.Get("Authorization"), r.Header.Get("X-Own"),
			r.Header.Get("Accept-Language"))
	})
	mux.HandleFunc("/404", http.NotFound)
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, 1}) })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1001)) })
	mux.HandleFunc("/bomb", bomb)
	mux.HandleFunc("/drip", drip)
	mux.HandleFunc("/names", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["__proto__"], w.Header()["constructor"] = []string{"a"}, []string{"b"}
	})
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, s.other+"/there", http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		s.gone <- struct{}{}
	})
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		mux.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s
}

// bomb is 10 MB in 10 KB.
func bomb(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, 10<<20))
	_ = z.Close()
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(b.Bytes())
}

// drip sends packed pieces with nothing in them, for as long as somebody takes them.
func drip(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	_ = gzip.NewWriter(&b).Close()
	piece := bytes.Repeat(b.Bytes(), 1000)
	w.Header().Set("Content-Encoding", "gzip")
	for r.Context().Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

func (s *site) host(t *testing.T) string {
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return u.Host
}

// fetchOf makes the power for these hosts.
func fetchOf(t *testing.T, o hostfuncs.FetchOptions, hosts ...string) compartment.Power {
	t.Helper()
	p := policy.Policy{Network: policy.Network{AllowedDomains: hosts}}
	rules, err := p.Compile(policy.CompileOptions{})
	require.NoError(t, err)
	o.Rules = rules
	power, err := hostfuncs.Fetch(o)
	require.NoError(t, err)
	return power
}

// TestFetch: what an allowed host answers, whatever its status, is plain data; method, headers and body arrive (R253).
func TestFetch(t *testing.T) {
	s := newSite(t, httptest.NewServer)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		power := fetchOf(t, hostfuncs.FetchOptions{}, s.host(t))
		for _, r := range []struct{ source, want string }{
			{`const r = await fetch(BASE + "/a"); [r.status, r.ok, r.url === BASE + "/a", r.text]`, `[200,true,true,"GET /a \"\" auth=\"\" x=\"\" lang=\"\""]`},
			{`(await fetch(BASE + "/a", { method: "post", body: "hello", headers: { Authorization: "t", "X-Own": "é" } })).text`,
				`"POST /a \"hello\" auth=\"t\" x=\"é\" lang=\"\""`},
			{`(await fetch(BASE + "/a", { method: "PUT", body: new Uint8Array([104, 105]) })).text`, `"PUT /a \"hi\" auth=\"\" x=\"\" lang=\"\""`},
			{`const r = await fetch(BASE + "/404"); [r.status, r.ok]`, `[404,false]`},
			{`const r = await fetch(BASE + "/a", { method: "HEAD" }); [r.status, r.text]`, `[200,""]`},
			{`const r = await fetch(BASE + "/bytes"); [r.text === undefined, Array.from(r.bytes)]`, `[true,[255,0,1]]`},
			{`(await fetch(BASE + "/a")).headers["content-type"]`, `"text/plain; charset=utf-8"`},
			{`const h = (await fetch(BASE + "/names")).headers; [Object.getPrototypeOf(h) === Object.prototype || Object.getPrototypeOf(h) === null, Object.getOwnPropertyDescriptor(h, "__proto__").value, h.constructor]`, `[true,"a","b"]`},
			{`typeof (await fetch(BASE + "/a#secret")).text`, `"string"`},
		} {
			c := open(t, e, compartment.Limits{}, power)
			require.JSONEq(t, r.want, data(t, c, strings.ReplaceAll(r.source, "BASE", fmt.Sprintf("%q", s.URL))), r.source)
		}
	})
}

// TestFetchIsRefused: what is not on the list is not reached, by any spelling or redirect, and the refusal says which host
// and what would allow it. A guest that was let in reaches the same server (both arms).
func TestFetchIsRefused(t *testing.T) {
	allowed, other := newSite(t, httptest.NewServer), newSite(t, httptest.NewServer)
	allowed.other, other.other = other.URL, allowed.URL
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{}, allowed.host(t), "public.test"))
		_, port, _ := strings.Cut(other.host(t), ":")
		before := other.asked.Load()
		for _, r := range []struct{ source, code, text string }{
			{`fetch("` + other.URL + `")`, "blocked_by_allowlist", other.host(t)},
			{`fetch("http://0x7f.1:` + port + `/")`, "blocked_by_allowlist", "127.0.0.1:" + port},
			{`fetch("http://2130706433:` + port + `/")`, "blocked_by_allowlist", "127.0.0.1:" + port},
			{`fetch("http://[::ffff:127.0.0.1]:` + port + `/")`, "blocked_by_allowlist", port},
			{`fetch("http://localhost:` + port + `/")`, "blocked_by_allowlist", "localhost:" + port},
			{`fetch("http://169.254.169.254/latest/meta-data/")`, "blocked_by_allowlist", "169.254.169.254:80"},
			{`fetch("` + allowed.URL + `/away")`, "blocked_by_allowlist", other.host(t)},
		} {
			code, text := refused(t, c, r.source)
			require.Equal(t, r.code, code, r.source)
			require.Contains(t, text, r.text)
			require.Contains(t, text, "policy, not a fault")
		}
		require.Equal(t, before, other.asked.Load(), "it was reached")
		both := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{}, allowed.host(t), other.host(t)))
		require.Contains(t, data(t, both, `(await fetch("`+allowed.URL+`/away")).text`), "GET /there")
		require.Equal(t, before+1, other.asked.Load())
	})
}

type resolver func(host string) []netip.Addr

func (r resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if a := r(host); a != nil {
		return a, nil
	}
	return nil, errors.New("no such name in this test")
}

// TestFetchChecksAddresses: an allowed name that leads to an address of the host is refused, unless that address is
// granted too; what is dialled is what was checked, though the name leads elsewhere the next moment.
func TestFetchChecksAddresses(t *testing.T) {
	s := newSite(t, httptest.NewServer)
	_, port, _ := strings.Cut(s.host(t), ":")
	var asked atomic.Int64
	local := resolver(func(host string) []netip.Addr {
		if host != "api.test." {
			return nil
		}
		asked.Add(1)
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		o := hostfuncs.FetchOptions{Resolver: local}
		c := open(t, e, compartment.Limits{}, fetchOf(t, o, "api.test"))
		before := s.asked.Load()
		code, text := refused(t, c, `fetch("http://api.test:`+port+`/")`)
		require.Equal(t, "blocked_by_sandbox_runtime", code)
		require.Contains(t, text, "a loopback address")
		require.Equal(t, before, s.asked.Load())
		asked.Store(0)
		granted := open(t, e, compartment.Limits{}, fetchOf(t, o, "api.test", "127.0.0.1:"+port))
		require.Equal(t, `200`, data(t, granted, `(await fetch("http://api.test:`+port+`/")).status`))
		require.Equal(t, int64(1), asked.Load(), "resolved once")
	})
}

// TestFetchRequests: a request that could be read in two ways, or is none, is refused before anything is sent.
func TestFetchRequests(t *testing.T) {
	s := newSite(t, httptest.NewServer)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{RequestBytes: 100}, s.host(t)))
		before := s.asked.Load()
		for _, r := range []struct{ arguments, code string }{
			{`"ftp://example.com/"`, "bad_request"}, {`"file:///etc/passwd"`, "bad_request"}, {`"http://"`, "bad_request"},
			{`"http:example.com"`, "bad_request"}, {`"//example.com"`, "bad_request"}, {`"http://u:p@" + HOST`, "bad_request"},
			{`"http://" + HOST + "/\n"`, "bad_request"}, {`"http://" + HOST + ":99999/"`, "bad_request"},
			{`BASE, { method: "CONNECT" }`, "bad_request"}, {`BASE, { method: "TRACE" }`, "bad_request"}, {`BASE, { method: "G T" }`, "bad_request"},
			{`BASE, { body: "x" }`, "bad_request"},
			{`BASE, { headers: { Host: "other" } }`, "bad_request"}, {`BASE, { headers: { "Content-Length": "1" } }`, "bad_request"},
			{`BASE, { headers: { "transfer-encoding": "chunked" } }`, "bad_request"}, {`BASE, { headers: { "Proxy-Authorization": "x" } }`, "bad_request"},
			{`BASE, { headers: { "X-A": "a\r\nX-B: b" } }`, "bad_request"}, {`BASE, { headers: { "X A": "a" } }`, "bad_request"},
			{`BASE, { headers: { "": "a" } }`, "bad_request"}, {`BASE, { headers: { A: 1 } }`, "bad_request"},
			{`BASE, { headers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => ["x" + i, ""])) }`, "bad_request"},
			{`BASE, { headers: { A: "x".repeat(20000) } }`, "bad_request"},
			{`BASE, { method: "POST", body: "x".repeat(101) }`, "arguments"}, {`BASE, { credentials: "include" }`, "arguments"},
			{`{ toString: () => BASE }`, "arguments"}, {``, "arguments"},
		} {
			source := "fetch(" + strings.ReplaceAll(strings.ReplaceAll(r.arguments, "BASE", fmt.Sprintf("%q", s.URL)), "HOST", fmt.Sprintf("%q", s.host(t))) + ")"
			code, text := refused(t, c, source)
			require.Equal(t, r.code, code, "%s: %s", source, text)
		}
		require.Equal(t, before, s.asked.Load(), "something was sent")
	})
}

// TestFetchAnswers: an answer that is too long, packed or not, redirects without end, and one that leads to a file are
// refused; nothing is cut.
func TestFetchAnswers(t *testing.T) {
	s := newSite(t, httptest.NewServer)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{ResponseBytes: 1000, Redirects: 3}, s.host(t)))
		for path, want := range map[string]string{"/long": "too_large", "/bomb": "too_large", "/drip": "too_large", "/round": "redirect_refused", "/file": "unreachable"} {
			code, text := refused(t, c, `fetch("`+s.URL+path+`")`)
			require.Equal(t, want, code, "%s: %s", path, text)
			require.NotContains(t, text, "passwd")
		}
		none := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{Redirects: -1}, s.host(t)))
		code, _ := refused(t, none, `fetch("`+s.URL+`/round")`)
		require.Equal(t, "redirect_refused", code)
	})
}

// TestFetchKeepsCredentials: a redirect to another origin takes no header along that could be a credential, neither at once nor
// after one more that stays there or leads back; one to the same origin takes all.
func TestFetchKeepsCredentials(t *testing.T) {
	a, b := newSite(t, httptest.NewServer), newSite(t, httptest.NewServer)
	a.other, b.other = b.URL, b.URL
	back := newSite(t, httptest.NewServer)
	back.other = a.URL + "/away?"
	a2 := newSite(t, httptest.NewServer)
	a2.other = b.URL + "/away?"
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{}, a.host(t), b.host(t), a2.host(t), back.host(t)))
		source := `(await fetch("%s/away", { headers: { Authorization: "secret", "X-Own": "secret", "Accept-Language": "kept" } })).text`
		for _, from := range []*site{a, a2, back} {
			require.JSONEq(t, `"GET /there \"\" auth=\"\" x=\"\" lang=\"kept\""`, data(t, c, fmt.Sprintf(source, from.URL)))
		}
		require.JSONEq(t, `"GET /there \"\" auth=\"secret\" x=\"secret\" lang=\"kept\""`, data(t, c, fmt.Sprintf(source, b.URL)))
	})
}

// TestFetchTLS: a server's certificate is verified for the name that was asked for, and https does not lead to http.
func TestFetchTLS(t *testing.T) {
	s, unencrypted := newSite(t, httptest.NewTLSServer), newSite(t, httptest.NewServer)
	s.other = unencrypted.URL
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	_, port, _ := strings.Cut(s.host(t), ":")
	here := resolver(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		hosts := []string{s.host(t), unencrypted.host(t), "example.com", "other.test"}
		trusted := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{Roots: roots, Resolver: here}, hosts...))
		require.Equal(t, "200", data(t, trusted, `(await fetch("https://example.com:`+port+`/")).status`))
		for url, want := range map[string]string{
			"https://other.test:" + port + "/":     "its certificate is not trusted",
			"https://" + unencrypted.host(t) + "/": "it does not speak TLS",
			"https://" + s.host(t) + "/away":       "led from https to http",
		} {
			_, text := refused(t, trusted, `fetch("`+url+`")`)
			require.Contains(t, text, want, url)
		}
		system := open(t, e, compartment.Limits{}, fetchOf(t, hostfuncs.FetchOptions{Resolver: here}, hosts...))
		_, text := refused(t, system, `fetch("https://example.com:`+port+`/")`)
		require.Contains(t, text, "its certificate is not trusted")
	})
}

// TestFetchEnds: the end of the evaluation ends a request, and the server sees it; the outcome says that what became of it
// is not known (R259).
func TestFetchEnds(t *testing.T) {
	s := newSite(t, httptest.NewServer)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		c := open(t, e, compartment.Limits{Time: 300 * time.Millisecond}, fetchOf(t, hostfuncs.FetchOptions{}, s.host(t)))
		o := run(t, c, `await fetch("`+s.URL+`/hang")`)
		require.NotEqual(t, compartment.StatusOK, o.Status)
		select {
		case <-s.gone:
		case <-time.After(10 * time.Second):
			t.Fatal("the server still has the connection")
		}
	})
}

// TestFetchGated: a gate is asked with the URL before anything is resolved or dialled (R175, R180).
func TestFetchGated(t *testing.T) {
	s := newSite(t, httptest.NewServer)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		var asked []string
		no := func(_ context.Context, c gate.Call) (gate.Verdict, error) {
			asked = append(asked, c.Tool+" "+string(c.Args))
			return gate.Verdict{Note: "not today"}, nil
		}
		before := s.asked.Load()
		c := open(t, e, compartment.Limits{}, hostfuncs.Gated(fetchOf(t, hostfuncs.FetchOptions{}, s.host(t)), no, hostfuncs.Scope{}))
		code, text := refused(t, c, `fetch("`+s.URL+`")`)
		require.Equal(t, "gate_refused", code)
		require.Contains(t, text, "not today")
		require.Equal(t, []string{`fetch {"url":"` + s.URL + `"}`}, asked)
		require.Equal(t, before, s.asked.Load())
	})
}

// TestFetchReachesNothing: without rules nothing is reached.
func TestFetchReachesNothing(t *testing.T) {
	power, err := hostfuncs.Fetch(hostfuncs.FetchOptions{})
	require.NoError(t, err)
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		code, _ := refused(t, open(t, e, compartment.Limits{}, power), `fetch("http://example.com/")`)
		require.Equal(t, "blocked_by_allowlist", code)
	})
}
