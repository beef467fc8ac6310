package policy

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiled compiles a policy by spelling alone.
func compiled(t testing.TB, p Policy) *Rules {
	t.Helper()
	r, err := p.Compile(CompileOptions{Private: jail})
	require.NoError(t, err)
	return r
}

// TestSubset: each axis, in the direction that widens and in the one that does not (R69, R70).
func TestSubset(t *testing.T) {
	files := func(f Filesystem) Policy { return Policy{Filesystem: f} }
	hosts := func(n Network) Policy { return Policy{Network: n} }
	for name, c := range map[string]struct {
		narrow, wide Policy
		axis, entry  string
	}{
		"nothing":      {files(Filesystem{DenyRead: Paths("/s")}), Policy{}, "filesystem.denyRead", "/s"}, // which reads everything
		"denyRead":     {files(Filesystem{DenyRead: Paths("/s", "/t")}), files(Filesystem{DenyRead: Paths("/s")}), "filesystem.denyRead", "/t"},
		"allowRead":    {files(Filesystem{DenyRead: Paths("/s")}), files(Filesystem{DenyRead: Paths("/s"), AllowRead: Paths("/s/ok")}), "filesystem.allowRead", "/s/ok"},
		"allowWrite":   {files(Filesystem{}), files(Filesystem{AllowWrite: Paths("/w")}), "filesystem.allowWrite", "/w"},
		"a part":       {files(Filesystem{AllowWrite: Paths("/w")}), files(Filesystem{AllowWrite: Paths("/w", "/v")}), "filesystem.allowWrite", "/v"},
		"denyWrite":    {files(Filesystem{AllowWrite: Paths("/w"), DenyWrite: Paths("/w/a")}), files(Filesystem{AllowWrite: Paths("/w")}), "filesystem.denyWrite", "/w/a"},
		"a glob":       {files(Filesystem{DenyRead: Paths("/**/*.key")}), files(Filesystem{}), "filesystem.denyRead", "/**/*.key"},
		"disabled":     {files(Filesystem{}), files(Filesystem{Disabled: true}), "filesystem.disabled", ""},
		"git config":   {files(Filesystem{}), files(Filesystem{AllowGitConfig: true}), "filesystem.allowMandatory", ".git/config"},
		"a name":       {files(Filesystem{}), files(Filesystem{AllowMandatory: []string{".envrc"}}), "filesystem.allowMandatory", ".envrc"},
		"a host":       {hosts(Network{AllowedDomains: []string{"a.test"}}), hosts(Network{AllowedDomains: []string{"A.test", "b.test"}}), "network.allowedDomains", "b.test"},
		"denied host":  {hosts(Network{DeniedDomains: []string{"a.test"}}), hosts(Network{}), "network.deniedDomains", "a.test"},
		"unrestricted": {hosts(Network{AllowedDomains: []string{"a.test"}}), hosts(Network{Unrestricted: true}), "network.disabled", ""},
		"every name":   {hosts(Network{AllowedDomains: []string{"*"}}), hosts(Network{Unrestricted: true}), "network.disabled", ""},
		"a socket":     {hosts(Network{}), hosts(Network{AllowUnixSockets: []string{"/run/a.sock"}}), "network.allowUnixSockets", "/run/a.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			narrow, wide := compiled(t, c.narrow), compiled(t, c.wide)
			require.NoError(t, Subset(narrow, narrow))
			require.NoError(t, Subset(wide, wide))
			require.NoError(t, Subset(narrow, wide))
			err := Subset(wide, narrow)
			require.ErrorIs(t, err, ErrWider)
			var e *SubsetError
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.axis, e.Axis)
			require.Equal(t, c.entry, e.Entry)
			require.Regexp(t, `^wider policy: [^\n]+$`, err.Error())
		})
	}
}

// TestSubsetConservative: what is not plainly the same is refused, and so is what only looks narrower.
func TestSubsetConservative(t *testing.T) {
	write := func(paths ...string) *Rules {
		return compiled(t, Policy{Filesystem: Filesystem{AllowWrite: Paths(paths...)}})
	}
	require.ErrorIs(t, Subset(write("/a/b"), write("/a*")), ErrWider, "two patterns compare only when they are the same")
	require.ErrorIs(t, Subset(write("/a/b"), write("/a")), ErrWider, "a directory below has to be named")
	require.NoError(t, Subset(write("/a*"), write("/a*", "/b")))

	inner, outer := write("/a", "/a/b"), write("/a")
	require.False(t, inner.Write("/a/b/.envrc").Allowed)
	require.True(t, outer.Write("/a/b/.envrc").Allowed)
	require.ErrorIs(t, Subset(outer, inner), ErrWider, "a root that is left out takes the names at its top along")

	above, below := write("/", "/.envrc/a"), write("/.envrc/a")
	require.False(t, above.Write("/.envrc/a/x").Allowed)
	require.True(t, below.Write("/.envrc/a/x").Allowed)
	require.ErrorIs(t, Subset(below, above), ErrWider, "and so does one above")
	require.NoError(t, Subset(write("/a/b"), write("/a", "/a/b")))

	none, err := Policy{Filesystem: Filesystem{AllowWrite: []PathEntry{{Path: "/o", Optional: true}}}}.Compile(CompileOptions{
		Resolve: func(string) (string, error) { return "", os.ErrNotExist }})
	require.NoError(t, err)
	there, err := Policy{Filesystem: Filesystem{AllowWrite: []PathEntry{{Path: "/o", Optional: true}}}}.Compile(CompileOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, Subset(there, none), ErrWider, "what was absent is allowed by nobody")
	require.NoError(t, Subset(none, there))

	mac, err := Policy{}.Compile(CompileOptions{Platform: Darwin})
	require.NoError(t, err)
	linux, err := Policy{}.Compile(CompileOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, Subset(mac, linux), ErrWider)
	require.ErrorIs(t, Subset(linux, compiled(t, Policy{})), ErrWider, "what is private there is the host's here")
}

// subsetCases is how many pairs TestSubsetSound looks at; SALLYPORT_SUBSET_CASES sets another number.
const subsetCases = 10_000

// TestSubsetSound: whatever is admitted allows no path and no host that the other policy denies (R71).
func TestSubsetSound(t *testing.T) {
	n := subsetCases
	if s := os.Getenv("SALLYPORT_SUBSET_CASES"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	admitted := 0
	for i := range n {
		if soundPair(t, rand.New(rand.NewPCG(uint64(i), 7))) {
			admitted++
		}
	}
	t.Logf("%d of %d pairs were admitted", admitted, n)
	require.Greater(t, admitted, n/10, "the pairs are worth looking at")
}

// FuzzSubsetSound is TestSubsetSound from seeds of the fuzzer's.
func FuzzSubsetSound(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { soundPair(t, rand.New(rand.NewPCG(a, b))) })
}

// soundPair makes two policies and, when one is said to be a part of the other, looks for something it allows and the other denies.
func soundPair(t testing.TB, rnd *rand.Rand) bool {
	platform := []Platform{Linux, Linux, Darwin, Windows}[rnd.IntN(4)]
	compile := func(p Policy) *Rules {
		r, err := p.Compile(CompileOptions{Platform: platform, Private: jail})
		if err != nil {
			return nil
		}
		return r
	}
	p := randomPolicy(rnd)
	parent, child := compile(p), compile(mutated(rnd, p))
	if parent == nil || child == nil || Subset(child, parent) != nil {
		return false
	}
	for range 60 {
		path := randomPath(rnd)
		for _, ask := range []func(*Rules, string) Decision{(*Rules).Read, (*Rules).Write, (*Rules).Mkdir, (*Rules).UnixSocket} {
			c, p := ask(child, path), ask(parent, path)
			own := c.Rule.List == ListPrivate || c.Rule.List == ListDefault && strings.HasPrefix(c.Rule.Entry, "/dev/")
			if c.Allowed && !p.Allowed && !own {
				t.Fatalf("%s: child %+v\nparent %+v\nchild policy %+v\nparent policy %+v", path, c, p, child.policy, parent.policy)
			}
		}
		host, port := randomHost(rnd), []int{80, 443}[rnd.IntN(2)]
		if child.Connect(host, port).Allowed && !parent.Connect(host, port).Allowed || child.Lookup(host).Allowed && !parent.Lookup(host).Allowed {
			t.Fatalf("%s:%d\nchild policy %+v\nparent policy %+v", host, port, child.policy.Network, parent.policy.Network)
		}
	}
	return true
}

// The pieces of random policies and questions: few, so that they meet.
var (
	somePieces = strings.Fields("a b a b w w .git hooks config .envrc .ENVRC .bashrc .Git modules x.sample tmp")
	someGlobs  = strings.Fields("* ** a* *.sample [ab] [z-a] **/a .*")
	someHosts  = strings.Fields("a.test b.a.test A.TEST c.test 10.0.0.1 10.0.0.2 ::1 ::ffff:10.0.0.1 64:ff9b::a00:1")
	someRules  = strings.Fields("a.test *.a.test *.test * a.test:443 10.0.0.0/24 10.0.0.1 10.0.0.1:80 ::1 c.test:80")
)

func randomPath(rnd *rand.Rand) string {
	if rnd.IntN(12) == 0 {
		return []string{"/tmp", "/tmp/a", "/dev/null", "/", "/tmp/a/b"}[rnd.IntN(5)]
	}
	var b strings.Builder
	for range 1 + rnd.IntN(4) {
		b.WriteString("/" + somePieces[rnd.IntN(len(somePieces))])
	}
	return b.String()
}

func randomHost(rnd *rand.Rand) string { return someHosts[rnd.IntN(len(someHosts))] }

func randomEntries(rnd *rand.Rand) []PathEntry {
	var entries []PathEntry
	for range rnd.IntN(4) {
		p := randomPath(rnd)
		if rnd.IntN(4) == 0 {
			p += "/" + someGlobs[rnd.IntN(len(someGlobs))]
		}
		entries = append(entries, PathEntry{Path: p})
	}
	return entries
}

func randomPolicy(rnd *rand.Rand) Policy {
	p := Policy{Filesystem: Filesystem{AllowRead: randomEntries(rnd), DenyRead: randomEntries(rnd), AllowWrite: randomEntries(rnd), DenyWrite: randomEntries(rnd),
		Disabled: rnd.IntN(20) == 0, AllowGitConfig: rnd.IntN(4) == 0}}
	if rnd.IntN(3) == 0 {
		p.Filesystem.AllowMandatory = []string{[]string{".envrc", ".bashrc", ".git/hooks"}[rnd.IntN(3)]}
	}
	if rnd.IntN(10) == 0 {
		p.Network.Unrestricted = true
		return p
	}
	for _, list := range []*[]string{&p.Network.AllowedDomains, &p.Network.DeniedDomains} {
		for range rnd.IntN(4) {
			*list = append(*list, someRules[rnd.IntN(len(someRules))])
		}
	}
	if rnd.IntN(3) == 0 {
		p.Network.AllowUnixSockets = []string{randomPath(rnd)}
	}
	return p
}

// mutated is a policy near another one, as a rule narrower.
func mutated(rnd *rand.Rand, p Policy) Policy {
	p = p.clone()
	f, n := &p.Filesystem, &p.Network
	drop := func(list *[]PathEntry, odds int) {
		if len(*list) > 0 && rnd.IntN(odds) == 0 {
			i := rnd.IntN(len(*list))
			*list = append((*list)[:i:i], (*list)[i+1:]...)
		}
	}
	add := func(list *[]PathEntry, odds int) {
		if rnd.IntN(odds) == 0 {
			*list = append(*list, randomEntries(rnd)...)
		}
	}
	drop(&f.AllowRead, 2)
	drop(&f.AllowWrite, 2)
	drop(&f.DenyRead, 12)
	drop(&f.DenyWrite, 12)
	add(&f.DenyRead, 2)
	add(&f.DenyWrite, 2)
	add(&f.AllowRead, 12)
	add(&f.AllowWrite, 12)
	if rnd.IntN(3) == 0 {
		f.AllowGitConfig, f.AllowMandatory = false, nil
	}
	if rnd.IntN(15) == 0 {
		f.Disabled = !f.Disabled
	}
	if len(n.AllowedDomains) > 0 && rnd.IntN(2) == 0 {
		n.AllowedDomains = n.AllowedDomains[1:]
	}
	if rnd.IntN(4) == 0 && !n.Unrestricted {
		n.DeniedDomains = append(n.DeniedDomains, someRules[rnd.IntN(len(someRules))])
	}
	if rnd.IntN(20) == 0 && !n.Unrestricted {
		n.AllowedDomains = append(n.AllowedDomains, someRules[rnd.IntN(len(someRules))])
	}
	if n.Unrestricted && rnd.IntN(2) == 0 {
		n.Unrestricted = false
	}
	return p
}
