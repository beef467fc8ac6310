package shell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// foreign is a sandbox that something else has put in force.
func foreign(t testing.TB, f *fake, allowed ...string) *force {
	t.Helper()
	e := &force{f: f}
	e.set(t, hosts(allowed...))
	return e
}

// adopting is a manager with a fake for which something is in force already.
func adopting(t testing.TB, allowed ...string) (*fake, *shell.Manager, *watcher) {
	t.Helper()
	f := &fake{caps: able}
	f.adopted = foreign(t, f, allowed...)
	m, w := managed(f)
	return f, m, w
}

// TestAdoptReadOnly: what is in force is looked for first (R105) and left as it is: nothing is established, and the rules are
// those of what is there (R106). Disposing of the session is told, and releases nothing (R107).
func TestAdoptReadOnly(t *testing.T) {
	f, m, w := adopting(t, "a.test")
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.Equal(t, []string{"preflight", "adopt", "rules"}, f.log())
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, []string{"a.test"}, rules.Derived().Network.AllowedDomains)
	require.NoError(t, runIn(t, s))
	require.Len(t, w.of(shell.EventAdoption), 1)
	require.NoError(t, s.Dispose())
	require.NoError(t, s.Dispose())
	require.Len(t, w.of(shell.EventAdoption), 2)
	require.Contains(t, w.of(shell.EventAdoption)[1].Detail, "left as it is")
	require.Zero(t, f.count("release"))
	require.Zero(t, f.count("establish"))
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(runIn(t, s)))
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f}) // it is adopted again
}

// TestNoFalseReport: who asks for one policy while another one is in force is refused, or gets what was asked for; the one in
// force is never reported under the other's name (R108).
func TestNoFalseReport(t *testing.T) {
	f, m, _ := adopting(t, "a.test", "b.test")
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("c.test"), Enforcer: f})
	wider(t, err, "network.allowedDomains", "c.test")
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, []string{"a.test"}, rules.Derived().Network.AllowedDomains)
	require.NoError(t, runIn(t, s))
	require.Equal(t, 1, f.count("scope"), "it runs in a scope with its own, narrower policy")
}

// TestAdoptAdmission: the first session on what was adopted has to be a part of it (R117).
func TestAdoptAdmission(t *testing.T) {
	for _, a := range axes(t) {
		t.Run(a.name, func(t *testing.T) {
			f := &fake{caps: able}
			f.adopted = foreign(t, f)
			f.adopted.set(t, a.narrow)
			m, _ := managed(f)
			_, err := m.Open(t.Context(), shell.SessionOptions{Policy: a.wide, Enforcer: f})
			require.Equal(t, shell.CodePolicyConflict, shell.CodeOf(err), "%v", err)
			require.Zero(t, f.count("scope")+f.count("start"))
		})
	}
}

// TestDisabledProvenance: that the network rules are disabled is said of what this package put in force alone (R109). A foreign
// sandbox without any is compared as the list of every name: both lists of domains are always compared (R110, R111).
func TestDisabledProvenance(t *testing.T) {
	f, m, w := adopting(t)
	f.adopted.set(t, policy.Policy{Network: policy.Network{Unrestricted: true}})
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: policy.Policy{Network: policy.Network{Unrestricted: true}}, Enforcer: f})
	wider(t, err, "network.disabled", "")
	s := session(t, m, shell.SessionOptions{Policy: hosts("*"), Enforcer: f})
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.False(t, rules.Derived().Network.Disabled)
	require.Equal(t, []string{"*"}, rules.Derived().Network.AllowedDomains)
	require.NoError(t, runIn(t, s))
	for _, e := range w.of(shell.EventDrift) {
		require.NotEqual(t, shell.Skipped, e.Outcome)
	}

	own := &fake{caps: able}
	m, _ = managed(own)
	s = session(t, m, shell.SessionOptions{Policy: policy.Policy{Network: policy.Network{Unrestricted: true}}, Enforcer: own})
	rules, err = s.EffectivePolicy()
	require.NoError(t, err)
	require.True(t, rules.Derived().Network.Disabled)
}

// TestForeignModeFlip: when the other side switches its network rules off, that is seen as what it does to the list (R112).
func TestForeignModeFlip(t *testing.T) {
	f, m, _ := adopting(t, "a.test")
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.NoError(t, runIn(t, s))
	f.adopted.set(t, policy.Policy{Network: policy.Network{Unrestricted: true}})
	wider(t, runIn(t, s), "network.allowedDomains", "*")
}

// TestForeignWidening: a list that has become longer between two commands refuses the second (R113), even where everything was
// allowed before and nothing has become wider: lists are compared literally, and that is the price (R114). The event says what
// has changed, and not why (R116).
func TestForeignWidening(t *testing.T) {
	f, m, w := adopting(t, "*")
	s := session(t, m, shell.SessionOptions{Policy: hosts("*"), Enforcer: f})
	require.NoError(t, runIn(t, s))
	f.adopted.set(t, hosts("*", "bar.com"))
	wider(t, runIn(t, s), "network.allowedDomains", "bar.com")
	require.Equal(t, 1, f.count("start"))
	events := w.of(shell.EventDrift)
	last := events[len(events)-1]
	require.Equal(t, shell.Failed, last.Outcome)
	require.Equal(t, "network.allowedDomains", last.Subject)
	require.Equal(t, "what is in force has become wider than what was admitted: it is not allowed there", last.Detail)
	f.adopted.set(t, hosts("*"))
	require.NoError(t, runIn(t, s), "when it is what it was, commands run again")
}

// TestEffectivePolicyCaching: what was adopted is asked each time, what is our own is not (R115).
func TestEffectivePolicyCaching(t *testing.T) {
	f, m, _ := adopting(t, "a.test")
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	own := &fake{caps: able}
	other, _ := managed(own)
	o := session(t, other, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: own})
	foreignBefore, ownBefore := f.count("rules"), own.count("rules")
	for range 3 {
		for _, one := range []*shell.Session{s, o} {
			_, err := one.EffectivePolicy()
			require.NoError(t, err)
		}
	}
	require.Equal(t, foreignBefore+3, f.count("rules"))
	require.Equal(t, ownBefore, own.count("rules"))
}

// TestAdoptedIsNotNarrowed: what is somebody else's is not changed.
func TestAdoptedIsNotNarrowed(t *testing.T) {
	f, m, _ := adopting(t, "a.test")
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	err := s.Narrow(t.Context(), hosts())
	require.Equal(t, shell.CodeNarrowingUnsupported, shell.CodeOf(err), "%v", err)
	require.Zero(t, f.count("narrow"))
}

// TestConfinementText: what was found is said in words, and nothing found is no confinement (R105).
func TestConfinementText(t *testing.T) {
	require.Equal(t, "not confined", shell.Confinement{}.String())
	require.False(t, shell.Confinement{Landlock: -1}.Confined())
	for _, c := range []shell.Confinement{{Seccomp: 2}, {NoNewPrivs: true}, {UserNamespace: true}, {Landlock: 1}} {
		require.True(t, c.Confined(), "%s", c)
		require.NotEqual(t, "not confined", c.String())
	}
	all := shell.Confinement{Seccomp: 2, NoNewPrivs: true, UserNamespace: true, Landlock: 3}
	require.Equal(t, "seccomp mode 2, no_new_privs, a user namespace, 3 Landlock domains", all.String())
}
