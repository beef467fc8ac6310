package egress

import (
	"net"
	"net/netip"
	"slices"
)

// SpecialRange is a range of addresses that a name does not reach by being allowed.
type SpecialRange struct {
	Prefix netip.Prefix
	What   string // "a loopback address"
}

// SpecialRanges gives the ranges that must be granted by address, the narrower before the wider. They are the IANA
// special-purpose registries, and the metadata services of clouds.
func SpecialRanges() []SpecialRange { return slices.Clone(specialRanges) }

func special(what string, prefixes ...string) (ranges []SpecialRange) {
	for _, p := range prefixes {
		ranges = append(ranges, SpecialRange{netip.MustParsePrefix(p), what})
	}
	return ranges
}

var specialRanges = slices.Concat(
	special("a metadata service",
		"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", // EC2 and others, ECS, EKS
		"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", // EC2, EKS, Google
		"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"), // Alibaba, Azure, Oracle
	special("a loopback address", "127.0.0.0/8", "::1/128"),
	special("an unspecified address", "0.0.0.0/8", "::/128"),
	special("a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
	special("a carrier's private address", "100.64.0.0/10"),
	special("a link-local address", "169.254.0.0/16", "fe80::/10"),
	special("a multicast address", "224.0.0.0/4", "ff00::/8"),
	special("a benchmark address", "198.18.0.0/15", "2001:2::/48"),
	special("a documentation address", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
	special("a reserved address", "192.0.0.0/24", "240.0.0.0/4", "100::/64", "5f00::/16"),
	// Whoever translates takes the IPv4 address out and goes there: compatible, translated, 6to4 and its relay, Teredo and
	// its neighbours, the local NAT64 prefix. The well-known one, 64:ff9b::/96, is judged by what it carries.
	special("an IPv4 address carried in IPv6", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "2002::/16", "192.88.99.0/24",
		"2001::/23", "64:ff9b:1::/48"),
)

var wellKnownNAT64 = netip.MustParsePrefix("64:ff9b::/96")

// whatIs says what is special about an address, or "" about an ordinary one.
func whatIs(a netip.Addr, own []netip.Addr) string {
	if a.Zone() != "" {
		return "an address of one link"
	}
	a = a.Unmap()
	if wellKnownNAT64.Contains(a) {
		b := a.As16()
		if what := whatIs(netip.AddrFrom4([4]byte(b[12:])), own); what != "" {
			return what + " carried in IPv6"
		}
	}
	for _, r := range specialRanges {
		if r.Prefix.Contains(a) {
			return r.What
		}
	}
	if slices.Contains(own, a) {
		return "an address of the host itself"
	}
	return ""
}

// ownAddresses reads the addresses of every interface. It is asked at each decision: an interface may have come up since.
func ownAddresses() ([]netip.Addr, error) {
	given, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, g := range given {
		if p, ok := g.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(p.IP); ok {
				own = append(own, a.Unmap())
			}
		}
	}
	return own, nil
}
