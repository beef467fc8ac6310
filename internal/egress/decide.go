package egress

import (
	"net/netip"

	"sallyport/policy"
)

// localhost is the host's loopback. Only an entry that spells it grants it, and nobody is asked what it resolves to.
const localhost = "localhost"

var loopbacks = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// target is a host and port that the rules allow, in the spelling in which it is dialled.
type target struct {
	host    string     // a canonical name, or the address as netip prints it
	literal netip.Addr // valid when host is an address
	port    int
	local   bool // localhost, by its own entry
	free    bool // the policy has no network rules
}

// decide judges a host, in any spelling, by name. An address that stands for a name is judged as that name.
func (g *Gateway) decide(rules *policy.Rules, host string, port int) (target, *Refusal) {
	t := target{host: host, port: port}
	if canonical, err := policy.CanonicalHost(host); err == nil {
		t.host = canonical
		if a, err := netip.ParseAddr(canonical); err == nil {
			t.literal = a
			if name, ok := g.names.name(a); ok {
				t.host, t.literal = name, netip.Addr{}
			}
		}
	}
	d := rules.Connect(t.host, port)
	if !d.Allowed {
		return t, fromDecision(OpConnect, t.host, port, d)
	}
	t.free = d.Rule.List == policy.ListDisabled
	if t.host == localhost {
		t.local = t.free || d.Rule.Entry != "*" && d.Rule.Entry[0] != '*'
		if !t.local {
			return t, t.refuseAddress(loopbacks[0], "a loopback address")
		}
	}
	return t, nil
}

// judgeAddress judges an address that an allowed target leads to. own are the addresses of the host.
func (t target) judgeAddress(rules *policy.Rules, a netip.Addr, own []netip.Addr) *Refusal {
	if t.free {
		return nil
	}
	d := rules.Connect(a.String(), t.port)
	switch {
	case d.Allowed: // a grant of this very address
		return nil
	case d.Rule.List == "deniedDomains":
		r := fromDecision(OpConnect, t.host, t.port, d)
		r.Reason = "tried to connect to " + joinHostPort(t.host, t.port) + ", which resolved to " + a.String() + "; it " + d.Reason
		return r
	case t.local && a.IsLoopback():
		return nil
	}
	if what := whatIs(a, own); what != "" {
		return t.refuseAddress(a, what)
	}
	return nil
}

// refuseAddress words the refusal of an address by its kind.
func (t target) refuseAddress(a netip.Addr, what string) *Refusal {
	remedy := "add \"" + joinHostPort(a.String(), t.port) + "\" to network.allowedDomains, if that service is meant"
	if t.host == localhost {
		remedy = "add \"" + joinHostPort(localhost, t.port) + "\" to network.allowedDomains, if the host's own service is meant"
	}
	return &Refusal{
		Operation: OpConnect, Host: t.host, Port: t.port, Code: CodeRuntime,
		Rule:   policy.Rule{List: ListAddress, Entry: a.String(), Index: -1, Why: what + " must be granted by address"},
		Reason: "tried to connect to " + joinHostPort(t.host, t.port) + ", which is allowed but resolved to " + what + " (" + a.String() + ")",
		Remedy: remedy,
	}
}
