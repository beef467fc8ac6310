package policy

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse: whatever is read is refused as an *Error or survives a round trip, and compiles.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/example.json")
	require.NoError(f, err)
	all, err := json.Marshal(full())
	require.NoError(f, err)
	for _, seed := range []string{string(example), string(all), `{}`, `null`, `[]`, `{"network":{"disabled":true}}`, `{"filesystem":{"allowRead":[{"path":"/a","optional":true}]}}`,
		`{"filesystem":{"denyRead":["/[z-a]","**","/\ud83d\ude00"]}}`, `{"network":{"deniedDomains":["[::1]:80"],"deniedDomainReasons":{"::1:80":"x"}}}`, "{\"a\":\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		out, err := json.Marshal(p)
		require.NoError(t, err)
		back, err := Parse(out)
		require.NoError(t, err)
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
		for _, platform := range platforms {
			r, err := back.Compile(CompileOptions{Platform: platform, Private: jail})
			if err != nil {
				require.ErrorContains(t, err, "a pattern cannot bring")
				continue
			}
			r.Derived()
		}
	})
}

// oracle is the grammar read off as it is written, by trying everything: slow, and with nothing in common with the
// set of states.
func oracle(pattern, path string, start bool) bool {
	if pattern == "" {
		return path == ""
	}
	switch {
	case strings.HasPrefix(pattern, "**"):
		rest := strings.TrimLeft(pattern, "*")
		if start && strings.HasPrefix(rest, "/") {
			for i := 0; i <= len(path); i++ {
				if (i == 0 || path[i-1] == '/') && oracle(rest[1:], path[i:], true) {
					return true
				}
			}
			return false
		}
		for i := 0; i <= len(path); i++ {
			if oracle(rest, path[i:], false) {
				return true
			}
		}
		return false
	case pattern[0] == '*':
		for i := 0; i <= len(path) && (i == 0 || path[i-1] != '/'); i++ {
			if oracle(pattern[1:], path[i:], false) {
				return true
			}
		}
		return false
	case path == "":
		return false
	case pattern[0] == '?':
		return path[0] != '/' && oracle(pattern[1:], path[1:], false)
	case pattern[0] == '[' && oracleClassEnd(pattern) > 0:
		end := oracleClassEnd(pattern)
		return path[0] != '/' && oracleClass(pattern[1:end], path[0]) && oracle(pattern[end+1:], path[1:], false)
	}
	return pattern[0] == path[0] && oracle(pattern[1:], path[1:], path[0] == '/')
}

// oracleClassEnd is where the class at the front of a pattern is closed, or 0.
func oracleClassEnd(pattern string) int {
	for i := 1; i < len(pattern) && pattern[i] != '/'; i++ {
		first := i == 1 || (i == 2 && (pattern[1] == '!' || pattern[1] == '^'))
		if pattern[i] == ']' && !first {
			return i
		}
	}
	return 0
}

func oracleClass(members string, c byte) bool {
	negated := members[0] == '!' || members[0] == '^'
	if negated {
		members = members[1:]
	}
	in := false
	for i := 0; i < len(members); i++ {
		if i+2 < len(members) && members[i+1] == '-' {
			in = in || (members[i] <= c && c <= members[i+2])
			i += 2
			continue
		}
		in = in || members[i] == c
	}
	return in != negated
}

// FuzzGlob: the matcher agrees with the grammar on every short pattern and path. R63.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"*", "a"}, {"**/x", "a/x"}, {"a**b", "a/b"}, {"[a-c]?", "bz/q"}, {"[!]a]*", "b"}, {"[x", "[x"}, {"*/**/b*", "a/b/bc"}, {"**a**/b", "xa/y/b"}, {"a?/*[^/]", "ab/c"}, {"***/", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rest, rel string) {
		ascii := func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || r == 0 }) < 0 }
		clean, why := cleanQuery("/" + rel)
		if len(rest) > 14 || len(rel) > 14 || !ascii(rest) || !ascii(rel) || why != "" || clean != "/"+rel || rel == "" || rest == "" {
			t.Skip()
		}
		p, err := compilePattern(rest, false)
		if err != nil {
			t.Skip()
		}
		want := -1
		for i := 1; i <= len(rel) && want < 0; i++ {
			if (i == len(rel) || rel[i] == '/') && oracle(rest, rel[:i], true) {
				want = i
			}
		}
		require.Equal(t, want, p.match(rel), "%q on %q", rest, rel)
		folded, err := compilePattern(rest, true)
		require.NoError(t, err)
		if want >= 0 { // ignoring case finds no less, unless a class says what is not
			require.True(t, strings.ContainsAny(rest, "!^") || folded.match(foldPath(rel)) >= 0, "%q on %q", rest, rel)
		}
	})
}

// FuzzDecide: no question makes a decision panic, and what may be written is covered by an allow and by no deny, as a
// plain reading of the lists has it. R34, R35, R49.
func FuzzDecide(f *testing.F) {
	f.Add("/w", "/w/no", "/w/s", "/w/s/ok", "/w/no/x", uint8(0))
	f.Add("/w/*", "**/*.pem", "/", "/w", "/w/a/b.pem", uint8(1))
	f.Add("**", "/[z-a]", "/w/[ab]", "/w/[ab]", "/W/a", uint8(2))
	f.Add("/", "/tmp/x", "/tmp", "/tmp/y", "/tmp/y/.git/hooks/a.sample", uint8(4))
	f.Add("/w/.git", "/w/.gits", "/q", "/q", "/w/.GIT/Hooks", uint8(0))
	f.Fuzz(func(t *testing.T, allowWrite, denyWrite, denyRead, allowRead, path string, mode uint8) {
		p := Policy{Filesystem: Filesystem{AllowWrite: Paths(allowWrite), DenyWrite: Paths(denyWrite), DenyRead: Paths(denyRead), AllowRead: Paths(allowRead)}}
		o := CompileOptions{Platform: Platform(mode % 3)}
		if mode&4 != 0 {
			o.Private = jail
		}
		r, err := p.Compile(o)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		read, write, mkdir := r.Read(path), r.Write(path), r.Mkdir(path)
		r.Derived()
		r.WritableRoots()
		_, component := r.MandatoryComponent(path)
		clean, why := cleanQuery(path)
		if why != "" {
			require.False(t, read.Allowed || write.Allowed || mkdir.Allowed || component)
			return
		}
		require.True(t, !write.Allowed || mkdir.Allowed, "a directory is no harder to make than a file")
		_, private := r.PrivateAt(path)
		key := r.key(clean)
		covered := func(l *pathList) bool { return l.covering(key) != nil }
		if write.Allowed {
			_, device := r.defaultWrite(key)
			require.True(t, covered(&r.allowWrite) || device || private, write.Reason)
			require.False(t, covered(&r.denyWrite), write.Reason)
			require.True(t, private || read.Allowed, write.Reason)
			if !private && !device {
				_, mandatory := r.mandatory(key)
				require.False(t, mandatory)
			}
		}
		if !read.Allowed && !private {
			require.True(t, covered(&r.denyRead), read.Reason)
		}
		// A deny holds for everything below what it names.
		if write.Rule.List == "denyWrite" {
			require.False(t, r.Write(under(clean, "below")).Allowed)
		}
	})
}

// FuzzHost: the canonical spelling is its own canonical spelling, is what net/netip reads where that reads anything, and
// decides as the spelling that was given does.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"example.com", "EXAMPLE.com.", "127.1", "0x7f.1", "2130706433", "::ffff:1.2.3.4", "[::1]", "fe80::1%eth0", "a\x00b", "010.0.0.1", "1.2.3.4.", "xn--a", "-a", "0x", "::1.2.3.4"} {
		f.Add(seed, "*."+seed, 443)
	}
	f.Fuzz(func(t *testing.T, hostname, entry string, port int) {
		n := Network{AllowedDomains: []string{"127.0.0.0/8", "example.com"}}
		if d, fault := parseDomain(entry); fault == nil {
			n.AllowedDomains = append(n.AllowedDomains, entry)
			again, fault := parseDomain(d.canonical())
			require.Nil(t, fault, "%q from %q", d.canonical(), entry)
			require.Equal(t, d, again)
		}
		r, err := Policy{Network: n}.Compile(CompileOptions{})
		require.NoError(t, err)
		given := r.Connect(hostname, port)
		canonical, err := CanonicalHost(hostname)
		addr, parseErr := netip.ParseAddr(hostname)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.False(t, given.Allowed)
			require.True(t, parseErr != nil || addr.Zone() != "", "%q is an address", hostname)
			return
		}
		again, err := CanonicalHost(canonical)
		require.NoError(t, err)
		require.Equal(t, canonical, again)
		require.False(t, strings.ContainsAny(canonical, "\x00\r\n %[]"), "%q", canonical)
		if parseErr == nil {
			require.Equal(t, addr.Unmap().String(), canonical)
		}
		require.Equal(t, given, r.Connect(canonical, port))
		if _, err := netip.ParseAddr(canonical); err == nil && given.Allowed {
			require.NotContains(t, given.Rule.Entry, "*", "a wildcard covers no address")
		}
	})
}
