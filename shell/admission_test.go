package shell_test

import (
	"context"
	"encoding/json"
	"errors"
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

// held makes the fake wait when it is asked for something, once.
func held(f *fake, what string) (reached <-chan struct{}, let func()) {
	at, going := make(chan struct{}, 1), make(chan struct{})
	f.before = func(called string) {
		if called == what {
			select {
			case at <- struct{}{}:
			default:
			}
			<-going
		}
	}
	return at, func() { close(going) }
}

// TestConstructionQueues: while one construction is in its probe, no other one comes to an end, whether it probes or not
// (R75, R76); and a context ends the wait.
func TestConstructionQueues(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	reached, let := held(f, "start")
	var first *shell.Session
	one := later(func() (err error) {
		first, err = m.Open(context.Background(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f, ProbeSpawn: true})
		return err
	})
	soon(t, reached, "the probe")
	var second *shell.Session
	two := later(func() (err error) {
		second, err = m.Open(context.Background(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
		return err
	})
	stays(t, two, "the second construction did not wait")
	ctx, cancel := context.WithCancel(t.Context())
	three := later(func() error { _, err := m.Open(ctx, shell.SessionOptions{Enforcer: f}); return err })
	cancel()
	err := soon(t, three, "the wait that was cancelled")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, shell.CodeFailed, shell.CodeOf(err))
	let()
	require.NoError(t, soon(t, one, "the first construction"))
	require.NoError(t, soon(t, two, "the second construction"))
	require.NoError(t, second.Dispose())
	require.NoError(t, first.Dispose())
}

// TestDisposeQueues: a slow teardown delays a construction, which then starts from nothing (R77).
func TestDisposeQueues(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	reached, let := held(f, "release")
	gone := later(s.Dispose)
	soon(t, reached, "the teardown")
	var next *shell.Session
	other := &fake{caps: able}
	opened := later(func() (err error) {
		next, err = m.Open(context.Background(), shell.SessionOptions{Policy: hosts("b.test"), Enforcer: other})
		return err
	})
	stays(t, opened, "the construction did not wait")
	let()
	require.NoError(t, soon(t, gone, "Dispose"))
	require.NoError(t, soon(t, opened, "the construction"))
	require.NoError(t, next.Dispose())
}

// TestDisposeDuringConstruction: a construction whose ground is disposed of meanwhile fails, and gives no dead session (R78).
func TestDisposeDuringConstruction(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	owner, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	reached, let := held(f, "start")
	second := later(func() error {
		s, err := m.Open(context.Background(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f, ProbeSpawn: true})
		if s != nil {
			return errors.New("a session came of it")
		}
		return err
	})
	soon(t, reached, "the probe")
	gone := later(owner.Dispose)
	require.Eventually(t, func() bool { return !owner.EpochLive(owner.Epoch()) }, waitLong, waitTick)
	stays(t, gone, "the owner was reset while a construction was on its way")
	require.Zero(t, f.count("release"))
	let()
	err = soon(t, second, "the construction")
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err), "%v", err)
	require.ErrorIs(t, err, shell.ErrDisposed)
	require.NoError(t, soon(t, gone, "Dispose"))
	require.Equal(t, 2, f.count("release"), "the scope of the construction and the ground")
}

// TestSecondaryDisposeHarmless: disposing of a session that owns nothing leaves a construction alone (R79), and what is in
// force (R83).
func TestSecondaryDisposeHarmless(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	owner := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	second, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	reached, let := held(f, "start")
	var third *shell.Session
	building := later(func() (err error) {
		third, err = m.Open(context.Background(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f, ProbeSpawn: true})
		return err
	})
	soon(t, reached, "the probe")
	gone := later(second.Dispose)
	let()
	require.NoError(t, soon(t, building, "the construction"))
	require.NoError(t, soon(t, gone, "Dispose"))
	require.Equal(t, 1, f.count("release"), "its own scope, and no more")
	require.NoError(t, runIn(t, owner))
	require.NoError(t, runIn(t, third))
	require.NoError(t, third.Dispose())
}

// TestDisposeOwnedOnly: the owner's disposal releases what is in force, once, and every session that rests on it ends with a
// typed error (R80, R81, R83, R18); then another policy can be established (R84).
func TestDisposeOwnedOnly(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	owner, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	second, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	require.NoError(t, owner.Dispose())
	require.NoError(t, owner.Dispose())
	require.Equal(t, 2, f.count("release"))
	starts := f.count("start")
	for _, s := range []*shell.Session{owner, second} {
		_, policyErr := s.EffectivePolicy()
		for what, err := range map[string]error{"run": runIn(t, s), "narrow": s.Narrow(t.Context(), hosts()), "policy": policyErr} {
			require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err), "%s: %v", what, err)
			require.ErrorIs(t, err, shell.ErrDisposed, what)
		}
		require.NoError(t, s.Dispose())
	}
	require.Equal(t, starts, f.count("start"))
	session(t, m, shell.SessionOptions{Policy: hosts("other.test"), Enforcer: f})
}

// TestDisposeKillsFirst: commands are killed through their contexts, those of every session that rests on the owner, and are
// gone before anything is released (R82). The live test shows it with real children.
func TestDisposeKillsFirst(t *testing.T) {
	f := &fake{caps: able}
	order := make(chan string, 10)
	f.body = func(ctx context.Context, c *shell.Cmd) (shell.Completion, error) {
		done, err := untilKilled(ctx, c)
		order <- "killed"
		return done, err
	}
	f.before = func(what string) {
		if what == "release" {
			order <- what
		}
	}
	m, _ := managed(f)
	owner, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	second, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, err)
	var waits []<-chan error
	for _, s := range []*shell.Session{owner, second} {
		c := s.Command(t.Context(), "program")
		c.Dir = "/"
		require.NoError(t, c.Start())
		waits = append(waits, later(c.Wait))
	}
	require.NoError(t, owner.Dispose())
	for _, w := range waits {
		err := soon(t, w, "Wait")
		require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err), "%v", err)
		require.ErrorIs(t, err, shell.ErrDisposed)
	}
	for _, want := range []string{"killed", "killed", "release", "release"} {
		require.Equal(t, want, <-order)
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
