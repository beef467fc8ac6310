package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Connect decides whether a host may be reached on a port, by name alone: it resolves nothing and dials nothing. A
// denied domain beats an allowed one (R42); a wildcard never matches an address; what is not listed is refused, and
// nobody is asked (R45). Decision.Path is the canonical "host:port", and that is what must be dialled.
//
// Whoever dials an allowed name must judge the address it resolved to as well: call Connect again with the address. An
// answer by deniedDomains refuses it; an answer by allowedDomains is a grant of that very address.
func (r *Rules) Connect(hostname string, port int) Decision {
	h, f := parseHost(hostname)
	if f == nil && (port < 1 || port > 65535) {
		f = &fault{reason: "a port that does not exist"}
	}
	if f != nil {
		return r.invalidHost(hostname, port, f)
	}
	d := Decision{Axis: AxisConnect, Path: joinHostPort(h.String(), strconv.Itoa(port))}
	if r.network.Unrestricted {
		return d.allow(Rule{List: ListDisabled, Index: -1, Why: "network.disabled takes every network rule away"})
	}
	if i := r.denied.denies(h, port); i >= 0 {
		return r.deniedDomain(d, i)
	}
	other := -1
	matched := -1
	r.allowed.matching(h, func(i int) bool {
		if p := r.allowed.parsed[i].port; p == 0 || p == port {
			matched = i
			return false
		}
		other = i
		return true
	})
	if matched >= 0 {
		return d.allow(Rule{List: "allowedDomains", Entry: r.allowed.given[matched], Index: matched})
	}
	return r.unlisted(d, h, port, other)
}

// Lookup decides whether a name may be resolved: whether any port of it could be reached. It is for a name server,
// which hears no port. Decision.Path is the canonical host.
func (r *Rules) Lookup(hostname string) Decision {
	h, f := parseHost(hostname)
	if f != nil {
		return r.invalidHost(hostname, 0, f)
	}
	d := Decision{Axis: AxisConnect, Path: h.String()}
	if r.network.Unrestricted {
		return d.allow(Rule{List: ListDisabled, Index: -1, Why: "network.disabled takes every network rule away"})
	}
	matched, blocked := -1, -1
	r.allowed.matching(h, func(i int) bool {
		if b := r.denied.denies(h, r.allowed.parsed[i].port); b >= 0 {
			blocked = b
			return true
		}
		matched = i
		return false
	})
	switch {
	case matched >= 0:
		return d.allow(Rule{List: "allowedDomains", Entry: r.allowed.given[matched], Index: matched})
	case blocked >= 0:
		return r.deniedDomain(d, blocked)
	}
	if i := r.denied.denies(h, 0); i >= 0 {
		return r.deniedDomain(d, i)
	}
	return r.unlisted(d, h, 0, -1)
}

// denies finds the entry that denies a host on a port; port 0 asks for one that denies every port. A bare "*" on this
// list covers addresses too, and an address is judged also as the IPv4 address it carries: a deny list errs towards no.
func (l domainList) denies(h host, port int) int {
	found := -1
	check := func(i int) bool {
		if p := l.parsed[i].port; p != 0 && p != port {
			return true
		}
		found = i
		return false
	}
	l.matching(h, check)
	if found >= 0 || !h.addr.IsValid() {
		return found
	}
	if v4, ok := carriedIPv4(h.addr); ok {
		l.matching(host{addr: v4}, check)
	}
	for _, i := range l.any {
		if found < 0 {
			check(i)
		}
	}
	return found
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes
	sixToFour  = netip.MustParsePrefix("2002::/16")    // RFC 3056: bytes 2 to 5
	compatible = netip.MustParsePrefix("::/96")        // RFC 4291, deprecated: the last four bytes
)

// carriedIPv4 is the IPv4 address that a translator on the way would take out of an IPv6 address.
func carriedIPv4(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	switch {
	case nat64.Contains(a), compatible.Contains(a) && a != netip.IPv6Unspecified() && a != netip.IPv6Loopback():
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

func (r *Rules) deniedDomain(d Decision, i int) Decision {
	rule := Rule{List: "deniedDomains", Entry: r.denied.given[i], Index: i, Why: r.deniedReasons[r.denied.parsed[i].canonical()]}
	clause := "which deniedDomains " + strconv.Quote(rule.Entry) + " denies"
	if rule.Why != "" {
		clause += ": " + rule.Why
	}
	return d.deny(rule, clause, "take "+strconv.Quote(rule.Entry)+" off network.deniedDomains; a denied domain beats an allowed one")
}

// unlisted explains a refusal by default. other is an entry that allows the host on another port, or -1.
func (r *Rules) unlisted(d Decision, h host, port, other int) Decision {
	clause := "which is not on the allow-list"
	switch {
	case len(r.allowed.given) == 0:
		clause += "; the allow-list is empty, so there is no network at all"
	case other >= 0:
		clause += " for port " + strconv.Itoa(port) + " (" + strconv.Quote(r.allowed.given[other]) + " is)"
	case h.addr.IsValid() && len(r.allowed.any) > 0:
		clause += "; a wildcard never covers an address"
	}
	return d.deny(Rule{List: ListDefault, Index: -1, Why: "only what network.allowedDomains names may be reached"},
		clause, "add "+strconv.Quote(d.Path)+" to network.allowedDomains")
}

func (r *Rules) invalidHost(hostname string, port int, f *fault) Decision {
	d := Decision{Axis: AxisConnect, Path: hostname}
	if port != 0 {
		d.Path += ":" + strconv.Itoa(port)
	}
	remedy := "write a plain host name or address"
	if f.hint != "" {
		remedy = f.hint
	}
	return d.deny(Rule{List: ListInvalid, Index: -1, Why: f.reason}, "which is not a host: "+f.reason, remedy)
}

// LeadsToSocket gives the entry of network.allowUnixSockets whose path is p or below it, and "" when there is none. What
// is moved or linked to p would stand for what that entry grants. p is a real path.
func (r *Rules) LeadsToSocket(p string) string {
	key := r.key(p)
	for _, s := range r.sockets {
		if s.key == key || strings.HasPrefix(s.key, strings.TrimSuffix(key, "/")+"/") {
			return s.given
		}
	}
	return ""
}

// UnixSocket decides whether a path socket may be connected to: only the very paths of network.allowUnixSockets, by
// their real path. It does not decide whether the socket's file may be read or written.
func (r *Rules) UnixSocket(path string) Decision {
	p, why := cleanQuery(path)
	d := Decision{Axis: AxisConnect, Path: p}
	if why != "" {
		return d.deny(Rule{List: ListInvalid, Index: -1, Why: why}, "which is not a path: "+why, "give the absolute path")
	}
	key := r.key(p)
	if i := slices.IndexFunc(r.sockets, func(s socket) bool { return s.key == key }); i >= 0 {
		return d.allow(Rule{List: "allowUnixSockets", Entry: r.sockets[i].given, Index: i})
	}
	clause := "which is not on the list of sockets"
	if strings.HasPrefix(path, "@") || path == "" {
		clause = "which is no path, and only sockets with a path can be granted"
	}
	return d.deny(Rule{List: ListDefault, Index: -1, Why: "only what network.allowUnixSockets names may be connected to"},
		clause, "add "+strconv.Quote(p)+" to network.allowUnixSockets")
}
