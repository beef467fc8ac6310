package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// curl gets a page over TLS, by the proxy that the environment names.
func (s *tenSteps) curl(own *policy.Policy, host string) string {
	code, out := inSession(s.t, s.session, own, `curl -s -o /dev/null --max-time 20 -w '%{http_code}' "https://$1/"`, host)
	return fmt.Sprintf("exit %d, HTTP %s", code, out)
}

// with is the session's policy with other hosts, as a command's own.
func (s *tenSteps) with(hosts ...string) *policy.Policy {
	p := s.policy
	p.Network.AllowedDomains = hosts
	return &p
}

// hostSteps are the last five. Where a network cannot be kept to one command, steps 8 and 9 are refused before anything is started.
var hostSteps = []step{
	{"a command of the session reaches example.com", "exit 0, HTTP 200", func(s *tenSteps) string { return s.curl(nil, "example.com") }},
	{"a command of the session reaches example.org", "exit 56, HTTP 000", func(s *tenSteps) string { return s.curl(nil, "example.org") }}, // R334
	{"a command that is granted api.github.com reaches it", "exit 0, HTTP 200", func(s *tenSteps) string { return s.curl(s.with("api.github.com"), "api.github.com") }},
	{"a command that is left no host reaches example.com", "nothing", func(s *tenSteps) string {
		if got := s.curl(s.with(), "example.com"); !strings.HasPrefix(got, "exit 0") && strings.HasSuffix(got, "HTTP 000") {
			return "nothing"
		}
		return "something"
	}},
	{"a command that repeats example.com reaches it", "exit 0, HTTP 200", func(s *tenSteps) string { return s.curl(s.with("example.com"), "example.com") }},
}

// needLists skips what needs lists of hosts, where this build cannot enforce any.
func needLists(t *testing.T) {
	t.Helper()
	if err := shell.Check(policy.Policy{Network: policy.Network{AllowedDomains: []string{granted}}}); err != nil {
		skip(t, err.Error())
	}
}

// TestTenSteps: all ten, with the network (R133, R134, R135, R136, R137, R146, R328, R334). In a world every host answers whom it can reach.
func TestTenSteps(t *testing.T) {
	needLists(t)
	inWorld(t, func(t *testing.T, w *world) {
		for i, name := range []string{"example.com", "example.org", "api.github.com"} {
			w.set(name, fmt.Sprintf("93.184.220.%d", i+1))
		}
		f := newField(t)
		s := &tenSteps{t: t, base: filepath.Join(f.dir, "baselineW"), own: filepath.Join(f.dir, "perCallW")}
		require.NoError(t, errors.Join(os.Mkdir(s.base, 0o755), os.Mkdir(s.own, 0o755)))
		s.policy, s.perOwn = writes(s.base), writes(s.own)
		s.policy.Network.AllowedDomains = []string{"example.com"}
		ceiling := writes(s.base, s.own)
		ceiling.Network.AllowedDomains = []string{"example.com", "api.github.com"}
		enforcer := shell.NewEnforcer(shell.Options{Env: w.environment()})
		s.session = sessionOf(t, shell.NewManager(shell.ManagerOptions{Ceiling: &ceiling}), shell.SessionOptions{Policy: s.policy, Enforcer: enforcer})
		s.run(1, fileSteps)
		s.run(6, hostSteps)

		// Without a ceiling that allows it, the grant is refused before anything is started.
		plain := sessionOf(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{Policy: s.policy, Enforcer: enforcer})
		cmd := plain.Command(context.Background(), "true")
		cmd.Dir, cmd.Policy = "/", s.with("api.github.com")
		require.ErrorIs(t, cmd.Run(), &shell.Error{Code: shell.CodePolicyConflict})
		require.True(t, cmd.Completion.Denied)
	})
}

// TestConcurrentNetwork: while one command reaches its host, another one's attempt at it is refused, and a policy above the
// baseline is refused before it is started; after that the first still reaches its own and nothing else (R146, R147).
func TestConcurrentNetwork(t *testing.T) {
	needLists(t)
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		p := f.writable()
		p.Network.AllowedDomains = []string{granted}
		s := &tenSteps{t: t, policy: p}
		s.session = sessionOf(t, shell.NewManager(shell.ManagerOptions{}),
			shell.SessionOptions{Policy: p, Enforcer: shell.NewEnforcer(shell.Options{Env: w.environment()})})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got := s.curl(nil, granted); got != "exit 0, HTTP 200" {
					t.Errorf("the session's own: %s", got)
				}
			})
			all.Go(func() {
				if got := s.curl(s.with(), granted); strings.HasPrefix(got, "exit 0") {
					t.Errorf("with no host: %s", got)
				}
			})
			all.Go(func() {
				cmd := s.session.Command(context.Background(), "true")
				cmd.Dir, cmd.Policy = "/", s.with(ungranted)
				if err := cmd.Run(); shell.CodeOf(err) != shell.CodePolicyConflict {
					t.Errorf("above the baseline: %v", err)
				}
			})
		}
		all.Wait()
		require.Equal(t, "exit 0, HTTP 200", s.curl(nil, granted))
		require.False(t, strings.HasPrefix(s.curl(nil, ungranted), "exit 0"))
	})
}

// cutWithin is the contract's 100 ms, and as much again for a machine that does other things meanwhile. When Narrow returns, what
// is not allowed any more is cut.
const cutWithin = 200 * time.Millisecond

// TestNarrowCutsTunnels: narrowing cuts what a running command has open and may not have any more, within 100 ms; the command of
// another policy goes on (A7, R123, R126).
func TestNarrowCutsTunnels(t *testing.T) {
	needLists(t)
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		p := f.writable()
		p.Network.AllowedDomains = []string{granted, "other.example.test"}
		s := sessionOf(t, shell.NewManager(shell.ManagerOptions{}), shell.SessionOptions{Policy: p})
		narrower := p
		narrower.Network.AllowedDomains = []string{"other.example.test"}
		own := p
		slow := func(host string, own *policy.Policy) (*shell.Cmd, <-chan error) {
			cmd := s.Command(t.Context(), "curl", "-sS", "-N", "http://"+host+"/slow")
			cmd.Dir, cmd.Policy = "/", own
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, explain(cmd.Start()))
			_, err = stdout.Read(make([]byte, 11))
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			return cmd, ended
		}
		_, cut := slow(granted, nil)
		_, cutToo := slow(granted, &own)
		_, kept := slow("other.example.test", nil)
		before := time.Now()
		require.NoError(t, explain(s.Narrow(t.Context(), narrower)))
		took := time.Since(before)
		require.Less(t, took, cutWithin)
		for _, c := range []<-chan error{cut, cutToo} {
			select {
			case err := <-c:
				require.NoError(t, explain(err))
			case <-time.After(patience):
				t.Fatal("the tunnel is still open")
			}
		}
		t.Logf("Narrow took %v; the tunnels' commands had ended after %v", took, time.Since(before))
		require.NotEmpty(t, reached(w.seen(), "gone"), "the servers have lost their connections")
		select {
		case <-kept:
			t.Fatal("an allowed tunnel was cut")
		default:
		}
		cmd := s.Command(t.Context(), "curl", "-sS", "-f", "http://"+granted+"/")
		cmd.Dir, cmd.Policy = "/", &own
		require.NoError(t, explain(cmd.Run()))
		require.NotZero(t, cmd.Completion.ExitCode, "a policy of one command is cut down as well")
	})
}
