package shell_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/internal/jail"
)

// real opens a session of this package's own enforcer.
func real(t testing.TB, p policy.Policy, o shell.Options) *shell.Session {
	t.Helper()
	needBoundary(t)
	return session(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{Policy: p, Enforcer: shell.NewEnforcer(o)})
}

// TestRulesAreReadBack: what a session says is in force is read from what every jail is made from, with links resolved, absent
// paths and patterns, and is what the policy compiles to (R91, R130, R131).
func TestRulesAreReadBack(t *testing.T) {
	dir := workspace(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	depth := 3
	for name, p := range map[string]policy.Policy{
		"nothing": {},
		"much": {Filesystem: policy.Filesystem{
			AllowWrite: append(policy.Paths(dir+"/link", "/opt/**/*.log"), policy.PathEntry{Path: dir + "/absent", Optional: true}),
			DenyWrite:  policy.Paths(dir + "/link/no"), DenyRead: policy.Paths(dir+"/secret", "/opt/**/*.key"), AllowRead: policy.Paths("/etc/hosts"),
			AllowGitConfig: true, AllowMandatory: []string{".envrc"}, GitSafeDirectories: []string{dir}, MandatoryDenySearchDepth: &depth,
		}},
		"disabled": {Filesystem: policy.Filesystem{Disabled: true}, Network: policy.Network{Unrestricted: true}},
	} {
		for _, records := range []bool{true, false} {
			s := real(t, p, shell.Options{NoRecords: !records})
			rules, err := s.EffectivePolicy()
			require.NoError(t, err)
			want, err := shell.Compile(p)
			require.NoError(t, err)
			wantJSON, err := json.Marshal(want.Derived())
			require.NoError(t, err)
			gotJSON, err := json.Marshal(rules.Derived())
			require.NoError(t, err)
			require.JSONEq(t, string(wantJSON), string(gotJSON), name)
			require.NoError(t, runIn(t, s, func(c *shell.Cmd) { c.Path, c.Args = "true", []string{"true"} }))
		}
	}
}

// TestFaultOfOursIsDrift: when the plan that jails are made from is wider than what was admitted, nothing is started, with this
// package's own enforcer too; when it is narrower, commands run (R118, R119).
func TestFaultOfOursIsDrift(t *testing.T) {
	dir, other := workspace(t), workspace(t)
	s := real(t, writable(dir), shell.Options{Warm: -1})
	is := func(p policy.Policy) func(*jail.Plan) {
		return func(plan *jail.Plan) {
			var err error
			plan.Names.Policy, err = json.Marshal(p)
			require.NoError(t, err)
			for _, path := range []string{dir, other} {
				plan.Names.Resolved = append(plan.Names.Resolved, jail.Resolved{Path: []byte(path), Real: []byte(path)})
			}
			plan.Names.Resolved = append(plan.Names.Resolved, jail.Resolved{Path: []byte(dir + "/no"), Absent: true})
		}
	}
	run := func() error { return runIn(t, s, func(c *shell.Cmd) { c.Path, c.Args = "true", []string{"true"} }) }
	require.NoError(t, run())
	require.NoError(t, s.Rewrite(is(writable(dir, other))))
	wider(t, run(), "filesystem.allowWrite", other)
	narrower := writable(dir)
	narrower.Filesystem.DenyWrite = policy.Paths(dir + "/no")
	require.NoError(t, s.Rewrite(is(narrower)))
	require.NoError(t, run())
	require.NoError(t, s.Rewrite(func(plan *jail.Plan) { plan.Names.Policy = []byte(`{"filesystem":{"unknown":1}}`) }))
	require.Equal(t, shell.CodePolicyConflict, shell.CodeOf(run()), "a key that nobody knows")
}

// TestListsAreReadBack: the lists that the gateways keep are compared too, and not those that the sandbox was opened with (R118,
// R119).
func TestListsAreReadBack(t *testing.T) {
	s := real(t, hosts("a.test"), shell.Options{})
	run := func() error { return runIn(t, s, func(c *shell.Cmd) { c.Path, c.Args = "true", []string{"true"} }) }
	require.NoError(t, run())
	require.NoError(t, s.Box().SetNetwork(policy.Network{AllowedDomains: []string{"a.test", "b.test"}}))
	wider(t, run(), "network.allowedDomains", "b.test")
	require.NoError(t, s.Box().SetNetwork(policy.Network{}))
	require.NoError(t, run())
}

// TestNarrowRefusesWhatCannotBeCut: while a command runs that may use a path socket, that grant cannot be taken away, and Narrow
// says so with the axis; when it has ended, it can (R125).
func TestNarrowRefusesWhatCannotBeCut(t *testing.T) {
	socket := filepath.Join(workspace(t), "server")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	p := hosts("a.test")
	p.Network.AllowUnixSockets = []string{socket}
	s := real(t, p, shell.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c := s.Command(ctx, "sleep", "600")
	c.Dir = "/"
	require.NoError(t, c.Start())
	err = s.Narrow(t.Context(), hosts("a.test"))
	e := code(t, err, shell.CodeNarrowingUnsupported)
	require.Contains(t, e.Error(), "network")
	rules, err := s.EffectivePolicy()
	require.NoError(t, err)
	require.True(t, rules.UnixSocket(socket).Allowed, "nothing has changed")
	cancel()
	require.ErrorIs(t, c.Wait(), context.Canceled)
	require.NoError(t, s.Narrow(t.Context(), hosts("a.test")))
}

// TestWarmJailsOfSessions: a policy of a single command leaves no jail ready for a second one, and what was narrowed keeps none:
// the jails of the old policy are gone with its last command.
func TestWarmJailsOfSessions(t *testing.T) {
	dir, other := workspace(t), workspace(t)
	s := real(t, writable(dir, other), shell.Options{})
	own := writable(dir)
	cat := func(own *policy.Policy) func() {
		c := s.Command(t.Context(), "cat")
		c.Dir, c.Policy = "/", own
		in, err := c.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		return func() {
			require.NoError(t, in.Close())
			require.NoError(t, c.Wait())
		}
	}
	endOwn := cat(&own)
	end := cat(nil)
	eventually(t, func() bool { return shell.Waiting(s.Box()) == 1 }, "the session has a jail ready, which was begun last")
	require.Len(t, living(children()), 3, "two commands, and that one")
	require.NoError(t, s.Narrow(t.Context(), writable(dir)))
	endOwn()
	end()
	require.NoError(t, runIn(t, s, func(c *shell.Cmd) { c.Path, c.Args = "touch", []string{"touch", other + "/late"} }))
	require.NoFileExists(t, other+"/late")
	eventually(t, func() bool { return shell.Waiting(s.Box()) == 1 && len(children()) == 1 }, "the new policy has a jail ready, and nothing else is left")
}

// TestSessionIsLikeASandbox: commands of a session have the streams, the environment, the completion and the records that those
// of a sandbox have (R153, R156, R159, R170).
func TestSessionIsLikeASandbox(t *testing.T) {
	dir := workspace(t)
	s := real(t, writable(dir), shell.Options{Env: []string{"A=1", "B=1"}})
	for name, own := range map[string]*policy.Policy{"the session's": nil, "its own": {Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dir)}}} {
		c := s.Command(t.Context(), "sh", "-c", `cat; echo "$A$B" >&2; (: >"$1/.gitconfig") 2>/dev/null; kill -TERM $$`, "sh", dir)
		c.Dir, c.Policy, c.Env, c.ID = "/", own, []string{"B=2"}, "my-id"
		var out, errs writerBuffer
		c.Stdout, c.Stderr = &out, &errs
		in, err := c.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		_, err = in.Write([]byte("words"))
		require.NoError(t, err)
		require.NoError(t, in.Close())
		require.NoError(t, c.Wait(), name)
		require.Equal(t, "words", out.String())
		require.Equal(t, "12\n", errs.String())
		require.Equal(t, "SIGTERM", c.Completion.Signal)
		require.Equal(t, -1, c.Completion.ExitCode)
		require.Equal(t, "full", c.Report().Tier)
		require.Len(t, c.Violations(), 1)
		require.Equal(t, "my-id", c.Violations()[0].ID)
		require.Equal(t, dir+"/.gitconfig", c.Violations()[0].Target)
		require.Error(t, c.Wait(), "twice")
	}
}

// TestExecutorConfines: what is wrapped runs in a jail, and what is left out runs outside of it (R263, R266).
func TestExecutorConfines(t *testing.T) {
	dir := workspace(t)
	s := real(t, writable(dir), shell.Options{})
	e, err := s.Executor(&inner{}, shell.ExecutorOptions{Dir: dir})
	require.NoError(t, err)
	r, err := e.Exec(t.Context(), shell.BinaryCall{Name: "sh", Args: []string{"-c", `pwd; : >made; (: >.gitconfig) 2>/dev/null; exit 4`}})
	require.NoError(t, err)
	require.Equal(t, 4, r.ExitCode)
	require.Equal(t, dir+"\n", string(r.Stdout))
	require.FileExists(t, filepath.Join(dir, "made"))
	require.NoFileExists(t, filepath.Join(dir, ".gitconfig"))
}

// TestProbeReal: the probe passes where a jail can be made, and fails where the policy hides what it needs (R93, R95).
func TestProbeReal(t *testing.T) {
	needBoundary(t)
	_, err := shell.NewManager(shell.ManagerOptions{}).Open(t.Context(), shell.SessionOptions{ProbeSpawn: true,
		Policy: policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths("/usr", "/bin")}}})
	require.Equal(t, shell.CodeFailed, shell.CodeOf(err), "%v", err)
	require.Empty(t, children())
	session(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{ProbeSpawn: true})
}

// TestBadOptionsOfAnEnforcer: options that can never work fail when the session is opened, and leave nothing (R22, R85).
func TestBadOptionsOfAnEnforcer(t *testing.T) {
	m := shell.NewManager(shell.ManagerOptions{})
	_, err := m.Open(t.Context(), shell.SessionOptions{Enforcer: shell.NewEnforcer(shell.Options{Helper: "relative"}), AllowUnsandboxedFallback: true})
	code(t, err, shell.CodeInvalidConfig)
	needBoundary(t)
	session(t, m, shell.SessionOptions{Policy: writable(workspace(t))})
}
