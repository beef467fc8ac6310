package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// axes are policies in pairs, one of which is wider on one axis (R69, R119, R124).
func axes(t testing.TB) []axis {
	w, v := t.TempDir(), t.TempDir()
	files := func(f policy.Filesystem) policy.Policy { return policy.Policy{Filesystem: f} }
	return []axis{
		{"a read deny", files(policy.Filesystem{DenyRead: policy.Paths("/s", "/t")}), files(policy.Filesystem{DenyRead: policy.Paths("/s")}), "filesystem.denyRead", "/t"},
		{"a read allow", files(policy.Filesystem{DenyRead: policy.Paths("/etc")}), files(policy.Filesystem{DenyRead: policy.Paths("/etc"), AllowRead: policy.Paths("/etc/hosts")}), "filesystem.allowRead", "/etc/hosts"},
		{"a write allow", files(policy.Filesystem{AllowWrite: policy.Paths(w)}), files(policy.Filesystem{AllowWrite: policy.Paths(w, v)}), "filesystem.allowWrite", v},
		{"a write deny", files(policy.Filesystem{AllowWrite: policy.Paths(w), DenyWrite: policy.Paths(w + "/a")}), files(policy.Filesystem{AllowWrite: policy.Paths(w)}), "filesystem.denyWrite", w + "/a"},
		{"a mandatory name", files(policy.Filesystem{}), files(policy.Filesystem{AllowGitConfig: true}), "filesystem.allowMandatory", ".git/config"},
		{"files disabled", files(policy.Filesystem{}), files(policy.Filesystem{Disabled: true}), "filesystem.disabled", ""},
		{"a domain", hosts("a.test"), hosts("a.test", "b.test"), "network.allowedDomains", "b.test"},
		{"a denied domain", policy.Policy{Network: policy.Network{DeniedDomains: []string{"d.test"}}}, hosts(), "network.deniedDomains", "d.test"},
		{"network disabled", hosts("*"), policy.Policy{Network: policy.Network{Unrestricted: true}}, "network.disabled", ""},
	}
}

type axis struct {
	name         string
	narrow, wide policy.Policy
	axis, entry  string
}

// TestFirstWriterWins: the first session sets the baseline, and what it enforces (R68, R91).
func TestFirstWriterWins(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	first := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	rules, err := first.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, []string{"a.test"}, rules.Derived().Network.AllowedDomains)
	_, err = m.Open(t.Context(), shell.SessionOptions{Policy: hosts("b.test"), Enforcer: f})
	wider(t, err, "network.allowedDomains", "b.test")
	require.Equal(t, 1, f.count("establish"))
}

// TestSecondHandleSubset: a later session may be no wider, on every axis, in both directions (R69); and the refusal leaves the
// live one as it is (R73).
func TestSecondHandleSubset(t *testing.T) {
	for _, a := range axes(t) {
		t.Run(a.name, func(t *testing.T) {
			f := &fake{caps: able}
			m, _ := managed(f)
			session(t, m, shell.SessionOptions{Policy: a.narrow, Enforcer: f})
			before := f.log()
			_, err := m.Open(t.Context(), shell.SessionOptions{Policy: a.wide, Enforcer: f})
			wider(t, err, a.axis, a.entry)
			require.Equal(t, before, f.log(), "the refusal has asked the enforcer for nothing")

			f = &fake{caps: able}
			m, _ = managed(f)
			session(t, m, shell.SessionOptions{Policy: a.wide, Enforcer: f})
			session(t, m, shell.SessionOptions{Policy: a.wide, Enforcer: f})
			narrow := session(t, m, shell.SessionOptions{Policy: a.narrow, Enforcer: f})
			require.NoError(t, runIn(t, narrow))
			rules, err := narrow.EffectivePolicy()
			require.NoError(t, err)
			require.Equal(t, a.narrow.Network.AllowedDomains, rules.Policy().Network.AllowedDomains, "it has its own policy, and not the baseline")
		})
	}
}

// TestIdenticalPolicyAlwaysAdmitted: the same policy is never found wider than itself, a disabled network included (R69).
func TestIdenticalPolicyAlwaysAdmitted(t *testing.T) {
	for _, a := range axes(t) {
		for _, p := range []policy.Policy{a.narrow, a.wide} {
			f := &fake{caps: able}
			m, _ := managed(f)
			session(t, m, shell.SessionOptions{Policy: p, Enforcer: f})
			session(t, m, shell.SessionOptions{Policy: p, Enforcer: f})
		}
	}
}

// TestPolicyConflictNamesBoth: the error has both policies in its text, and axis, entry and reason for a program (R14, R25, R26).
func TestPolicyConflictNamesBoth(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("b.test"), Enforcer: f})
	e := wider(t, err, "network.allowedDomains", "b.test")
	require.ErrorIs(t, err, policy.ErrWider)
	require.ErrorIs(t, err, &shell.Error{Code: shell.CodePolicyConflict})
	for _, p := range []policy.Policy{hosts("a.test"), hosts("b.test")} {
		text, err := json.Marshal(p)
		require.NoError(t, err)
		require.Contains(t, e.Error(), string(text))
	}
	require.NotEmpty(t, e.Hints)
}

// TestGlobSubsetConservative: two patterns compare only when they are the same, and a path below an allowed one is no entry of
// the baseline's (R70).
func TestGlobSubsetConservative(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	read := func(path string) policy.Policy {
		return policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths("/etc"), AllowRead: policy.Paths(path)}}
	}
	session(t, m, shell.SessionOptions{Policy: read("/etc/h*"), Enforcer: f})
	session(t, m, shell.SessionOptions{Policy: read("/etc/h*"), Enforcer: f})
	for _, covered := range []string{"/etc/h[o]sts", "/etc/hosts"} {
		_, err := m.Open(t.Context(), shell.SessionOptions{Policy: read(covered), Enforcer: f})
		wider(t, err, "filesystem.allowRead", covered)
	}
}

// TestTwoManagersTwoPolicies: several policies in one process, each with its own manager (R72).
func TestTwoManagersTwoPolicies(t *testing.T) {
	for _, host := range []string{"a.test", "b.test"} {
		f := &fake{caps: able}
		m, _ := managed(f)
		s := session(t, m, shell.SessionOptions{Policy: hosts(host), Enforcer: f})
		require.NoError(t, runIn(t, s))
	}
	require.Same(t, shell.DefaultManager(), shell.DefaultManager())
}

// TestConcurrentConstruction: of two constructions with policies that exclude each other one wins, and it is owned (R74).
func TestConcurrentConstruction(t *testing.T) {
	for range 100 {
		f := &fake{caps: able}
		m, w := managed(f)
		results := make(chan *shell.Session, 2)
		for _, host := range []string{"a.test", "b.test"} {
			go func() {
				s, err := m.Open(context.Background(), shell.SessionOptions{Policy: hosts(host), Enforcer: f})
				if err != nil && shell.CodeOf(err) != shell.CodePolicyConflict {
					t.Error(err)
				}
				results <- s
			}()
		}
		var won []*shell.Session
		for range 2 {
			if s := soon(t, results, "a construction"); s != nil {
				won = append(won, s)
			}
		}
		require.Len(t, won, 1)
		require.NoError(t, won[0].Dispose())
		require.Equal(t, 1, f.count("establish"))
		require.Equal(t, 1, f.count("release"), "the survivor owns what is in force")
		require.Empty(t, w.of(shell.EventAdoption))
	}
}

// TestFailedConstructionRollsBack: after a failure, wherever it came, nothing is left, and a policy that would have been a
// conflict is the first (R85).
func TestFailedConstructionRollsBack(t *testing.T) {
	fails := errors.New("it fails")
	for name, breaks := range map[string]func(*fake){
		"preflight": func(f *fake) { f.preErr = fails },
		"establish": func(f *fake) { f.establish = fails },
		"probe":     func(f *fake) { f.startErr = fails },
		"missing":   func(f *fake) { f.preflight.Missing = []string{"something"} },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{caps: able}
			breaks(f)
			m, _ := managed(f)
			_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f, ProbeSpawn: true})
			require.NotEmpty(t, shell.CodeOf(err), "%v", err)
			if name == "probe" {
				require.Equal(t, 1, f.count("release"))
			}
			good := &fake{caps: able}
			s := session(t, m, shell.SessionOptions{Policy: hosts("b.test"), Enforcer: good})
			require.NoError(t, runIn(t, s))
		})
	}
}

// TestRulesThatCannotBeDerived: without rules that are in force there is no baseline, and what was established is released
// (R91).
func TestRulesThatCannotBeDerived(t *testing.T) {
	f := &fake{caps: able}
	f.before = func(what string) {
		if what == "rules" {
			f.mu.Lock()
			f.last.err = errors.New("cannot say")
			f.mu.Unlock()
		}
	}
	m, _ := managed(f)
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.Equal(t, shell.CodePolicyConflict, shell.CodeOf(err), "%v", err)
	require.Equal(t, 1, f.count("release"))
}

// TestEffectivePolicyIsDerived: the baseline is what the enforcer has in force, whatever was asked for (R91).
func TestEffectivePolicyIsDerived(t *testing.T) {
	f := &fake{caps: able}
	f.before = func(what string) {
		if what == "rules" && f.count("rules") == 1 {
			f.last.set(t, hosts("really.test"))
		}
	}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("asked.test"), Enforcer: f})
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, []string{"really.test"}, rules.Derived().Network.AllowedDomains)
	_, err = m.Open(t.Context(), shell.SessionOptions{Policy: hosts("asked.test"), Enforcer: f})
	wider(t, err, "network.allowedDomains", "asked.test")
}

// TestDependencyErrorsVsWarnings: something missing fails the construction, a warning is told and does not (R86, R16).
func TestDependencyErrorsVsWarnings(t *testing.T) {
	f := &fake{caps: able, preflight: shell.Preflight{Missing: []string{"bwrap"}, Warnings: []string{"old kernel"}}}
	m, w := managed(f)
	_, err := m.Open(t.Context(), shell.SessionOptions{Enforcer: f})
	require.Equal(t, shell.CodeDependencyMissing, shell.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "bwrap")
	require.Zero(t, f.count("establish"))

	f.preflight.Missing = nil
	session(t, m, shell.SessionOptions{Enforcer: f})
	require.Len(t, w.of(shell.EventWarnings), 2)
	require.Equal(t, "old kernel", w.of(shell.EventWarnings)[1].Detail)
}

// TestCeiling: with a ceiling no policy of the manager is above it; what lies below one of its entries is covered.
func TestCeiling(t *testing.T) {
	dir := t.TempDir()
	f := &fake{caps: able}
	ceiling := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}, Network: policy.Network{AllowedDomains: []string{"*.test"}}}
	m := shell.NewManager(shell.ManagerOptions{Ceiling: &ceiling})
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.example"), Enforcer: f})
	wider(t, err, "network.allowedDomains", "a.example")
	require.Zero(t, f.count("establish"))
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	above := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(t.TempDir())}}
	err = runIn(t, s, func(c *shell.Cmd) { c.Policy = &above })
	wider(t, err, "filesystem.allowWrite", above.Filesystem.AllowWrite[0].Path)
	below := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}, Network: policy.Network{AllowedDomains: []string{"x.test"}}}
	require.NoError(t, runIn(t, s, func(c *shell.Cmd) { c.Policy = &below }), "a host that the session does not have, under the ceiling")
	bad := shell.NewManager(shell.ManagerOptions{Ceiling: &policy.Policy{Network: policy.Network{AllowedDomains: []string{"http://x"}}}})
	_, err = bad.Open(t.Context(), shell.SessionOptions{Enforcer: f})
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(err), "%v", err)
}

// TestCeilingStays: a link that comes to stand in the place of one of the ceiling's paths takes the ceiling nowhere else, and
// neither does a change of the policy that it was given as (A1, R143).
func TestCeilingStays(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(out, 0o755))
	write := func(paths ...string) policy.Policy {
		return policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(paths...)}}
	}
	ceiling, own, grown := write(dir, out), write(out), write(elsewhere)
	f := &fake{caps: able}
	m := shell.NewManager(shell.ManagerOptions{Ceiling: &ceiling})
	s := session(t, m, shell.SessionOptions{Policy: write(dir, out), Enforcer: f})
	run := func(own *policy.Policy) error { return runIn(t, s, func(c *shell.Cmd) { c.Policy = own }) }
	require.NoError(t, run(&own))

	require.NoError(t, os.Remove(out)) // as a command of the session may
	require.NoError(t, os.Symlink(elsewhere, out))
	wider(t, run(&own), "filesystem.allowWrite", out)
	ceiling.Filesystem.AllowWrite[0].Path = elsewhere
	wider(t, run(&grown), "filesystem.allowWrite", elsewhere)
}

// TestCeilingUnderAdoption: what was adopted may be wider than the ceiling; no session on it is.
func TestCeilingUnderAdoption(t *testing.T) {
	f := &fake{caps: able}
	f.adopted = foreign(t, f, "a.test", "b.test")
	ceiling := hosts("a.test")
	m := shell.NewManager(shell.ManagerOptions{Ceiling: &ceiling})
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("b.test"), Enforcer: f})
	wider(t, err, "network.allowedDomains", "b.test")
}
