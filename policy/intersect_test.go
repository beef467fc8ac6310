package policy

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIntersect: what both allow, each axis, in both orders (R126).
func TestIntersect(t *testing.T) {
	a := Policy{
		Filesystem: Filesystem{AllowWrite: Paths("/w", "/x/in"), DenyRead: Paths("/s"), AllowRead: Paths("/s/a", "/s/both"), DenyWrite: Paths("/w/no"),
			AllowGitConfig: true, AllowMandatory: []string{".envrc"}},
		Network: Network{AllowedDomains: []string{"a.test", "*.b.test", "10.0.0.0/8"}, DeniedDomains: []string{"d.test"}, DeniedDomainReasons: map[string]string{"d.test": "why"}},
	}
	b := Policy{
		Filesystem: Filesystem{AllowWrite: Paths("/x", "/w/sub", "/y"), DenyRead: Paths("/s", "/t"), AllowRead: Paths("/s/both"), AllowMandatory: []string{".envrc"}},
		Network:    Network{AllowedDomains: []string{"a.test:443", "c.b.test", "b.test", "10.1.0.0/16"}, DeniedDomains: []string{"e.test"}},
	}
	for _, order := range [][2]Policy{{a, b}, {b, a}} {
		r, err := Intersect(compiled(t, order[0]), compiled(t, order[1]))
		require.NoError(t, err)
		d := r.Derived()
		require.ElementsMatch(t, []string{"/w/sub", "/x/in"}, withoutPrefix(d.Write.AllowOnly))
		require.ElementsMatch(t, []string{"/w/no"}, d.Write.DenyWithinAllow)
		require.ElementsMatch(t, []string{"/s", "/t"}, d.Read.DenyOnly)
		require.ElementsMatch(t, []string{"/s/both"}, d.Read.AllowWithinDeny)
		require.Equal(t, []string{".envrc"}, d.MandatoryDeny.Lifted)
		require.ElementsMatch(t, []string{"a.test:443", "c.b.test", "10.1.0.0/16"}, d.Network.AllowedDomains)
		require.ElementsMatch(t, []string{"d.test", "e.test"}, d.Network.DeniedDomains)
		require.Equal(t, "why", r.Connect("d.test", 80).Rule.Why)
		again, err := r.Policy().Compile(CompileOptions{Private: jail})
		require.NoError(t, err, "it is a policy like any other")
		require.NoError(t, Subset(again, r))
		require.NoError(t, Subset(r, again))
	}
	open, err := Intersect(compiled(t, a), compiled(t, Policy{Filesystem: Filesystem{Disabled: true}, Network: Network{Unrestricted: true}}))
	require.NoError(t, err)
	require.NoError(t, Subset(compiled(t, a), open), "with one that allows everything, it is the other")

	mac, err := Policy{}.Compile(CompileOptions{Platform: Darwin})
	require.NoError(t, err)
	_, err = Intersect(mac, compiled(t, Policy{}))
	require.ErrorIs(t, err, ErrWider)
}

// withoutPrefix takes out what every policy lets be written.
func withoutPrefix(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !strings.HasPrefix(p, "/dev") && !strings.HasPrefix(p, "/tmp") && !strings.HasPrefix(p, "/var/tmp") {
			out = append(out, p)
		}
	}
	return out
}

// TestWithFilesOf: the rules about hosts and sockets stay, those about files are the other one's.
func TestWithFilesOf(t *testing.T) {
	a := compiled(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/a")}, Network: Network{AllowedDomains: []string{"a.test"}, AllowUnixSockets: []string{"/run/a"}}})
	b := compiled(t, Policy{Filesystem: Filesystem{AllowWrite: Paths("/b"), AllowGitConfig: true}, Network: Network{AllowedDomains: []string{"b.test"}}})
	both := a.WithFilesOf(b)
	require.False(t, both.Write("/a/x").Allowed)
	require.True(t, both.Write("/b/.git/config").Allowed)
	require.True(t, both.Connect("a.test", 80).Allowed)
	require.True(t, both.UnixSocket("/run/a").Allowed)
	require.False(t, both.Connect("b.test", 80).Allowed)
	require.True(t, a.Write("/a/x").Allowed, "the first one has not changed")
}

// TestIntersectSound: an intersection allows no path and no host that either side denies. SALLYPORT_SUBSET_CASES sets how many pairs.
func TestIntersectSound(t *testing.T) {
	n := subsetCases
	if s := os.Getenv("SALLYPORT_SUBSET_CASES"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	allows := 0
	for i := range n {
		if commonPair(t, rand.New(rand.NewPCG(uint64(i), 9))) {
			allows++
		}
	}
	t.Logf("%d of %d intersections let something be written", allows, n)
	require.Greater(t, allows, n/20, "the pairs are worth looking at")
}

// FuzzIntersectSound is TestIntersectSound from seeds of the fuzzer's.
func FuzzIntersectSound(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { commonPair(t, rand.New(rand.NewPCG(a, b))) })
}

// commonPair intersects two policies, and says whether the result lets anything be written.
func commonPair(t testing.TB, rnd *rand.Rand) (writes bool) {
	o := CompileOptions{Platform: []Platform{Linux, Linux, Darwin, Windows}[rnd.IntN(4)], Private: jail}
	p := randomPolicy(rnd)
	q := mutated(rnd, mutated(rnd, p))
	if rnd.IntN(3) == 0 {
		q = randomPolicy(rnd)
	}
	a, err := p.Compile(o)
	if err != nil {
		return false
	}
	b, err := q.Compile(o)
	if err != nil {
		return false
	}
	common, err := Intersect(a, b)
	require.NoError(t, err)
	again, err := common.Policy().Compile(o)
	require.NoError(t, err, "%+v", common.Policy())
	for _, side := range []*Rules{a, b} {
		for _, rules := range []*Rules{common, again} {
			writes = noWider(t, rnd, rules, side) || writes
		}
	}
	return writes
}

// noWider asks both about random paths and hosts, and says whether child lets any be written that is not its own.
func noWider(t testing.TB, rnd *rand.Rand, child, parent *Rules) (writes bool) {
	for range 40 {
		path := randomPath(rnd)
		for i, ask := range []func(*Rules, string) Decision{(*Rules).Read, (*Rules).Write, (*Rules).Mkdir, (*Rules).UnixSocket} {
			c, p := ask(child, path), ask(parent, path)
			own := c.Rule.List == ListPrivate || c.Rule.List == ListDefault && strings.HasPrefix(c.Rule.Entry, "/dev/")
			writes = writes || i == 1 && c.Allowed && !own
			if c.Allowed && !p.Allowed && !own {
				t.Fatalf("%s: %+v\nside %+v\ncommon policy %+v\nside's policy %+v", path, c, p, child.policy, parent.policy)
			}
		}
		host, port := randomHost(rnd), []int{80, 443}[rnd.IntN(2)]
		if child.Connect(host, port).Allowed && !parent.Connect(host, port).Allowed || child.Lookup(host).Allowed && !parent.Lookup(host).Allowed {
			t.Fatalf("%s:%d\ncommon %+v\nside %+v", host, port, child.policy.Network, parent.policy.Network)
		}
	}
	return writes
}

// TestIntersectLostRoots: a directory that is left out takes the names at its top along, so a pattern that reaches into it goes too.
func TestIntersectLostRoots(t *testing.T) {
	write := func(paths ...string) *Rules {
		return compiled(t, Policy{Filesystem: Filesystem{AllowWrite: Paths(paths...)}})
	}
	rooted, plain := write("/w/**/x", "/w/a/b"), write("/w/**/x")
	const name = "/w/a/b/.ssh/x"
	require.False(t, rooted.Write(name).Allowed)
	require.True(t, plain.Write(name).Allowed)
	for _, pair := range [][2]*Rules{{rooted, plain}, {plain, rooted}} {
		common, err := Intersect(pair[0], pair[1])
		require.NoError(t, err)
		require.False(t, common.Write(name).Allowed)
	}
	same, err := Intersect(plain, plain)
	require.NoError(t, err)
	require.True(t, same.Write(name).Allowed, "the control: nothing is left out")
}
