package shell_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestDriftAxes: before every command what is in force is compared with what was admitted, on every axis: a wider one refuses
// before anything is started, a narrower one passes (R118, R119).
func TestDriftAxes(t *testing.T) {
	for _, a := range axes(t) {
		t.Run(a.name, func(t *testing.T) {
			f := &fake{caps: able}
			m, w := managed(f)
			s := session(t, m, shell.SessionOptions{Policy: a.narrow, Enforcer: f})
			require.NoError(t, runIn(t, s))
			f.last.set(t, a.wide)
			wider(t, runIn(t, s), a.axis, a.entry)
			require.Equal(t, 1, f.count("start"))
			events := w.of(shell.EventDrift)
			require.Equal(t, shell.Failed, events[len(events)-1].Outcome)
			require.Equal(t, a.axis, events[len(events)-1].Subject)
			require.NoError(t, s.Dispose())

			s = session(t, m, shell.SessionOptions{Policy: a.wide, Enforcer: f})
			f.last.set(t, a.narrow)
			require.NoError(t, runIn(t, s), "narrower is no drift")
		})
	}
}

// TestDriftNeitherNamed: a pattern that means nothing is drift on any list, and so are rules that the enforcer cannot say any
// more, as when its own have a key that this package does not know (R119).
func TestDriftNeitherNamed(t *testing.T) {
	f := &fake{caps: able}
	m, w := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	f.last.set(t, policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths("/srv/[z-a]")}})
	wider(t, runIn(t, s), "undecidableGlobs", "denyRead[0] /srv/[z-a]")
	f.last.set(t, policy.Policy{})
	require.NoError(t, runIn(t, s))
	f.last.err = errors.New("unknown key")
	err := runIn(t, s)
	require.Equal(t, shell.CodePolicyConflict, shell.CodeOf(err), "%v", err)
	events := w.of(shell.EventDrift)
	require.Equal(t, "the rules in force cannot be derived", events[len(events)-1].Detail)
	f.last.err = nil
}

// TestDriftReportedNextCall: a command that runs while something widens what is in force goes on, and it is the next one that
// is refused: detection is not prevention (R120, R121).
func TestDriftReportedNextCall(t *testing.T) {
	f := &fake{caps: able}
	going := make(chan struct{})
	f.body = func(ctx context.Context, _ *shell.Cmd) (shell.Completion, error) {
		<-going
		return shell.Completion{}, ctx.Err()
	}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	c := s.Command(t.Context(), "program")
	c.Dir = "/"
	require.NoError(t, c.Start())
	f.last.set(t, hosts("a.test", "b.test"))
	wider(t, runIn(t, s), "network.allowedDomains", "b.test")
	close(going)
	require.NoError(t, c.Wait())
}

// TestDriftSkipLogged: where the baseline has no network rules domains are not compared, and that is told (R122).
func TestDriftSkipLogged(t *testing.T) {
	f := &fake{caps: able}
	m, w := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: policy.Policy{Network: policy.Network{Unrestricted: true}}, Enforcer: f})
	require.NoError(t, runIn(t, s))
	events := w.of(shell.EventDrift)
	require.Len(t, events, 2)
	require.Equal(t, shell.Skipped, events[0].Outcome)
	require.Equal(t, "network-domains", events[0].Subject)
	require.Equal(t, shell.Passed, events[1].Outcome)
}

// TestDriftOfAScope: a later session's own scope is compared too.
func TestDriftOfAScope(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	f.last.set(t, hosts("a.test", "b.test"))
	wider(t, runIn(t, s), "network.allowedDomains", "b.test")
}

// TestDriftBeforeOpening: while what is in force is wider than the baseline, no session is opened on it (R118).
func TestDriftBeforeOpening(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	f.last.set(t, hosts("a.test", "b.test"))
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	wider(t, err, "network.allowedDomains", "b.test")
	require.Zero(t, f.count("scope"))
}
