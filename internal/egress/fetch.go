package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sallyport/policy"
)

// A Fetcher makes HTTP requests for code that has no sockets of its own. Each connection it needs, that of a redirect too, is
// judged and dialled by its gateway, and is used for one request.
type Fetcher struct {
	Gateway *Gateway
	// Roots are the authorities that a server's certificate may be from; nil stands for those of the system.
	Roots *x509.CertPool
	// Redirects is how many are followed; one more is an error.
	Redirects int
	// Bytes is how long the body of an answer may be, unpacked. A longer one is an error, and nothing is cut.
	Bytes int64
}

// Request is one request. Its fields are as the code gave them.
type Request struct {
	Method, URL string
	Headers     [][2]string
	Body        []byte
}

// Response is the answer to it.
type Response struct {
	Status  int
	URL     string // the last one, after redirects
	Headers [][2]string
	Body    []byte
}

// RequestError says what is wrong with a request, before anything was sent.
type RequestError struct{ What string }

// Error is what is wrong, as a clause.
func (e *RequestError) Error() string { return e.What }

// Errors of an answer. The first is met before anything of the body is handed on.
var (
	ErrTooLong      = errors.New("the answer is longer than it may be")
	ErrRedirects    = errors.New("too many redirects")
	ErrNoDowngrade  = errors.New("a redirect led from https to http")
	errNotForwarded = errors.New("a redirect led to a URL that cannot be fetched")
)

// methods that a request may have. CONNECT and TRACE are for proxies.
var fetchMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// ownHeaders are those that say how a request is carried, and belong to who carries it; a request that sets one could be
// read in two ways on its way. So do those that begin with ownPrefixes.
var (
	ownHeaders = []string{"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive",
		"expect", "accept-encoding", "via", "forwarded", "http2-settings"}
	ownPrefixes = []string{"proxy-", "sec-", "x-forwarded-"}
)

// The bounds of a request's head.
const (
	maxFetchHeaders   = 64
	maxFetchHeadBytes = 16 << 10
	maxFetchURL       = 8 << 10
)

// Fetch makes one request. Its errors are a *RequestError, a *Refusal (recorded by the gateway), a *Failure, ErrTooLong,
// ErrRedirects, ErrNoDowngrade, the context's, or what the server did wrong.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (*Response, error) {
	req, err := r.build(ctx)
	if err != nil {
		return nil, err
	}
	call := &fetchCall{Fetcher: f, left: wireTimes*f.Bytes + wireSlack}
	transport := &http.Transport{
		DialContext:            call.dial,
		TLSClientConfig:        &tls.Config{RootCAs: f.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true, // nothing outlives its call
		MaxResponseHeaderBytes: int64(f.Gateway.limits.HeadBytes),
		TLSHandshakeTimeout:    f.Gateway.limits.Head,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: f.follow}
	answer, err := client.Do(req)
	if err != nil {
		return nil, call.plain(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, f.Bytes+1))
	switch {
	case int64(len(body)) > f.Bytes:
		return nil, ErrTooLong
	case err != nil:
		return nil, call.plain(err)
	}
	return &Response{Status: answer.StatusCode, URL: answer.Request.URL.String(), Headers: flat(answer.Header), Body: body}, nil
}

// What may come in for one call: the bytes of a body, small chunks and records around them, and heads. It ends what
// would go on without adding to the body, as empty gzip members do.
const (
	wireTimes = 4
	wireSlack = 1 << 20 // bytes
)

// fetchCall is one call, with the redirects of it.
type fetchCall struct {
	*Fetcher
	mu   sync.Mutex
	left int64 // bytes that may still come in
}

// metered is a connection of a call.
type metered struct {
	*Upstream
	call *fetchCall
}

// Read refuses with ErrTooLong when the call has had all its bytes.
func (m metered) Read(b []byte) (int, error) {
	if m.call.take(0) {
		return 0, ErrTooLong
	}
	n, err := m.Upstream.Read(b)
	m.call.take(n)
	return n, err
}

// take takes bytes off what may come in, and says whether nothing is left.
func (c *fetchCall) take(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= int64(n)
	return c.left <= 0
}

// plain is plain for an error of the call: how a library words the end of a connection is not known.
func (c *fetchCall) plain(err error) error {
	if c.take(0) {
		return ErrTooLong
	}
	return plain(err)
}

// dial is how the transport comes to a connection, whatever it wants one for.
func (f *fetchCall) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &RequestError{"its URL has no host"}
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return nil, &RequestError{"its URL has no such port: " + quoted(number)}
	}
	u, err := f.Gateway.dial(ctx, host, int(port))
	var refusal *Refusal
	if errors.As(err, &refusal) {
		f.Gateway.refuse(refusal, "refused")
	}
	if err != nil {
		return nil, err
	}
	return metered{u, f}, nil
}

// follow decides about a redirect. The request that it is handed is the next one; where it goes is judged when it is dialled.
func (f *Fetcher) follow(next *http.Request, before []*http.Request) error {
	last := before[len(before)-1].URL
	switch {
	case len(before) > f.Redirects:
		return ErrRedirects
	case checkURL(next.URL) != nil || len(next.URL.String()) > maxFetchURL:
		return errNotForwarded
	case last.Scheme == "https" && next.URL.Scheme != "https":
		return ErrNoDowngrade
	}
	next.Header.Del("Referer") // it may carry a secret of the URL before
	// The client puts all headers of the first request into each one after it. So the origin that counts is the first, and
	// who has left it once has left it.
	left := func(r *http.Request) bool { return !sameOrigin(before[0].URL, r.URL) }
	if left(next) || slices.ContainsFunc(before, left) {
		for h := range next.Header {
			if !slices.Contains(harmlessHeaders, h) {
				next.Header.Del(h)
			}
		}
	}
	return nil
}

// harmlessHeaders go along to another origin; every other one could be a credential, whatever its name is.
var harmlessHeaders = []string{"Accept", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Language", "Content-Type",
	"If-Modified-Since", "If-None-Match", "If-Range", "Pragma", "Range", "User-Agent"}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Host == b.Host
}

// build makes the request, or says what is wrong with it.
func (r Request) build(ctx context.Context) (*http.Request, error) {
	wrong := func(format string, args ...any) (*http.Request, error) {
		return nil, &RequestError{fmt.Sprintf(format, args...)}
	}
	method := strings.ToUpper(r.Method)
	if !slices.Contains(fetchMethods, method) {
		return wrong("its method %s is none of %s", quoted(r.Method), strings.Join(fetchMethods, ", "))
	}
	if len(r.URL) > maxFetchURL {
		return wrong("its URL is longer than %d bytes", maxFetchURL)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return wrong("its URL %s cannot be read", quoted(r.URL))
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	if len(r.Body) > 0 && (method == "GET" || method == "HEAD") {
		return wrong("a %s request has no body", method)
	}
	var body io.Reader
	if len(r.Body) > 0 {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return wrong("its URL %s cannot be read", quoted(r.URL))
	}
	return req, r.addHeaders(req.Header)
}

// checkURL looks at a URL and gives its host the spelling in which it is judged: the client maps what is not ASCII in one
// way where it dials and in another where it says whom it asks.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &RequestError{"its URL must begin with http:// or https://"}
	case u.Hostname() == "" || u.Opaque != "":
		return &RequestError{"its URL has no host"}
	case u.User != nil:
		return &RequestError{"its URL holds a user name; put it into a header"}
	}
	host, err := policy.CanonicalHost(u.Hostname())
	if err != nil {
		return &RequestError{"the host of its URL is none: " + err.Error()}
	}
	usual := map[string]int{"http": 80, "https": 443}[u.Scheme]
	port := usual
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return &RequestError{"its URL has no such port: " + quoted(text)}
		}
		port = int(n)
	}
	u.Host = joinHostPort(host, port)
	if port == usual {
		u.Host = strings.TrimSuffix(u.Host, ":"+itoa(port))
	}
	return nil
}

func (r Request) addHeaders(to http.Header) error {
	size := 0
	for _, h := range r.Headers {
		name := strings.ToLower(h[0])
		size += len(h[0]) + len(h[1])
		switch {
		case len(r.Headers) > maxFetchHeaders || size > maxFetchHeadBytes:
			return &RequestError{fmt.Sprintf("it has more than %d headers or %d bytes of them", maxFetchHeaders, maxFetchHeadBytes)}
		case !isToken(h[0]) || strings.ContainsFunc(h[1], isControl):
			return &RequestError{"its header " + quoted(h[0]) + " has a character that no header may have"}
		case slices.Contains(ownHeaders, name) || slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
			return &RequestError{"its header " + quoted(h[0]) + " is not for a program to set"}
		}
		to.Add(h[0], h[1])
	}
	return nil
}

// plain takes the wrapping of the client away, which repeats the URL, and with it what a program put there.
func plain(err error) error {
	var refusal *Refusal
	var failed *Failure
	var request *RequestError
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &request):
		return request
	}
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// flat gives headers in the order of their names.
func flat(h http.Header) [][2]string {
	var all [][2]string
	for name, values := range h {
		all = append(all, [2]string{strings.ToLower(name), strings.Join(values, ", ")})
	}
	slices.SortFunc(all, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return all
}

// Shown says in a few words what a server did wrong. The words of the libraries beneath are for the host: they may name
// addresses of its own.
func Shown(err error) string {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.Is(err, errNotForwarded):
		return errNotForwarded.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended too early"
	case isTimeout(err):
		return "it took too long"
	}
	return "its answer could not be read"
}
