package policy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
)

// TestReadsBelow: whenever it says that all may be read, no name below may not; and it does say so where nothing is denied.
func TestReadsBelow(t *testing.T) {
	names := []string{"/w", "/w/a", "/w/a/b", "/w/a/b/c", "/w/d", "/w/d/e", "/tmp", "/tmp/x", "/w/a/bb"}
	patterns := []string{"/w/**/c", "/w/a/*", "**/e", "/w/d/?", "/w/[z-a]"}
	said := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		pick := func(most int) (out []policy.PathEntry) {
			for range rng.IntN(most + 1) {
				if rng.IntN(4) == 0 {
					out = append(out, policy.PathEntry{Path: patterns[rng.IntN(len(patterns))]})
				} else {
					out = append(out, policy.PathEntry{Path: names[rng.IntN(len(names))]})
				}
			}
			return out
		}
		p := policy.Policy{Filesystem: policy.Filesystem{AllowRead: pick(2), DenyRead: pick(2)}}
		rules, err := p.Compile(policy.CompileOptions{Private: []policy.PrivateDir{{Path: "/tmp", Why: "own"}}})
		if err != nil {
			continue // a pattern in a private directory
		}
		for _, dir := range append(names, "/") {
			if !rules.ReadsBelow(dir) {
				continue
			}
			said++
			for _, name := range names {
				if dir == "/" || name == dir || len(name) > len(dir) && name[:len(dir)+1] == dir+"/" {
					require.True(t, rules.Read(name).Allowed, "%s below %s: %+v", name, dir, p.Filesystem)
					require.True(t, rules.Read(name+"/more/e/c").Allowed, "%s below %s: %+v", name, dir, p.Filesystem)
				}
			}
		}
	}
	require.Greater(t, said, 3000)
	none, err := policy.Policy{}.Compile(policy.CompileOptions{})
	require.NoError(t, err)
	require.True(t, none.ReadsBelow("/"))
	require.False(t, none.ReadsBelow("relative"))
	all, err := policy.Policy{Filesystem: policy.Filesystem{Disabled: true}}.Compile(policy.CompileOptions{})
	require.NoError(t, err)
	require.True(t, all.ReadsBelow("/w"))
}
