package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// sessionOf opens a session of a manager and disposes of it when the test ends.
func sessionOf(t *testing.T, m *shell.Manager, o shell.SessionOptions) *shell.Session {
	t.Helper()
	s, err := m.Open(context.Background(), o)
	require.NoError(t, explain(err))
	t.Cleanup(func() { require.NoError(t, s.Dispose()) })
	return s
}

// inSession runs a shell script in a session, under a policy of its own when there is one, and gives its exit code and what
// it printed.
func inSession(t *testing.T, s *shell.Session, own *policy.Policy, script string, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := s.Command(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Policy = "/", own
	out, err := cmd.CombinedOutput()
	require.NoError(t, explain(err), "%s", out)
	return cmd.Completion.ExitCode, string(out)
}

// writes is a policy that lets the directories be written.
func writes(dirs ...string) policy.Policy {
	return policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dirs...)}}
}

// tenSteps are the measured steps of the contract (R328), about files and about hosts.
type tenSteps struct {
	t              *testing.T
	session        *shell.Session
	base, own      string // directories
	policy, perOwn policy.Policy
}

// step is one line of the table.
type step struct {
	what string
	want string
	do   func(s *tenSteps) string
}

func (s *tenSteps) touch(own *policy.Policy, dir, name string) string {
	path := filepath.Join(dir, name)
	code, out := inSession(s.t, s.session, own, `touch "$1"`, path)
	_, err := os.Stat(path)
	require.Equal(s.t, code == 0, err == nil, "the exit code and the file disagree: %s", out)
	if code != 0 {
		require.Regexp(s.t, "Read-only file system|Permission denied", out)
	}
	return fmt.Sprintf("exit %d", code)
}

var fileSteps = []step{
	{"a command of the session touches baselineW/ok", "exit 0", func(s *tenSteps) string { return s.touch(nil, s.base, "ok") }},                         // R137
	{"a command of the session touches perCallW/denied", "exit 1", func(s *tenSteps) string { return s.touch(nil, s.own, "denied") }},                   // R136
	{"a command with a policy of its own touches perCallW/ok", "exit 0", func(s *tenSteps) string { return s.touch(&s.perOwn, s.own, "ok") }},           // R133
	{"a command with a policy of its own touches baselineW/denied", "exit 1", func(s *tenSteps) string { return s.touch(&s.perOwn, s.base, "denied") }}, // R134
	{"a command of the session touches perCallW/after", "exit 1", func(s *tenSteps) string { return s.touch(nil, s.own, "after") }},                     // R135
}

// run makes each step and prints the table.
func (s *tenSteps) run(first int, steps []step) {
	for i, one := range steps {
		got := one.do(s)
		s.t.Logf("step %2d  %-62s %s", first+i, one.what, got)
		record(entry{Kind: "step", Test: s.t.Name(), Detail: fmt.Sprintf("%d %s: %s", first+i, one.what, got)})
		if got != one.want {
			s.t.Errorf("step %d: %s: %s, want %s", first+i, one.what, got, one.want)
		}
	}
}

// TestTenStepsFiles: the first five steps: a policy of one command is honoured for that command alone, replaces the session's,
// and does not leak (R133, R134, R135, R136, R137, R138, R139, R328).
func TestTenStepsFiles(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		s := &tenSteps{t: t, base: filepath.Join(f.dir, "baselineW"), own: filepath.Join(f.dir, "perCallW")}
		require.NoError(t, errors.Join(os.Mkdir(s.base, 0o755), os.Mkdir(s.own, 0o755)))
		s.policy, s.perOwn = writes(s.base), writes(s.own)
		s.session = sessionOf(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{Policy: s.policy})
		s.run(1, fileSteps)

		both := writes(s.base, s.own) // R139: it has to repeat what it still wants
		require.Equal(t, "exit 0", s.touch(&both, s.base, "repeated"))
		require.Equal(t, "exit 0", s.touch(&both, s.own, "repeated"))

		absent := writes(filepath.Join(f.dir, "absent")) // R138: nothing is dropped silently
		cmd := s.session.Command(context.Background(), "true")
		cmd.Dir, cmd.Policy = "/", &absent
		err := cmd.Run()
		require.ErrorIs(t, err, &shell.Error{Code: shell.CodeInvalidConfig})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// TestDisposeKillsChildren: disposing of a session ends its commands with a grandchild in a session of its own, under the
// session's policy and under one of the command's own, and of the sessions that rest on it, before it returns (R82, R81).
func TestDisposeKillsChildren(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		m := shell.NewManager(shell.ManagerOptions{})
		owner := sessionOf(t, m, shell.SessionOptions{Policy: f.writable()})
		second := sessionOf(t, m, shell.SessionOptions{Policy: f.writable()})
		own := writes(f.outside)
		var waits []chan error
		for _, c := range []struct {
			s   *shell.Session
			own *policy.Policy
		}{{owner, nil}, {owner, &own}, {second, nil}, {second, &own}} {
			cmd := c.s.Command(context.Background(), "sh", "-c", "setsid sleep 600 & echo ready; sleep 600")
			cmd.Dir, cmd.Policy = "/", c.own
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, explain(cmd.Start()))
			_, err = out.Read(make([]byte, 16))
			require.NoError(t, err)
			waited := make(chan error, 1)
			waits = append(waits, waited)
			go func() { waited <- cmd.Wait() }()
		}
		require.GreaterOrEqual(t, len(children(t)), 4, "the control: they run")
		require.NoError(t, owner.Dispose())
		require.Empty(t, children(t))
		for _, w := range waits {
			require.ErrorIs(t, <-w, shell.ErrDisposed)
		}
		for _, s := range []*shell.Session{owner, second} {
			require.ErrorIs(t, s.Command(context.Background(), "true").Run(), &shell.Error{Code: shell.CodeNotInitialized})
		}
		sessionOf(t, m, shell.SessionOptions{Policy: writes(f.outside)}) // R84
	})
}

// TestSessionsLeaveNothing: sessions, policies of single commands and narrowing leave no process, descriptor, goroutine, mount or
// file behind, whether commands are waited for or killed (R85, R164).
func TestSessionsLeaveNothing(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		round := func() {
			m := shell.NewManager(shell.ManagerOptions{})
			owner, err := m.Open(context.Background(), shell.SessionOptions{Policy: writes(f.ws, f.outside), ProbeSpawn: true})
			require.NoError(t, explain(err))
			second, err := m.Open(context.Background(), shell.SessionOptions{Policy: writes(f.ws, f.outside)})
			require.NoError(t, explain(err))
			own := writes(f.outside)
			code, out := inSession(t, second, &own, "true")
			require.Zero(t, code, out)
			left := owner.Command(context.Background(), "sleep", "600")
			left.Dir, left.Policy = "/", &own
			require.NoError(t, explain(left.Start()))
			require.NoError(t, explain(owner.Narrow(context.Background(), writes(f.ws, f.outside))))
			_, err = m.Open(context.Background(), shell.SessionOptions{Policy: writes(f.dir)})
			require.ErrorIs(t, err, policy.ErrWider)
			require.NoError(t, owner.Dispose())
		}
		round()
		before := takeStock(t, f.dir)
		for range 5 {
			round()
		}
		eventually(t, func() bool { return takeStock(t, f.dir).goroutines <= before.goroutines }, "goroutines are left")
		after := takeStock(t, f.dir)
		after.goroutines = before.goroutines
		require.Equal(t, before, after)
	})
}

// TestNarrowFiles: after narrowing the next command has the narrower files, a running one keeps its own until it ends, and
// nothing brings them back (R123, R126).
func TestNarrowFiles(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		s := sessionOf(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{Policy: writes(f.ws, f.outside)})
		cmd := s.Command(t.Context(), "sh", "-c", `read line; touch "$1"`, "sh", f.outside+"/by-the-running")
		cmd.Dir = "/"
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, explain(cmd.Start()))
		code, out := inSession(t, s, nil, `touch "$1"`, f.outside+"/before")
		require.Zero(t, code, out)
		require.NoError(t, explain(s.Narrow(t.Context(), writes(f.ws))))
		code, _ = inSession(t, s, nil, `touch "$1"`, f.outside+"/after")
		require.NotZero(t, code)
		own := writes(f.ws, f.outside)
		code, _ = inSession(t, s, &own, `touch "$1"`, f.outside+"/own")
		require.NotZero(t, code, "a policy of one command is cut down to what both allow")
		code, out = inSession(t, s, &own, `touch "$1"`, f.ws+"/own")
		require.Zero(t, code, out)
		_, err = in.Write([]byte("go\n"))
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
		require.Zero(t, cmd.Completion.ExitCode)
		require.FileExists(t, f.outside+"/by-the-running")
		require.ErrorIs(t, s.Narrow(t.Context(), writes(f.ws, f.outside)), policy.ErrWider)
	})
}

// TestNarrowHostNetwork: a command that shares the host's network cannot be taken out of it, and Narrow says so, with the axis
// (R125); when it has ended, the next one has none.
func TestNarrowHostNetwork(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		p := f.writable()
		p.Network.Unrestricted = true
		s := sessionOf(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{Policy: p})
		ctx, cancel := context.WithCancel(t.Context())
		cmd := s.Command(ctx, "sleep", "600")
		cmd.Dir = "/"
		require.NoError(t, explain(cmd.Start()))
		err := s.Narrow(t.Context(), f.writable())
		require.ErrorIs(t, err, &shell.Error{Code: shell.CodeNarrowingUnsupported})
		require.ErrorContains(t, err, "network")
		code, interfaces := inSession(t, s, nil, "cat /proc/net/dev | wc -l")
		require.Zero(t, code)
		cancel()
		require.ErrorIs(t, cmd.Wait(), context.Canceled)
		require.NoError(t, explain(s.Narrow(t.Context(), f.writable())))
		code, out := inSession(t, s, nil, "cat /proc/net/dev | wc -l")
		require.Zero(t, code)
		require.Equal(t, "3", trimmed(out), "a heading of two lines, and loopback")
		t.Logf("lines of /proc/net/dev: %s with the host's network, %s with none", trimmed(interfaces), trimmed(out))
	})
}

// TestManySessionsAtOnce: sessions with policies that exclude each other, in one process at the same time, each write in their
// own place alone (R72).
func TestManySessionsAtOnce(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		var all sync.WaitGroup
		for i := range 8 {
			mine, theirs := fmt.Sprintf("%s/s%d", f.ws, i), fmt.Sprintf("%s/s%d", f.ws, (i+1)%8)
			require.NoError(t, os.MkdirAll(mine, 0o755))
			all.Go(func() {
				s, err := shell.NewManager(shell.ManagerOptions{}).Open(context.Background(), shell.SessionOptions{Policy: writes(mine)})
				if err != nil {
					t.Error(explain(err))
					return
				}
				for range 3 {
					cmd := s.Command(context.Background(), "sh", "-c", `touch "$1/x" && ! touch "$2/x" 2>/dev/null`, "sh", mine, theirs)
					cmd.Dir = "/"
					if err := cmd.Run(); err != nil || cmd.Completion.ExitCode != 0 {
						t.Error(i, explain(err), cmd.Completion)
					}
				}
				if err := s.Dispose(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// TestOneOfManyWins: of constructions at the same time whose policies exclude each other exactly one wins, with real jails (R74).
func TestOneOfManyWins(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		for range 20 {
			m := shell.NewManager(shell.ManagerOptions{})
			won := make(chan *shell.Session, 2)
			for _, p := range []policy.Policy{writes(f.ws), writes(f.outside)} {
				go func() {
					s, err := m.Open(context.Background(), shell.SessionOptions{Policy: p})
					if err != nil && shell.CodeOf(err) != shell.CodePolicyConflict {
						t.Error(explain(err))
					}
					won <- s
				}()
			}
			first, second := <-won, <-won
			require.True(t, (first == nil) != (second == nil), "exactly one")
			if first == nil {
				first = second
			}
			code, out := inSession(t, first, nil, "true")
			require.Zero(t, code, out)
			require.NoError(t, first.Dispose())
		}
		require.Empty(t, children(t))
	})
}
