package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func movePolicy() Filesystem {
	return Filesystem{
		AllowWrite: Paths("/w"),
		DenyRead:   Paths("/w/s", "/w/**/secret/*.pem"),
		DenyWrite:  Paths("/w/a/b/kept", "/w/**/*.lock", "/w/p*/q/r", "/w/later/deep"),
	}
}

// TestMove: a directory or link may not come to stand where a mandatory name begins, where something denied lies below, or
// where a pattern has come further than at the old place.
func TestMove(t *testing.T) {
	r := compile(t, Policy{Filesystem: movePolicy()}, CompileOptions{})
	for _, tc := range []struct {
		from, to string
		list     string // that refuses; "" when it is allowed
	}{
		{"/w/x", "/w/y", ""},
		{"/w/x", "/w/d/y", ""},
		{"/w/x", "/out/y", ListDefault},
		{"/out/x", "/w/y", ListDefault},
		{"/w/x", "/w/.git", ListMandatory},
		{"/w/x", "/w/d/.GIT", ListMandatory},
		{"/w/.git", "/w/x", ListMandatory},
		{"/w/d/.git/hooks", "/w/x", ListMandatory},
		{"/w/x", "/w/.claude", ListMandatory},
		{"/w/x", "/w/.git/modules/sub", ListMandatory},
		{"/w/a", "/w/y", "denyWrite"},     // takes /w/a/b/kept along
		{"/w/x", "/w/a", "denyWrite"},     // could bring it
		{"/w/x", "/w/later", "denyWrite"}, // nothing is there yet
		{"/w/x", "/w/s", "denyRead"},
		{"/w/x", "/w/y.lock", "denyWrite"},
		{"/w/x", "/w/p1", "denyWrite"},   // q/r below would match
		{"/w/p1/q", "/w/q", "denyWrite"}, // r below matches here, and there no more
		{"/w/p1", "/w/p2", ""},           // equally far
		{"/w/secret", "/w/x", "denyRead"},
		{"/w/x", "/w/d/secret", "denyRead"},
		{"/w/d/secret", "/w/e/secret", ""},

		{"", "/w/y", ""},
		{"", "/w/.git", ListMandatory},
		{"", "/w/.bashrc", ListMandatory},
		{"", "/w/a", "denyWrite"},
		{"", "/w/secret", "denyRead"},
		{"", "/w/.git/modules/sub", ""}, // git tries whether it can
	} {
		d := r.Move(tc.from, tc.to)
		got := d.Rule.List
		if d.Allowed {
			got = ""
		}
		require.Equal(t, tc.list, got, "from %q to %q: %s", tc.from, tc.to, d.Reason)
		require.NotEmpty(t, d.Reason)
	}
	off := compile(t, Policy{Filesystem: Filesystem{Disabled: true}}, CompileOptions{})
	require.True(t, off.Move("/w/x", "/w/.git").Allowed)
}

// TestMoveKeepsDecisions: what is inside a directory that may be moved is judged at the new place as at the old one, by
// every rule: a decision that was made before stays true.
func TestMoveKeepsDecisions(t *testing.T) {
	names := []string{"a", "b", "kept", "p1", "p2", "q", "r", "s", "secret", "x.pem", "y.lock", "later", "deep", ".git", "hooks",
		"config", ".GIT", "modules", ".claude", "commands", ".bashrc", ".vscode", "plain"}
	random := rand.New(rand.NewPCG(1, 2))
	path := func(most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteString("/" + names[random.IntN(len(names))])
		}
		return b.String()
	}
	r := compile(t, Policy{Filesystem: movePolicy()}, CompileOptions{})
	moved := 0
	for range 20_000 {
		from, to := "/w"+path(3), "/w"+path(3)
		if strings.HasPrefix(to+"/", from+"/") || strings.HasPrefix(from+"/", to+"/") || !r.Move(from, to).Allowed {
			continue
		}
		moved++
		for range 20 {
			inside := path(3)
			before, after := r.Write(from+inside), r.Write(to+inside)
			require.Equal(t, before.Allowed, after.Allowed, "%s in %s moved to %s: %s; %s", inside, from, to, before.Reason, after.Reason)
			require.Equal(t, r.Read(from+inside).Allowed, r.Read(to+inside).Allowed, "%s in %s moved to %s", inside, from, to)
		}
	}
	require.Greater(t, moved, 1000)
}
