package policy

import (
	"net/netip"
	"strconv"
	"strings"
)

// CanonicalHost gives the one spelling of a host under which it is judged and must be dialled: a lower-case ASCII name
// without a final dot, or an address as netip prints it, IPv6 without brackets and IPv4 in IPv6 as IPv4. The odd IPv4
// spellings that resolvers take (2130706433, 127.1, 0x7f.1, 0177.0.0.1) become the address they mean, so that no
// spelling is judged as a name and dialled as an address. It refuses what two programs could read in two ways: NUL,
// spaces, CR and LF, percent signs and zones, empty labels, non-ASCII names (write the xn-- form), and numbers that are
// no address. The error is an *Error.
func CanonicalHost(host string) (string, error) {
	h, fault := parseHost(host)
	if fault != nil {
		return "", fault.at("host", host)
	}
	return h.String(), nil
}

// host is a canonical name or, when addr is valid, an address.
type host struct {
	name string
	addr netip.Addr
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// fault is why a host or a domain entry was refused, before it is known where it stood.
type fault struct{ reason, hint string }

func (f *fault) at(key, value string) *Error {
	return &Error{Key: key, Value: value, Reason: f.reason, Hint: f.hint}
}

const (
	maxHost  = 255 // octets of a name on the wire (RFC 1035), and of a SOCKS5 name
	maxName  = 253 // the same without the length octets of the root and the first label
	maxLabel = 63
)

func parseHost(s string) (host, *fault) {
	if f := checkHostBytes(s); f != nil {
		return host{}, f
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed {
			return host{}, &fault{reason: "a bracket that is not closed"}
		}
		return parseIPv6(inner)
	}
	if strings.Contains(s, ":") {
		return parseIPv6(s)
	}
	return parseName(strings.ToLower(s))
}

// checkHostBytes refuses bytes that the parties on the way read differently: NUL ends a C string, CR and LF end a
// header, a percent sign begins an escape or a zone.
func checkHostBytes(s string) *fault {
	if s == "" {
		return &fault{reason: "an empty host"}
	}
	if len(s) > maxHost {
		return &fault{reason: "a host of " + strconv.Itoa(len(s)) + " bytes, more than the 255 a name may have"}
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0:
			return &fault{reason: "a NUL in a host"}
		case c <= ' ' || c == 0x7f:
			return &fault{reason: "a space or control character in a host"}
		case c == '%':
			return &fault{reason: "a percent sign in a host", hint: "zones and escapes are not taken; write the plain name or address"}
		case c >= 0x80:
			return &fault{reason: "a name outside ASCII", hint: "write it in its xn-- form (punycode)"}
		}
	}
	return nil
}

func parseIPv6(s string) (host, *fault) {
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() {
		return host{}, &fault{reason: "not an IPv6 address, and a name has no colon"}
	}
	return host{addr: addr.Unmap()}, nil
}

// parseName takes a lower-case name, or an IPv4 address in any spelling.
func parseName(s string) (host, *fault) {
	s = strings.TrimSuffix(s, ".")
	if len(s) > maxName {
		return host{}, &fault{reason: "a name of more than 253 bytes"}
	}
	if s != "" && s[0] == '-' {
		return host{}, &fault{reason: "a host that begins with a hyphen, which a program may take for an option"}
	}
	last := ""
	for last = range strings.SplitSeq(s, ".") {
		if last == "" {
			return host{}, &fault{reason: "an empty label in a host"}
		}
		if len(last) > maxLabel {
			return host{}, &fault{reason: "a label of more than 63 bytes in a host"}
		}
		if strings.ContainsFunc(last, func(r rune) bool { return !isNameByte(r) }) {
			return host{}, &fault{reason: "a character that no host name has"}
		}
	}
	if !looksNumeric(last) {
		return host{name: s}, nil
	}
	addr, ok := parseIPv4(s)
	if !ok {
		return host{}, &fault{reason: "a name that ends in a number and is no IPv4 address"}
	}
	return host{addr: addr}, nil
}

func isNameByte(r rune) bool {
	return (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') || r == '-' || r == '_'
}

// looksNumeric says whether a last label makes the whole an IPv4 address or nothing, as the URL standard has it.
func looksNumeric(label string) bool {
	return strings.Trim(label, "0123456789") == "" || (strings.HasPrefix(label, "0x") && strings.Trim(label[2:], "0123456789abcdef") == "")
}

// parseIPv4 reads one to four numbers, each decimal, octal with a leading 0 or hexadecimal with 0x; the last one fills
// the bytes that remain. This is what inet_aton and the URL standard read.
func parseIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		limit := uint64(0xff)
		if i == len(parts)-1 {
			limit = 0xffffffff >> (8 * i)
		}
		n, ok := parseNumber(part)
		if !ok || n > limit {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			n <<= 24 - 8*i
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func parseNumber(s string) (uint64, bool) {
	base := 10
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = digits, 16
	} else if len(s) > 1 && s[0] == '0' {
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 32) // refuses "", signs and underscores
	return n, err == nil
}
