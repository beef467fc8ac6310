package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sallyport/policy"
)

// request is a request to the proxy, read in the one way it can be read.
type request struct {
	head
	method  string
	minor   int    // of HTTP/1.x
	host    string // as it was sent; judged in its canonical spelling
	port    int
	path    string // of an absolute form, what the server is asked for
	framing framing
	upgrade bool // to a web socket
	close   bool // the client wants no other request after it
}

// framing says where a body ends.
type framing struct {
	chunked bool
	length  int64 // -1 for until the connection ends; 0 without a body
}

func (f framing) empty() bool { return !f.chunked && f.length == 0 }

func (r *request) connect() bool { return r.method == "CONNECT" }

// parseRequest reads a head. What it gives back besides an error is for the text of the refusal.
func parseRequest(h head) (*request, error) {
	r := &request{head: h}
	parts := strings.Split(h.first, " ")
	if len(parts) != 3 || !isToken(parts[0]) || parts[1] == "" {
		return r, headFault("a first line that is not \"METHOD target HTTP/1.1\"")
	}
	r.method = parts[0]
	switch parts[2] {
	case "HTTP/1.1":
		r.minor = 1
	case "HTTP/1.0":
	default:
		return r, headFault("a version other than HTTP/1.1 and HTTP/1.0")
	}
	if strings.EqualFold(r.method, "connect") && r.method != "CONNECT" {
		return r, headFault("the method CONNECT in another case")
	}
	var err error
	if r.connect() {
		r.host, r.port, err = splitAuthority(parts[1], 0)
	} else {
		err = r.parseTarget(parts[1])
	}
	if err != nil {
		return r, err
	}
	r.close = r.minor == 0 || slices.Contains(h.connection, "close") || slices.Contains(h.list("Proxy-Connection"), "close")
	if r.framing, err = requestFraming(h, r.minor); err != nil {
		return r, err
	}
	r.upgrade = r.minor == 1 && r.framing.empty() && slices.Contains(h.connection, "upgrade") && slices.Equal(h.list("Upgrade"), []string{"websocket"})
	return r, nil
}

// parseTarget reads an absolute form.
func (r *request) parseTarget(target string) error {
	scheme, rest, ok := strings.Cut(target, "://")
	switch {
	case !ok || strings.ContainsAny(scheme, "/?#"):
		return headFault("a target without a scheme and a host; this is a proxy and not the server: ask for http://host/path, or CONNECT host:port")
	case strings.EqualFold(scheme, "https"):
		return headFault("https:// in a plain request; use CONNECT for it")
	case !strings.EqualFold(scheme, "http"):
		return headFault("the scheme %s; only http:// is forwarded, anything else goes through CONNECT", quoted(scheme))
	}
	if i := strings.IndexFunc(rest, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' || c == '\\' }); i >= 0 {
		return headFault("a character in the target that no URL has: %s", quoted(rest[i:i+1]))
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	r.path = rest[end:]
	if r.path == "" && r.method == "OPTIONS" {
		r.path = "*"
	} else if r.path == "" || r.path[0] == '?' {
		r.path = "/" + r.path
	}
	var err error
	r.host, r.port, err = splitAuthority(rest[:end], 80)
	return err
}

// splitAuthority takes "host:port" apart. The port may be left out only where there is a usual one. What is wrong with
// the host itself is the policy's to say.
func splitAuthority(s string, usual int) (host string, port int, err error) {
	if strings.Contains(s, "@") {
		return "", 0, headFault("a user name or password before the host")
	}
	end := strings.LastIndexByte(s, ':')
	if end < 0 || strings.HasSuffix(s, "]") {
		end = len(s)
	}
	host = s[:end]
	bracketed := strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")
	if strings.Contains(host, ":") && !bracketed {
		return "", 0, headFault("an IPv6 address without brackets, or two ports")
	}
	if bracketed {
		if a, err := netip.ParseAddr(host[1 : len(host)-1]); err != nil || !a.Is6() || a.Zone() != "" {
			return "", 0, headFault("brackets around something that is no IPv6 address")
		}
	}
	if end == len(s) {
		if usual == 0 {
			return host, 0, headFault("a host without a port")
		}
		return host, usual, nil
	}
	n, err := strconv.ParseUint(s[end+1:], 10, 16)
	if err != nil || n == 0 || s[end+1] == '0' {
		return host, 0, headFault("a port that does not exist")
	}
	return host, int(n), nil
}

// requestFraming finds out where the body of a request ends, and refuses what two servers could disagree about.
func requestFraming(h head, minor int) (framing, error) {
	lengths, encodings := h.values("Content-Length"), h.values("Transfer-Encoding")
	switch {
	case len(lengths)+len(encodings) > 1:
		return framing{}, headFault("Content-Length and Transfer-Encoding more than once, or both")
	case len(encodings) == 1 && (minor == 0 || !strings.EqualFold(encodings[0], "chunked")):
		return framing{}, headFault("a Transfer-Encoding other than chunked, or in HTTP/1.0")
	case len(encodings) == 1:
		return framing{chunked: true}, nil
	case len(lengths) == 1:
		n, err := parseLength(lengths[0])
		return framing{length: n}, err
	}
	return framing{}, nil
}

func parseLength(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63) // takes digits only
	if err != nil {
		return 0, headFault("a Content-Length that is no number")
	}
	return int64(n), nil
}

// judge looks at what a request says twice: Host must name the target, and CONNECT has no body.
func (r *request) judge() error {
	hosts := r.values("Host")
	if len(hosts) > 1 || len(hosts) == 0 && r.minor == 1 && !r.connect() {
		return headFault("not exactly one Host")
	}
	if r.connect() && !r.framing.empty() {
		return headFault("CONNECT with a body")
	}
	if len(hosts) == 0 {
		return nil
	}
	usual := 80
	if r.connect() {
		usual = r.port // many clients leave it out
	}
	host, port, err := splitAuthority(hosts[0], usual)
	if err != nil {
		return err
	}
	want, wrong := policy.CanonicalHost(r.host)
	got, err := policy.CanonicalHost(host)
	if wrong == nil && (err != nil || got != want || port != r.port) {
		return headFault("a Host that is not the target")
	}
	return nil
}
