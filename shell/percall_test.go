package shell_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// under gives a command a policy of its own.
func under(p policy.Policy) func(*shell.Cmd) {
	return func(c *shell.Cmd) { c.Policy = &p }
}

// TestPerCallReplaces: a command's own policy replaces the session's whole, may grant files that the session does not, and is
// gone with the command (R133, R134, R135; the live test shows it with real children).
func TestPerCallReplaces(t *testing.T) {
	base, own := t.TempDir(), t.TempDir()
	files := func(dir string) policy.Policy {
		return policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}}
	}
	var seen []*policy.Rules
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: files(base), Enforcer: f})
	require.NoError(t, runIn(t, s, under(files(own))))
	seen = append(seen, f.last.rules)
	require.True(t, f.last.released)
	require.True(t, seen[0].Write(own+"/x").Allowed)
	require.False(t, seen[0].Write(base+"/x").Rule.List == "allowWrite", "it is no union")
	scopes := f.count("scope")
	require.NoError(t, runIn(t, s))
	require.Equal(t, scopes, f.count("scope"), "the next command runs where the first one did")
}

// TestPerCallAboveBaseline: without a ceiling any file may be granted, and no host that the baseline does not have (A1, A23).
func TestPerCallAboveBaseline(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test", "*.sub.test"), Enforcer: f})
	for _, fine := range []policy.Policy{hosts(), hosts("a.test"), hosts("a.test:443", "x.sub.test")} {
		require.NoError(t, runIn(t, s, under(fine)))
	}
	starts := f.count("start")
	wider(t, runIn(t, s, under(hosts("b.test"))), "network.allowedDomains", "b.test")
	wider(t, runIn(t, s, under(policy.Policy{Network: policy.Network{Unrestricted: true}})), "network.disabled", "")
	wider(t, runIn(t, s, under(policy.Policy{Network: policy.Network{AllowUnixSockets: []string{"/run/x"}}})), "network.allowUnixSockets", "/run/x")
	require.Equal(t, starts, f.count("start"))
}

// TestNetworkEqualityTable: where the enforcer cannot keep a network to one command, a command's own network section has to be
// the session's: as sets, with flag and reasons. Every other one is refused before anything is started (R140, R141, R142, R143, R144); the error
// says what to do (R20), and the completion that it was a refusal (R148).
func TestNetworkEqualityTable(t *testing.T) {
	n := policy.Network{AllowedDomains: []string{"a.test", "b.test"}, DeniedDomains: []string{"d.test"}, DeniedDomainReasons: map[string]string{"d.test": "why"}}
	for name, c := range map[string]struct {
		change func(*policy.Network)
		same   bool
	}{
		"the same":       {func(*policy.Network) {}, true},
		"another order":  {func(n *policy.Network) { n.AllowedDomains = []string{"b.test", "a.test"} }, true},
		"an empty list":  {func(n *policy.Network) { n.AllowUnixSockets = []string{} }, true},
		"wider":          {func(n *policy.Network) { n.AllowedDomains = []string{"a.test", "b.test", "c.test"} }, false},
		"narrower":       {func(n *policy.Network) { n.AllowedDomains = []string{"a.test"} }, false},
		"none":           {func(n *policy.Network) { *n = policy.Network{} }, false},
		"an added deny":  {func(n *policy.Network) { n.DeniedDomains = []string{"d.test", "e.test"} }, false},
		"a removed deny": {func(n *policy.Network) { n.DeniedDomains, n.DeniedDomainReasons = nil, nil }, false},
		"the flag":       {func(n *policy.Network) { *n = policy.Network{Unrestricted: true} }, false},
		"a reason":       {func(n *policy.Network) { n.DeniedDomainReasons = map[string]string{"d.test": "because"} }, false},
		"a socket":       {func(n *policy.Network) { n.AllowUnixSockets = []string{"/run/x.sock"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{caps: shell.Capabilities{Narrowing: true}}
			m, _ := managed(f)
			s := session(t, m, shell.SessionOptions{Policy: policy.Policy{Network: n}, Enforcer: f})
			own := policy.Policy{Network: n}
			c.change(&own.Network)
			cmd := s.Command(t.Context(), "program")
			cmd.Dir, cmd.Policy = "/", &own
			err := cmd.Run()
			if c.same {
				require.NoError(t, err)
				require.False(t, cmd.Completion.Denied)
				return
			}
			require.Equal(t, shell.CodeNetworkGrantUnsupported, shell.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "repeat the session's network section")
			require.Zero(t, f.count("start"))
			require.Zero(t, f.count("scope"))
			require.Equal(t, shell.Completion{ExitCode: -1, Failed: true, Denied: true}, *cmd.Completion)
		})
	}
	f := &fake{}
	m, _ := managed(f)
	session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
	_, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	require.Equal(t, shell.CodeNetworkGrantUnsupported, shell.CodeOf(err), "a session's own network too: %v", err)
}

// TestNetworkEqualityLive: what counts is what is in force now, and not what was when the session was opened (R145).
func TestNetworkEqualityLive(t *testing.T) {
	f := &fake{caps: shell.Capabilities{Narrowing: true}}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
	require.NoError(t, runIn(t, s, under(hosts("a.test", "b.test"))))
	f2 := f.count("start")
	first := f.last
	require.True(t, first.released)
	require.NoError(t, s.Narrow(t.Context(), hosts("a.test")))
	err := runIn(t, s, under(hosts("a.test", "b.test")))
	require.Equal(t, shell.CodeNetworkGrantUnsupported, shell.CodeOf(err), "%v", err)
	require.NoError(t, runIn(t, s, under(hosts("a.test"))))
	require.Equal(t, f2+1, f.count("start"))
}

// TestScopeThatIsWider: an enforcer that puts more in force than it was asked for runs nothing under it (R143).
func TestScopeThatIsWider(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
	base := f.last
	f.before = func(what string) {
		if what == "rules" && f.last != base {
			f.last.set(t, hosts("a.test", "b.test"))
		}
	}
	wider(t, runIn(t, s, under(hosts("a.test"))), "network.allowedDomains", "b.test")
	require.Zero(t, f.count("start"))
	require.True(t, f.last.released)
}

// TestPerCallNothingIgnored: whatever a command's own policy has that the session's has not is in force for it, or is an error
// (R143): random policies, compared entry by entry.
func TestPerCallNothingIgnored(t *testing.T) {
	base, other := t.TempDir(), t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) (some []string) {
		for _, s := range from {
			if rnd.IntN(3) == 0 {
				some = append(some, s)
			}
		}
		return some
	}
	for i := range 300 {
		f := &fake{caps: shell.Capabilities{PerCallNetwork: i%2 == 0}}
		m, _ := managed(f)
		s, err := m.Open(t.Context(), shell.SessionOptions{Policy: hosts("a.test", "b.test"), Enforcer: f})
		require.NoError(t, err)
		own := policy.Policy{
			Filesystem: policy.Filesystem{AllowWrite: policy.Paths(pick(base, other)...), DenyRead: policy.Paths(pick("/etc", "/opt")...),
				AllowRead: policy.Paths(pick("/etc/hosts")...), DenyWrite: policy.Paths(pick(base + "/a")...), AllowMandatory: pick(".bashrc"), AllowGitConfig: rnd.IntN(2) == 0},
			Network: policy.Network{AllowedDomains: pick("a.test", "b.test", "c.test"), DeniedDomains: pick("a.test"), Unrestricted: false},
		}
		if err := runIn(t, s, under(own)); err == nil {
			want, err := shell.Compile(own)
			require.NoError(t, err)
			require.Equal(t, want.Derived(), f.last.rules.Derived(), "%+v", own)
		} else {
			require.Contains(t, []shell.Code{shell.CodePolicyConflict, shell.CodeNetworkGrantUnsupported}, shell.CodeOf(err), "%v", err)
			require.Zero(t, f.count("start"))
		}
		require.NoError(t, s.Dispose())
	}
}

// TestPolicyFuncOrder: a function for the policy is asked once a command, after what can be checked without it, and before
// anything is put in force (R149).
func TestPolicyFuncOrder(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	before := len(f.log())
	asked := func(c *shell.Cmd) {
		c.PolicyFunc = func(context.Context) (*policy.Policy, error) {
			f.called("function")
			p := hosts()
			return &p, nil
		}
	}
	require.NoError(t, runIn(t, s, asked))
	require.Equal(t, []string{"function", "rules", "scope", "rules", "start", "release"}, f.log()[before:])
	for _, bad := range []func(*shell.Cmd){
		func(c *shell.Cmd) { c.Dir = "relative" },
		func(c *shell.Cmd) { c.Args = []string{"program", "a\x00b"} },
	} {
		require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(runIn(t, s, asked, bad)))
	}
	require.Equal(t, 1, f.count("function"), "a directory or argument that is refused asks nobody")
	p := hosts()
	err := runIn(t, s, asked, under(p))
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(err), "both at once: %v", err)
	require.NoError(t, runIn(t, s, func(c *shell.Cmd) {
		c.PolicyFunc = func(context.Context) (*policy.Policy, error) { return nil, nil }
	}), "nil is the session's")
}

// TestPolicyFuncFresh: a grant that was taken back is gone with the next command, and commands at the same time have each their
// own (R150).
func TestPolicyFuncFresh(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Policy: hosts("a.test"), Enforcer: f})
	granted := true
	grant := func(c *shell.Cmd) {
		c.PolicyFunc = func(context.Context) (*policy.Policy, error) {
			p := hosts()
			if granted {
				p = hosts("a.test")
			}
			return &p, nil
		}
	}
	require.NoError(t, runIn(t, s, grant))
	require.Len(t, f.last.rules.Policy().Network.AllowedDomains, 1)
	granted = false
	require.NoError(t, runIn(t, s, grant))
	require.Empty(t, f.last.rules.Policy().Network.AllowedDomains)

	var all sync.WaitGroup
	for i := range 50 {
		dir := t.TempDir()
		all.Go(func() {
			own := policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}}
			err := runIn(t, s, func(c *shell.Cmd) {
				c.PolicyFunc = func(context.Context) (*policy.Policy, error) { return &own, nil }
			})
			if err != nil || own.Filesystem.AllowWrite[0].Path != dir {
				t.Error(i, err, own)
			}
		})
	}
	all.Wait()
}

// TestPolicyFuncFails: its own error comes back as it is, and the command counts as ended (R151).
func TestPolicyFuncFails(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	own := errors.New("the service is away")
	c := s.Command(t.Context(), "program")
	c.Dir = "/"
	c.PolicyFunc = func(context.Context) (*policy.Policy, error) { return nil, own }
	require.Same(t, own, c.Start())
	require.Equal(t, shell.Completion{ExitCode: -1, Failed: true}, *c.Completion)
	require.Error(t, c.Wait(), "it is not running")
	require.Equal(t, shell.Completion{ExitCode: -1, Failed: true}, *c.Completion, "that is settled once")
	require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(c.Start()), "and cannot be started again")
	require.Zero(t, f.count("start"))
}

// TestPolicyFuncPanics: a function that panics leaves nothing that Dispose would wait for (R151).
func TestPolicyFuncPanics(t *testing.T) {
	f := &fake{caps: able}
	m, _ := managed(f)
	s, err := m.Open(t.Context(), shell.SessionOptions{Enforcer: f})
	require.NoError(t, err)
	require.Panics(t, func() {
		_ = runIn(t, s, func(c *shell.Cmd) {
			c.PolicyFunc = func(context.Context) (*policy.Policy, error) { panic("a fault of the caller's") }
		})
	})
	require.NoError(t, soon(t, later(s.Dispose), "Dispose"))
}

// TestOnlySessionsHaveThem: a plain sandbox does not ignore a policy for one command, it refuses it (R143).
func TestOnlySessionsHaveThem(t *testing.T) {
	if needsBoundary != nil {
		needsBoundary(t)
	}
	box, err := shell.Open(t.Context(), policy.Policy{}, shell.Options{})
	if shell.CodeOf(err) == shell.CodeUnsupportedEnv {
		return
	}
	require.NoError(t, err)
	defer box.Close()
	p := policy.Policy{}
	for _, set := range []func(*shell.Cmd){under(p), func(c *shell.Cmd) {
		c.PolicyFunc = func(context.Context) (*policy.Policy, error) { return nil, nil }
	}} {
		c := box.Command(t.Context(), "true")
		set(c)
		require.Equal(t, shell.CodeInvalidConfig, shell.CodeOf(c.Run()))
	}
}

// needsBoundary is set where there is one.
var needsBoundary func(testing.TB)

// TestForeignProcess: what another enforcer's process says goes through: completion, streams, pipes, report, records, signals.
func TestForeignProcess(t *testing.T) {
	f := &fake{caps: able, body: func(_ context.Context, c *shell.Cmd) (shell.Completion, error) {
		in, err := io.ReadAll(c.Stdin)
		if err == nil {
			_, err = fmt.Fprintf(c.Stdout, "got %s", in)
		}
		return shell.Completion{ExitCode: 7, Failed: true}, err
	}}
	m, _ := managed(f)
	s := session(t, m, shell.SessionOptions{Enforcer: f})
	require.Equal(t, able, s.Capabilities())
	c := s.Command(t.Context(), "program")
	c.Dir = "/"
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = io.WriteString(in, "words")
	require.NoError(t, err)
	require.NoError(t, in.Close())
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "got words", string(text))
	require.NoError(t, c.Wait())
	require.Equal(t, 7, c.Completion.ExitCode)
	require.Equal(t, "fake", c.Report().Tier)
	require.Len(t, c.Violations(), 1)
	require.EqualError(t, c.Signal(nil), "signalled")
	require.Error(t, c.Wait(), "twice")
}
