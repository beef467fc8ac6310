package hostfuncs

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"sallyport/compartment"
	"sallyport/internal/egress"
	"sallyport/policy"
)

// FetchOptions say what fetch may reach and how much of it. The zero value reaches nothing.
type FetchOptions struct {
	// Rules decide about hosts, by the network section of the policy that they were compiled from. Nil reaches nothing.
	Rules *policy.Rules
	// ResponseBytes is how long the body of an answer may be, unpacked; zero stands for 900,000, which is what crosses in one
	// call. A longer one is refused and never cut.
	ResponseBytes int
	// RequestBytes bounds the body of a request; zero stands for 256 KiB.
	RequestBytes int
	// Redirects is how many are followed in one call, each judged as if it had been asked for; zero stands for 5, a negative
	// number for none.
	Redirects int
	// Roots are the authorities that a server's certificate may be from; nil stands for those of the system.
	Roots *x509.CertPool
	// Resolver finds the addresses of a name; nil stands for the host's.
	Resolver interface {
		LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	}
}

const (
	fetchResponseBytes = 900_000
	fetchRequestBytes  = 256 << 10
	fetchRedirects     = 5
	fetchHeadBytes     = 100_000 // of an answer's headers and the frame around it, besides its body
	fetchFrameBytes    = 20_000  // of them for the frame, in which the URL is
	fetchHeaderCost    = 64      // of one header besides its text
)

func (o FetchOptions) withDefaults() FetchOptions {
	or := func(n *int, standard int) {
		if *n == 0 {
			*n = standard
		}
		*n = max(*n, 0)
	}
	or(&o.ResponseBytes, fetchResponseBytes)
	or(&o.RequestBytes, fetchRequestBytes)
	or(&o.Redirects, fetchRedirects)
	return o
}

// Fetch is the power fetch(url, options): one HTTP request, judged and dialled as a connection of a confined process is: by
// the host's name, which is resolved once, with every address checked, and only what was checked is dialled. options are
// method, headers (an object of strings) and body (a string or bytes). What comes back is plain data, and text is a string
// and no function:
//
//	{ status: 200, ok: true, url, headers: { "content-type": "text/plain" }, text: "…" }
//
// A body that is no UTF-8 comes as bytes (a Uint8Array) instead of text. A status of 404 is an answer and no error. What
// is not allowed is a refusal that the guest can catch: the codes are those of the proxy of a confined process ("blocked_by_allowlist",
// "blocked_by_denylist", "blocked_by_sandbox_runtime"), and "bad_request", "too_large", "redirect_refused" and
// "unreachable" besides. Redirects are followed up to a number, each to a host that is judged anew; to
// another origin go only headers that cannot be credentials, such as Accept and Content-Type, and the body where the
// status says so (307 and 308); https does not lead to http.
//
// A call uses its own connections, and they end with it. There are no cookies and no cache. It is not gated by itself: see
// Gated. It fails only when a policy that reaches nothing cannot be made.
func Fetch(o FetchOptions) (compartment.Power, error) {
	o = o.withDefaults()
	gateway, err := egress.New(egress.Config{Rules: o.Rules, Resolver: o.Resolver})
	if err != nil {
		return compartment.Power{}, fmt.Errorf("make the power fetch: %w", err)
	}
	f := &egress.Fetcher{Gateway: gateway, Roots: o.Roots, Redirects: o.Redirects, Bytes: int64(o.ResponseBytes)}
	text := []compartment.Type{compartment.TypeString}
	return compartment.Power{
		Name:    "fetch",
		Summary: "Makes one HTTP request to an allowed host. text is a string, not a function.",
		TypeScript: "fetch(url: string, options?: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array }): " +
			"Promise<{ status: number; ok: boolean; url: string; headers: Record<string, string>; text?: string; bytes?: Uint8Array }>",
		Params: []compartment.Param{
			{Name: "url", Types: text, MaxBytes: 8 << 10},
			{Name: "options", Types: []compartment.Type{compartment.TypeObject}, Optional: true, Fields: []compartment.Param{
				{Name: "method", Types: text, Optional: true, MaxBytes: 16},
				{Name: "headers", Types: []compartment.Type{compartment.TypeObject}, Optional: true},
				{Name: "body", Types: []compartment.Type{compartment.TypeString, compartment.TypeBytes}, Optional: true, MaxBytes: o.RequestBytes},
			}},
		},
		Returns: compartment.Param{Types: []compartment.Type{compartment.TypeObject}},
		Limits:  compartment.PowerLimits{ArgBytes: o.RequestBytes + fetchHeadBytes, ResultBytes: o.ResponseBytes + fetchHeadBytes},
		// What the server did when the evaluation was stopped in the middle is not known.
		OnCancel: compartment.CancelUnknown,
		Do: func(ctx context.Context, c *compartment.Call) (compartment.Value, error) {
			r, err := fetchRequest(c)
			if err != nil {
				return compartment.Value{}, err
			}
			answer, err := f.Fetch(ctx, r)
			if err != nil {
				return compartment.Value{}, fetchRefusal(ctx, err)
			}
			return fetchAnswer(answer)
		},
	}, nil
}

// fetchRequest reads the copied arguments.
func fetchRequest(c *compartment.Call) (egress.Request, error) {
	r := egress.Request{Method: "GET"}
	r.URL, _ = c.Arg(0).AsString()
	options := c.Arg(1)
	if method, ok := stringOf(options, "method"); ok {
		r.Method = method
	}
	if body, ok := options.Get("body"); ok {
		if text, isText := body.AsString(); isText {
			r.Body = []byte(text)
		} else {
			r.Body, _ = body.AsBytes()
		}
	}
	headers, _ := options.Get("headers")
	for i := range headers.Len() {
		name := headers.Key(i)
		value, ok := headers.Item(i).AsString()
		if !ok {
			return r, compartment.Refuse("bad_request", fmt.Sprintf("fetch: the value of its header %.100q is no string", name))
		}
		r.Headers = append(r.Headers, [2]string{name, value})
	}
	return r, nil
}

func stringOf(v compartment.Value, field string) (string, bool) {
	f, ok := v.Get(field)
	if !ok {
		return "", false
	}
	return f.AsString()
}

// fetchAnswer makes plain data of an answer. Its headers may grow when they become text; what a server sends is refused
// then, and is no fault of the host's.
func fetchAnswer(a *egress.Response) (compartment.Value, error) {
	var headers []compartment.Field
	size := 0
	for _, h := range a.Headers {
		value := toUTF8(h[1])
		if size += len(h[0]) + len(value) + fetchHeaderCost; size > fetchHeadBytes-fetchFrameBytes {
			return compartment.Value{}, compartment.Refuse("too_large", "fetch: the answer has more headers than it may have")
		}
		headers = append(headers, compartment.Field{Name: h[0], Value: compartment.OfString(value)})
	}
	body := compartment.Field{Name: "text", Value: compartment.OfString(string(a.Body))}
	if !utf8.Valid(a.Body) {
		body = compartment.Field{Name: "bytes", Value: compartment.OfBytes(a.Body)}
	}
	return compartment.OfObject(
		compartment.Field{Name: "status", Value: compartment.OfInt(int64(a.Status))},
		compartment.Field{Name: "ok", Value: compartment.OfBool(a.Status >= 200 && a.Status < 300)},
		compartment.Field{Name: "url", Value: compartment.OfString(a.URL)},
		compartment.Field{Name: "headers", Value: compartment.OfObject(headers...)},
		body,
	), nil
}

// toUTF8 reads a header's bytes as Latin-1 where they are no UTF-8, as browsers do.
func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// fetchRefusal words what went wrong for the guest. The texts name the host that was asked for, and nothing of ours.
func fetchRefusal(ctx context.Context, err error) error {
	refuse := func(code, text string) error {
		return &compartment.Refusal{Code: code, Text: "fetch: " + text, Err: err}
	}
	var refusal *egress.Refusal
	var failure *egress.Failure
	var request *egress.RequestError
	switch {
	case errors.As(err, &refusal):
		return refuse(strings.ReplaceAll(refusal.Code, "-", "_"), refusal.Reason+"; "+refusal.Remedy+"; this is policy, not a fault")
	case errors.As(err, &request):
		return refuse("bad_request", request.Error())
	case errors.Is(err, egress.ErrTooLong):
		return refuse("too_large", err.Error())
	case errors.Is(err, egress.ErrRedirects), errors.Is(err, egress.ErrNoDowngrade):
		return refuse("redirect_refused", err.Error())
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failure):
		return refuse("unreachable", failure.Error())
	}
	return refuse("unreachable", "the server did not answer as it should: "+egress.Shown(err))
}
