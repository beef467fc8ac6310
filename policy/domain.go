package policy

import (
	"net/netip"
	"strconv"
	"strings"
)

// domain is one entry of a domain list, understood.
type domain struct {
	form   domainForm
	name   string       // of formExact, and of formSub the part after "*."
	prefix netip.Prefix // of formAddr; a single address is a prefix of full length
	port   int          // 0 means every port
}

type domainForm int

const (
	formExact domainForm = iota // "example.com"
	formSub                     // "*.example.com": sub-domains, not the apex (R44)
	formAny                     // "*"
	formAddr                    // "192.0.2.1", "2001:db8::/32"
)

// canonical is the one spelling of an entry, to compare entries with.
func (d domain) canonical() string {
	text := d.name
	switch d.form {
	case formSub:
		text = "*." + d.name
	case formAny:
		text = "*"
	case formAddr:
		text = d.prefix.String()
	}
	if d.port == 0 {
		return text
	}
	return joinHostPort(text, strconv.Itoa(d.port))
}

// joinHostPort puts an IPv6 address in brackets. (Package net has it, but deciding is not the room for the network.)
func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// parseDomain reads an entry and refuses one that could never match, because its author believes that it does.
func parseDomain(s string) (domain, *fault) {
	if strings.Contains(s, "://") {
		_, rest, _ := strings.Cut(s, "://")
		rest, _, _ = strings.Cut(rest, "/")
		return domain{}, &fault{"a URL where a host belongs", "write the host alone, as in " + strconv.Quote(rest)}
	}
	text, port, f := cutPort(s)
	if f != nil {
		return domain{}, f
	}
	d := domain{port: port}
	switch {
	case text == "*":
		d.form = formAny
		return d, nil
	case strings.Contains(text, "/"):
		d.form = formAddr
		d.prefix, f = parseRange(text)
		return d, f
	case strings.HasPrefix(text, "*."):
		d.form = formSub
		text = text[2:]
	}
	if strings.Contains(text, "*") {
		return domain{}, &fault{"a wildcard that can never match", `write "*" alone, or "*." before a name, as in "*.example.com"`}
	}
	h, f := parseHost(text)
	if f != nil {
		return domain{}, f
	}
	if !h.addr.IsValid() {
		d.name = h.name
		return d, nil
	}
	if d.form == formSub {
		return domain{}, &fault{"a wildcard before an address", "write the address, or a range as in 192.0.2.0/24"}
	}
	d.form, d.prefix = formAddr, netip.PrefixFrom(h.addr, h.addr.BitLen())
	return d, nil
}

// cutPort splits "host:port". Brackets are taken off only with a port or an address inside; a bare IPv6 address has
// no port.
func cutPort(s string) (text string, port int, f *fault) {
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 || !strings.Contains(s[:end], ":") {
			return "", 0, &fault{"brackets around something that is no IPv6 address", "write it as in [2001:db8::1]:443"}
		}
		text, s = s[1:end], s[end+1:]
		if s == "" {
			return text, 0, nil
		}
		if s[0] != ':' {
			return "", 0, &fault{"something after the brackets that is no port", "write it as in [2001:db8::1]:443"}
		}
		s = s[1:]
	} else {
		if strings.Count(s, ":") != 1 {
			return s, 0, nil
		}
		text, s, _ = strings.Cut(s, ":")
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' {
		return "", 0, &fault{"a port that does not exist", "write 1 to 65535, or no port for every port"}
	}
	return text, int(n), nil
}

func parseRange(s string) (netip.Prefix, *fault) {
	address, _, _ := strings.Cut(s, "/")
	if _, err := netip.ParseAddr(address); err != nil {
		return netip.Prefix{}, &fault{"a path where a host belongs", "write the host alone; a range is written as in 192.0.2.0/24"}
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, &fault{"not an address range", "write it as in 192.0.2.0/24 or 2001:db8::/32"}
	}
	if p.Addr().Is4In6() {
		return netip.Prefix{}, &fault{"an IPv4 range written as IPv6", "write it as IPv4, as in 192.0.2.0/24"}
	}
	if p.Masked() != p {
		return netip.Prefix{}, &fault{"an address range with bits beyond its length", "write " + p.Masked().String()}
	}
	return p, nil
}

// domainList is one list, arranged so that a decision does not read all of it.
type domainList struct {
	given  []string
	parsed []domain
	names  map[string][]int // formExact and formSub by name
	any    []int
	addrs  []int
}

func compileDomains(given []string) domainList {
	l := domainList{given: given, names: map[string][]int{}}
	for i, s := range given {
		d, _ := parseDomain(s) // Validate has been passed
		l.parsed = append(l.parsed, d)
		switch d.form {
		case formExact, formSub:
			l.names[d.name] = append(l.names[d.name], i)
		case formAny:
			l.any = append(l.any, i)
		case formAddr:
			l.addrs = append(l.addrs, i)
		}
	}
	return l
}

// matching yields the entries that cover a host, whatever their port.
func (l domainList) matching(h host, yield func(i int) bool) {
	if h.addr.IsValid() {
		for _, i := range l.addrs {
			if l.parsed[i].prefix.Contains(h.addr) && !yield(i) {
				return
			}
		}
		return
	}
	want := formExact
	for name, more := h.name, true; more; want = formSub {
		for _, i := range l.names[name] {
			if l.parsed[i].form == want && !yield(i) {
				return
			}
		}
		_, name, more = strings.Cut(name, ".")
	}
	for _, i := range l.any {
		if !yield(i) {
			return
		}
	}
}
