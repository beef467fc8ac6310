package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostCases: what is asked, and the list that decides, "!" before it for no.
type hostCases map[string]string

func (cases hostCases) check(t *testing.T, r *Rules) {
	t.Helper()
	for target, want := range cases {
		host, port := target, 443
		if i := strings.LastIndexByte(target, '|'); i >= 0 {
			host = target[:i]
			_, err := fmt.Sscan(target[i+1:], &port)
			require.NoError(t, err)
		}
		d := r.Connect(host, port)
		got := d.Rule.List
		if !d.Allowed {
			got = "!" + got
		}
		require.Equal(t, want, got, "%q: %s", target, d.Reason)
		require.Equal(t, AxisConnect, d.Axis)
		require.Equal(t, d.Allowed, d.Remedy == "")
		require.NotContains(t, d.Reason, "\n")
		require.NotContains(t, d.Reason, "\x00")
	}
}

func network(t *testing.T, n Network) *Rules {
	t.Helper()
	return compile(t, Policy{Network: n}, CompileOptions{})
}

// R39: an absent or empty list means no network at all.
func TestNetworkDenyAll(t *testing.T) {
	for _, n := range []Network{{}, {AllowedDomains: []string{}}, {DeniedDomains: []string{"a.example"}}} {
		r := network(t, n)
		hostCases{"example.com": "!default", "127.0.0.1": "!default", "localhost": "!default", "::1": "!default"}.check(t, r)
		require.Contains(t, r.Connect("example.com", 443).Reason, "which is not on the allow-list; the allow-list is empty")
		require.False(t, r.Lookup("example.com").Allowed)
	}
}

// R40, A6: "disabled" means unrestricted, for names and addresses; what is no host is still refused.
func TestNetworkDisabledIsUnrestricted(t *testing.T) {
	r := network(t, Network{Unrestricted: true})
	hostCases{"example.com": "disabled", "127.0.0.1|22": "disabled", "[::1]": "disabled", "a\x00b": "!invalid", "": "!invalid"}.check(t, r)
	require.True(t, r.Lookup("example.com").Allowed)
	require.True(t, r.Derived().Network.Disabled)
}

// R44: wildcards, case and ports.
func TestDomainMatch(t *testing.T) {
	r := network(t, Network{AllowedDomains: []string{"example.com", "*.wild.example", "port.example:443", "*.p.example:8080", "LOUD.Example.", "localhost", "xn--bcher-kva.example", "_srv.example"}})
	hostCases{
		"example.com": "allowedDomains", "EXAMPLE.com": "allowedDomains", "example.com.": "allowedDomains", "example.com|1": "allowedDomains",
		"sub.example.com": "!default", "evilexample.com": "!default", "example.com.evil.com": "!default", "example.co": "!default",
		"a.wild.example": "allowedDomains", "a.b.WILD.example.": "allowedDomains", "wild.example": "!default", "evilwild.example": "!default",
		"a.wild.example.evil.com": "!default",
		"port.example|443":        "allowedDomains", "port.example|80": "!default", "port.example|4430": "!default",
		"x.p.example|8080": "allowedDomains", "x.p.example|443": "!default", "p.example|8080": "!default",
		"loud.example": "allowedDomains", "localhost": "allowedDomains", "xn--BCHER-kva.example": "allowedDomains", "_srv.example": "allowedDomains",
		"com": "!default",
	}.check(t, r)
	d := r.Connect("port.example", 80)
	require.Equal(t, `tried to connect to port.example:80, which is not on the allow-list for port 80 ("port.example:443" is)`, d.Reason)
	require.Equal(t, `add "port.example:80" to network.allowedDomains`, d.Remedy)
	require.Equal(t, "example.com:443", r.Connect("EXAMPLE.com.", 443).Path)
}

// R42: a denied domain beats an allowed one, however the two are spelled; a denied port is denied everywhere.
func TestDeniedDomainWins(t *testing.T) {
	r := network(t, Network{
		AllowedDomains: []string{"*", "bad.example", "x.ok.example:443", "10.0.0.0/8", "2001:db8::/32", "64:ff9b::/96", "2002::/16"},
		DeniedDomains:  []string{"BAD.example", "*.ok.example", "*:22", "2852039166", "10.1.0.0/16", "10.2.3.4:80", "[2001:db8::1]:443"},
	})
	hostCases{
		"bad.example": "!deniedDomains", "bad.example.": "!deniedDomains", "sub.bad.example": "allowedDomains", "x.ok.example": "!deniedDomains",
		"ok.example": "allowedDomains", "any.example|22": "!deniedDomains", "10.0.0.1|22": "!deniedDomains", "10.0.0.1|23": "allowedDomains",
		"169.254.169.254": "!deniedDomains", "0xa9fea9fe": "!deniedDomains", "10.1.2.3": "!deniedDomains", "10.2.3.4|80": "!deniedDomains",
		"10.2.3.4|81": "allowedDomains", "2001:db8::1": "!deniedDomains", "2001:db8::1|80": "allowedDomains", "2001:db8::2": "allowedDomains",
		"::ffff:169.254.169.254": "!deniedDomains", "64:ff9b::a9fe:a9fe": "!deniedDomains", "2002:a9fe:a9fe::1": "!deniedDomains",
		"::169.254.169.254": "!deniedDomains", "64:ff9b::a00:1": "allowedDomains", "2001:db8::3|22": "!deniedDomains",
	}.check(t, r)

	// The loopback and the unspecified address of IPv6 carry none of IPv4.
	r = network(t, Network{AllowedDomains: []string{"::1", "::", "::2"}, DeniedDomains: []string{"0.0.0.0/8"}})
	hostCases{"::1": "allowedDomains", "::": "allowedDomains", "::2": "!deniedDomains"}.check(t, r)
}

// R43: the reason on record reaches the text, whichever spelling it was filed under.
func TestDenyReason(t *testing.T) {
	r := network(t, Network{
		AllowedDomains: []string{"*"}, DeniedDomains: []string{"Mirror.example.", "[::1]:80", "plain.example"},
		DeniedDomainReasons: map[string]string{"mirror.EXAMPLE": "use the mirror in the office", "[0::1]:80": "nothing listens"},
	})
	d := r.Connect("mirror.example", 443)
	require.Equal(t, `tried to connect to mirror.example:443, which deniedDomains "Mirror.example." denies: use the mirror in the office`, d.Reason)
	require.Equal(t, Rule{List: "deniedDomains", Entry: "Mirror.example.", Why: "use the mirror in the office"}, d.Rule)
	require.Contains(t, r.Connect("::1", 80).Reason, "nothing listens")
	require.Equal(t, `tried to connect to plain.example:443, which deniedDomains "plain.example" denies`, r.Connect("plain.example", 443).Reason)
}

// R45, R10: the list is strict, and the refusal says the host and that it is not on the allow-list.
func TestStrictAllowlist(t *testing.T) {
	r := network(t, Network{AllowedDomains: []string{"example.com"}})
	d := r.Connect("api.example.com", 443)
	require.Equal(t, Decision{
		Axis: AxisConnect, Path: "api.example.com:443", Rule: Rule{List: "default", Index: -1, Why: "only what network.allowedDomains names may be reached"},
		Reason: "tried to connect to api.example.com:443, which is not on the allow-list",
		Remedy: `add "api.example.com:443" to network.allowedDomains`,
	}, d)
	require.True(t, r.Derived().Network.StrictAllowlist)
}

// R46: a bare "*" is an ordinary entry for every name: denies still hold, addresses still have to be listed, and the
// rules say that it is there. It is not the disabled mode.
func TestStarIsNotDisabled(t *testing.T) {
	r := network(t, Network{AllowedDomains: []string{"*", "*.com"}, DeniedDomains: []string{"bad.example"}})
	hostCases{"any.example": "allowedDomains", "bad.example": "!deniedDomains", "127.0.0.1": "!default", "[::1]": "!default", "2130706433": "!default", "localhost": "allowedDomains"}.check(t, r)
	require.Contains(t, r.Connect("127.1", 80).Reason, "a wildcard never covers an address")
	require.False(t, r.Derived().Network.Disabled)
	require.Len(t, r.Derived().Warnings, 2)
	require.Contains(t, r.Derived().Warnings[0], `network.allowedDomains[0] "*" allows every name there is`)
	require.Contains(t, r.Derived().Warnings[1], "below a top-level domain")
}

// R44: a wildcard never matches an address in any spelling; an entry for the address does, in any spelling.
func TestAddresses(t *testing.T) {
	r := network(t, Network{AllowedDomains: []string{"127.0.0.1", "192.0.2.0/24:443", "2001:db8::5", "[fd00::/8]:53", "8.8.8.8:53", "0x7f.2"}})
	hostCases{
		"127.0.0.1": "allowedDomains", "127.1": "allowedDomains", "2130706433": "allowedDomains", "0x7f000001": "allowedDomains", "0177.0.0.1": "allowedDomains",
		"0x7f.1": "allowedDomains", "127.0.0.1.": "allowedDomains", "::ffff:127.0.0.1": "allowedDomains", "[::ffff:7f00:1]": "allowedDomains",
		"127.0.0.2": "allowedDomains", "127.0.0.3": "!default", "192.0.2.77": "allowedDomains", "192.0.2.77|80": "!default", "192.0.3.1": "!default",
		"[2001:db8:0::5]": "allowedDomains", "2001:DB8::5": "allowedDomains", "2001:db8::6": "!default", "fd12::1|53": "allowedDomains", "fd12::1": "!default",
		"8.8.8.8|53": "allowedDomains", "8.8.8.8": "!default", "::1": "!default",
	}.check(t, r)
	require.Equal(t, "127.0.0.1:80", r.Connect("0177.1", 80).Path)
	require.Equal(t, "[2001:db8::5]:80", r.Connect("2001:DB8::5", 80).Path)
}

// What is no host or port is refused before any list is read, on a policy that allows everything.
func TestInvalidHosts(t *testing.T) {
	r := network(t, Network{AllowedDomains: []string{"*", "0.0.0.0/0", "::/0", "allowed.com"}})
	for _, host := range []string{
		"", ".", "..", "a..b", ".a", "a.example..", "evil.com\x00.allowed.com", "evil.com\r\n.allowed.com", "evil.com\n", "a b", " a", "a\t", "evil.com%00.allowed.com",
		"fe80::1%eth0", "[fe80::1%25eth0]", "[::1", "::1]", "[]", "[127.0.0.1]", "[example.com]", "a:b", "example.com:443", ":", ":::", "1:2:3", "http://a", "a/b", "a\\b", "a@b", "a,b",
		"*", "*.allowed.com", "bücher.example", "аllowed.com", "ａllowed.com", "allowed。com", "-oProxyCommand=x", "-a.example", "a.example?", "a#b", "a'b",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 130) + "example", strings.Repeat("a", 256), strings.Repeat("abcdefg.", 31) + "abcdef",
		"256.0.0.1", "1.2.3.4.5", "1.2.3.256", "1.2.65536", "1.16777216", "4294967296", "0x1ffffffff", "08.0.0.1", "0x", "0xg.1", "1..2", "example.1", "example.0x1", "0x.1", "1.2.3.08", "99999999999999999999",
	} {
		d := r.Connect(host, 443)
		require.False(t, d.Allowed, "%q", host)
		require.Equal(t, ListInvalid, d.Rule.List, "%q", host)
		require.Less(t, len(d.Reason), 600)
		require.Equal(t, ListInvalid, r.Lookup(host).Rule.List, "%q", host)
		_, err := CanonicalHost(host)
		require.ErrorIs(t, err, ErrInvalid, "%q", host)
	}
	require.Contains(t, r.Connect("bücher.example", 443).Remedy, "xn--")
	for _, port := range []int{0, -1, 65536, 1 << 40} {
		require.Equal(t, ListInvalid, r.Connect("allowed.com", port).Rule.List)
	}
	hostCases{strings.Repeat("a", 63) + ".example": "allowedDomains", strings.Repeat("abcdefg.", 31) + "abcde": "allowedDomains", "allowed.com|65535": "allowedDomains", "1a": "allowedDomains", "0x1.example": "allowedDomains"}.check(t, r)
}

// R44: entries that could never match, or that two readers would read in two ways, are refused.
func TestDomainEntriesRefused(t *testing.T) {
	for entry, says := range map[string]string{
		"": "empty", " example.com": "space", "example.com\n": "control", "a\x00b": "NUL", "http://example.com": "a URL", "https://example.com/x": "a URL",
		"example.com/path": "a path", "example.com/": "a path", "foo.*": "never match", "*foo.com": "never match", "a.*.b": "never match", "**.a": "never match", "*.*": "never match",
		"*.": "empty host", "example.com:0": "port", "example.com:99999": "port", "example.com:": "port", "example.com:https": "port", "example.com:080": "port",
		"example.com:+80": "port", "*:*": "port", "[::1]:0": "port", "[::1]443": "port", "[::1": "bracket", "[a]:1": "bracket", "::1%eth0": "percent", "a..b": "empty label",
		"bücher.example": "xn--", "*.10.0.0.1": "wildcard before an address", "10.0.0.1/8": "bits beyond", "10.0.0.0/33": "not an address range", "::ffff:10.0.0.0/104": "IPv4 range written as IPv6",
		"10.0.0.0/8/8": "not an address range", "256.1.1.1": "no IPv4", "-a.example": "hyphen", strings.Repeat("a", 300): "more than the 255", "user@example.com": "no host name has",
		"fe80::1%1/64": "not an address range",
	} {
		for _, n := range []Network{{AllowedDomains: []string{"ok.example", entry}}, {DeniedDomains: []string{"ok.example", entry}}} {
			err := Policy{Network: n}.Validate()
			var e *Error
			require.ErrorAs(t, err, &e, "%q", entry)
			require.Contains(t, err.Error()+e.Hint, says, "%q", entry)
			require.Contains(t, e.Key, "Domains[1]")
		}
	}
	var e *Error
	require.ErrorAs(t, Policy{Network: Network{AllowedDomains: []string{"https://example.com/x"}}}.Validate(), &e)
	require.Equal(t, `write the host alone, as in "example.com"`, e.Hint)
	require.ErrorAs(t, Policy{Network: Network{AllowedDomains: []string{"10.0.0.1/8"}}}.Validate(), &e)
	require.Equal(t, "write 10.0.0.0/8", e.Hint)
}

// A name server hears no port: a name may be resolved when some port of it may be reached.
func TestLookup(t *testing.T) {
	r := network(t, Network{
		AllowedDomains: []string{"a.example:443", "b.example", "c.example:443", "c.example:80", "*.d.example", "10.0.0.1"},
		DeniedDomains:  []string{"b.example:22", "c.example:443", "x.d.example", "e.example", "a.example:22"},
	})
	for host, want := range map[string]string{
		"A.example.": "allowedDomains", "b.example": "allowedDomains", "c.example": "allowedDomains", "y.d.example": "allowedDomains", "x.d.example": "!deniedDomains",
		"e.example": "!deniedDomains", "f.example": "!default", "10.0.0.1": "allowedDomains", "d.example": "!default",
	} {
		d := r.Lookup(host)
		got := d.Rule.List
		if !d.Allowed {
			got = "!" + got
		}
		require.Equal(t, want, got, host)
	}
	require.Equal(t, "a.example", r.Lookup("A.example.").Path)
	r = network(t, Network{AllowedDomains: []string{"c.example:443"}, DeniedDomains: []string{"c.example:443"}})
	require.Equal(t, "deniedDomains", r.Lookup("c.example").Rule.List)
	require.Contains(t, r.Derived().Warnings[0], "is denied as well")
}

// A18: sockets are granted by their very path, resolved, and not otherwise.
func TestUnixSocket(t *testing.T) {
	fs := tree{"/run": "", "/var": "", "/var/run": "/run", "/run/agent.sock": ""}
	p := Policy{Network: Network{AllowUnixSockets: []string{"/var/run/agent.sock", "/run/later.sock"}}}
	for _, platform := range platforms {
		r := compile(t, p, CompileOptions{Resolve: fs.resolve, Platform: platform})
		for path, want := range map[string]bool{
			"/run/agent.sock": true, "/run/later.sock": true, "/run/agent.sock/x": false, "/run": false, "/run/docker.sock": false, "@agent": false, "": false, "/run/../run/agent.sock": false,
			"/run/AGENT.sock": platform == Windows,
		} {
			d := r.UnixSocket(path)
			require.Equal(t, want, d.Allowed, path)
			require.NotEmpty(t, d.Reason)
		}
		require.Contains(t, r.Derived().Warnings[0], `network.allowUnixSockets[1] "/run/later.sock" does not exist now`)
	}
	require.False(t, compile(t, Policy{}, CompileOptions{}).UnixSocket("/run/agent.sock").Allowed)
}

func TestLeadsToSocket(t *testing.T) {
	r := compile(t, Policy{Network: Network{AllowUnixSockets: []string{"/run/app/agent.sock"}}}, CompileOptions{})
	for _, p := range []string{"/run/app/agent.sock", "/run/app", "/run", "/"} {
		require.Equal(t, "/run/app/agent.sock", r.LeadsToSocket(p), p)
	}
	for _, p := range []string{"/run/app/agent.sock/x", "/run/app/agent.soc", "/run/ap", "/run/app/other.sock"} {
		require.Empty(t, r.LeadsToSocket(p), p)
	}
	require.Empty(t, compile(t, Policy{}, CompileOptions{}).LeadsToSocket("/"))
}
