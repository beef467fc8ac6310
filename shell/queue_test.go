package shell_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/shell"
)

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
