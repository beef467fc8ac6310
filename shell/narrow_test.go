package shell_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestNarrowSubset: a session is narrowed to what is no wider, on every axis, and never the other way (R123, R124).
func TestNarrowSubset(t *testing.T) {
	for _, a := range axes(t) {
		t.Run(a.name, func(t *testing.T) {
			f := &fake{caps: able}
			m, _ := managed(f)
			s := session(t, m, shell.SessionOptions{Policy: a.narrow, Enforcer: f})
			wider(t, s.Narrow(t.Context(), a.wide), a.axis, a.entry)
			require.Zero(t, f.count("narrow"))
			require.NoError(t, s.Dispose())

			s = session(t, m, shell.SessionOptions{Policy: a.wide, Enforcer: f})
			require.NoError(t, s.Narrow(t.Context(), a.narrow))
			rules, err := s.EffectivePolicy()
			require.NoError(t, err)
			require.Equal(t, a.narrow.Network.AllowedDomains, rules.Policy().Network.AllowedDomains)
			require.NoError(t, runIn(t, s), "what runs next runs under it")
			wider(t, s.Narrow(t.Context(), a.wide), a.axis, a.entry)
			_, err = m.Open(t.Context(), shell.SessionOptions{Policy: a.wide, Enforcer: f})
			wider(t, err, a.axis, a.entry) // the baseline is the narrower one
			f.last.set(t, a.wide)
			wider(t, runIn(t, s), a.axis, a.entry) // and what was admitted once is drift now
		})
	}
}

// TestNarrowUnsupported: an enforcer that cannot is a typed error that names the axis (R125, R19); nothing has changed.
func TestNarrowUnsupported(t *testing.T) {
	f := &fake{}
	m, _ := managed(f)
	p := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(t.TempDir())}, Network: policy.Network{AllowedDomains: []string{"a.test"}}}
	s := session(t, m, shell.SessionOptions{Policy: p, Enforcer: f})
	for axis, narrower := range map[string]policy.Policy{
		"filesystem": {Network: p.Network},
		"network":    {Filesystem: p.Filesystem},
	} {
		err := s.Narrow(t.Context(), narrower)
		require.Equal(t, shell.CodeNarrowingUnsupported, shell.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "narrow "+axis+":")
	}
	require.NoError(t, s.Narrow(t.Context(), p), "the same policy needs nothing done")
	require.Zero(t, f.count("narrow"))
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, p.Network.AllowedDomains, rules.Policy().Network.AllowedDomains)
}

// TestNarrowThatLies: when an enforcer says that it has narrowed and has not, the session says so, and runs nothing more.
func TestNarrowThatLies(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	first := f.last
	f.before = func(what string) {
		if what == "rules" {
			first.set(t, hosts("a.test"))
		}
	}
	wider(t, s.Narrow(t.Context(), hosts()), "network.allowedDomains", "a.test")
	wider(t, runIn(t, s), "network.allowedDomains", "a.test")
	f.before = nil
	f.narrow = errors.New("it broke")
	first.set(t, hosts())
	require.Equal(t, shell.CodeFailed, shell.CodeOf(s.Narrow(t.Context(), hosts())))
}

// TestNarrowVsPerCall: a command's own policy changes nothing of the session's; after narrowing it is cut down to what both
// allow, also that of a command which runs (R126).
func TestNarrowVsPerCall(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
	own := hosts("b.test", "a.test")
	require.NoError(t, runIn(t, s, func(c *shell.Cmd) { c.Policy = &own }))
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.Equal(t, []string{"a.test", "b.test"}, rules.Policy().Network.AllowedDomains)

	f.body = untilKilled
	ctx, cancel := context.WithCancel(t.Context())
	c := s.Command(ctx, "program")
	c.Dir, c.Policy = "/", &own
	require.NoError(t, c.Start())
	running := f.last
	require.NoError(t, s.Narrow(t.Context(), hosts("a.test")))
	live, err := running.Rules(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.test"}, live.Policy().Network.AllowedDomains, "the running command")
	cancel()
	require.ErrorIs(t, c.Wait(), context.Canceled)

	f.body = nil
	require.NoError(t, runIn(t, s, func(c *shell.Cmd) { c.Policy = &own }))
	require.Equal(t, []string{"a.test"}, f.last.rules.Policy().Network.AllowedDomains, "a command after it")
}

// TestNarrowReachesOthers: what rests on a session is narrowed with it, and a session that rests on another one narrows itself
// alone.
func TestNarrowReachesOthers(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	owner := session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test", "c.test"), Enforcer: f})
	second := session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
	domains := func(s *shell.Session) []string {
		rules, err := s.EffectivePolicy()
		require.NoError(t, err)
		require.NoError(t, runIn(t, s))
		return rules.Policy().Network.AllowedDomains
	}
	require.NoError(t, second.Narrow(t.Context(), hosts("b.test")))
	require.Equal(t, []string{"a.test", "b.test", "c.test"}, domains(owner))
	require.Equal(t, []string{"b.test"}, domains(second))
	require.NoError(t, owner.Narrow(t.Context(), hosts("a.test")))
	require.Equal(t, []string{"a.test"}, domains(owner))
	require.Empty(t, domains(second))
}

// TestNarrowHoldsForLaterSessions: what narrowing took away is not to be had by a command's own policy in a session that is opened
// afterwards, with a ceiling and without (R126, A23).
func TestNarrowHoldsForLaterSessions(t *testing.T) {
	wide := hosts("a.test", "b.test")
	dir := t.TempDir()
	wide.Filesystem.AllowWrite = policy.Paths(dir)
	for name, ceiling := range map[string]*policy.Policy{"no ceiling": nil, "a ceiling": &wide} {
		t.Run(name, func(t *testing.T) {
			for _, narrow := range []bool{true, false} { // false is the control
				f := &fake{caps: able}
				m := shell.NewManager(shell.ManagerOptions{Ceiling: ceiling})
				owner := session(t, m, shell.SessionOptions{Policy: wide, Enforcer: f})
				if narrow {
					require.NoError(t, owner.Narrow(t.Context(), hosts("a.test")))
				}
				late := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
				require.NoError(t, runIn(t, late, func(c *shell.Cmd) { c.Policy = &wide }))
				got := f.last.rules.Policy()
				require.Equal(t, narrow, len(got.Filesystem.AllowWrite) == 0, "%v", got)
				require.Equal(t, narrow, len(got.Network.AllowedDomains) == 1, "%v", got)
			}
		})
	}
}

// TestNarrowWaitsForStarts: a command is checked and started under one set of rules: narrowing comes before or after it.
func TestNarrowWaitsForStarts(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	reached, let := held(f, "start")
	ran := later(func() error { return runIn(t, s) })
	soon(t, reached, "the start")
	narrowed := later(func() error { return s.Narrow(context.Background(), hosts()) })
	stays(t, narrowed, "it was narrowed in the middle of a start")
	let()
	require.NoError(t, soon(t, ran, "the command"))
	require.NoError(t, soon(t, narrowed, "Narrow"))
}

// TestEpochLifecycle: the token is this session's alone, and for as long as it lives; nothing outside can make one (R127, R128).
func TestEpochLifecycle(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	other := session(t, m, shell.SessionOptions{Enforcer: f})
	require.True(t, s.EpochLive(s.Epoch()))
	require.Equal(t, s.Epoch(), s.Epoch())
	require.False(t, s.EpochLive(other.Epoch()))
	require.False(t, s.EpochLive(shell.Epoch{}))
	for _, field := range reflect.VisibleFields(reflect.TypeFor[shell.Epoch]()) {
		require.False(t, field.IsExported(), field.Name)
	}
	kept := s.Epoch()
	require.NoError(t, s.Dispose())
	require.False(t, s.EpochLive(kept))
	require.False(t, other.EpochLive(other.Epoch()), "it rested on the other one")
	next := session(t, m, shell.SessionOptions{Enforcer: f})
	require.False(t, next.EpochLive(kept), "a later session is another one")
}

// epochReader reads only while the session lives that it was made in.
type epochReader struct {
	session *shell.Session
	epoch   shell.Epoch
	inner   io.Reader
}

func (r epochReader) Read(p []byte) (int, error) {
	if !r.session.EpochLive(r.epoch) {
		return 0, &shell.Error{Code: shell.CodeNotInitialized, Detail: "read a file", Err: shell.ErrDisposed}
	}
	return r.inner.Read(p)
}

// TestReaderOutlivesTurnNotHandle: a reader that holds a token works after the command that it was made for has ended, and not
// after the session has (R129, R18).
func TestReaderOutlivesTurnNotHandle(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	r := epochReader{s, s.Epoch(), strings.NewReader("text")}
	require.NoError(t, runIn(t, s))
	one := make([]byte, 2)
	_, err := r.Read(one)
	require.NoError(t, err)
	require.NoError(t, s.Dispose())
	_, err = r.Read(one)
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err))
}

// TestEffectivePolicyType: what is in force is told as rules, with what a policy cannot say (R130, R131), and not at all when
// nothing is (R132).
func TestEffectivePolicyType(t *testing.T) {
	dir := t.TempDir()
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f, Policy: policy.Policy{Filesystem: policy.Filesystem{
		DenyRead: policy.Paths("/etc"), AllowRead: policy.Paths("/etc/hosts"), AllowWrite: policy.Paths(dir), DenyWrite: policy.Paths(dir + "/no"),
	}}})
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	d := rules.Derived()
	require.Equal(t, []string{"/etc"}, d.Read.DenyOnly)
	require.Len(t, d.Read.AllowWithinDeny, 1)
	require.Contains(t, d.Write.AllowOnly, "/dev/null")
	require.Contains(t, d.DefaultWrite, "/dev/null")
	require.Len(t, d.Write.DenyWithinAllow, 1)
	require.Contains(t, d.MandatoryDeny.Entries, ".bashrc")
	require.True(t, d.Network.StrictAllowlist)
	require.Equal(t, "native", d.Matcher.WriteGlobs)
	require.NoError(t, s.Dispose())
	_, err = s.EffectivePolicy()
	require.Equal(t, shell.CodeNotInitialized, shell.CodeOf(err))
}
