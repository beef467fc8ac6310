package policy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// large has a thousand entries: four hundred plain ones and a hundred patterns an axis.
func large() Policy {
	var p Policy
	for i := range 400 {
		p.Filesystem.DenyRead = append(p.Filesystem.DenyRead, PathEntry{Path: fmt.Sprintf("/srv/data/%d/private", i)})
		p.Filesystem.AllowWrite = append(p.Filesystem.AllowWrite, PathEntry{Path: fmt.Sprintf("/srv/data/%d/out", i)})
	}
	for i := range 100 {
		p.Filesystem.DenyRead = append(p.Filesystem.DenyRead, PathEntry{Path: fmt.Sprintf("**/*.secret%d", i)})
		p.Filesystem.DenyWrite = append(p.Filesystem.DenyWrite, PathEntry{Path: fmt.Sprintf("/srv/data/**/lock%d/*", i)})
	}
	return p
}

func BenchmarkDecide(b *testing.B) {
	r := compile(b, large(), CompileOptions{Private: jail})
	const path = "/srv/data/399/out/build/linux/amd64/objects/main.o"
	for name, ask := range map[string]func(string) Decision{"read": r.Read, "write": r.Write} {
		require.True(b, ask(path).Allowed)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(path)
			}
		})
	}
	b.Run("patterns that nearly match", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Read("/srv/x.secret9/x.secret8/y.secret/z.secret77777")
		}
	})
}

func BenchmarkConnect(b *testing.B) {
	n := Network{}
	for i := range 1000 {
		n.AllowedDomains = append(n.AllowedDomains, fmt.Sprintf("*.host%d.example:443", i))
	}
	r := compile(b, Policy{Network: n}, CompileOptions{})
	b.ReportAllocs()
	for b.Loop() {
		r.Connect("a.b.host999.example", 443)
	}
}

func BenchmarkCompile(b *testing.B) {
	p := large()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Compile(CompileOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A decision over a thousand entries makes a few allocations, for its text, and none an entry.
func TestDecisionAllocations(t *testing.T) {
	r := compile(t, large(), CompileOptions{Private: jail})
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.Read("/srv/data/399/out/x") }), 10.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.Write("/srv/data/399/out/x") }), 10.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.Write("/srv/data/399/private/x") }), 15.0)
}
