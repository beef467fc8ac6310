package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// fake is an enforcer that enforces nothing: it shows in which order it is asked for what.
type fake struct {
	caps      shell.Capabilities
	preflight shell.Preflight
	preErr    error
	establish error // why nothing can be put in force
	scope     error
	narrow    error
	startErr  error
	adopted   *force
	// body is what a command does; without one it ends well.
	body func(ctx context.Context, c *shell.Cmd) (shell.Completion, error)
	// before is called when something is asked for, without locks held.
	before func(what string)

	mu    sync.Mutex
	calls []string
	last  *force // what was put in force last
}

// able can do everything.
var able = shell.Capabilities{PerCallNetwork: true, Narrowing: true, Records: true}

func (f *fake) called(what string) {
	f.mu.Lock()
	f.calls = append(f.calls, what)
	f.mu.Unlock()
	if f.before != nil {
		f.before(what)
	}
}

// count is how often something was asked for.
func (f *fake) count(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == what {
			n++
		}
	}
	return n
}

func (f *fake) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fake) Capabilities() shell.Capabilities { return f.caps }

func (f *fake) Preflight(context.Context) (shell.Preflight, error) {
	f.called("preflight")
	return f.preflight, f.preErr
}

func (f *fake) Adopt(context.Context) (shell.Enforcement, error) {
	f.called("adopt")
	if f.adopted == nil {
		return nil, nil
	}
	return f.adopted, nil
}

func (f *fake) Establish(_ context.Context, p policy.Policy) (shell.Enforcement, error) {
	f.called("establish")
	if f.establish != nil {
		return nil, f.establish
	}
	return f.force(p)
}

func (f *fake) force(p policy.Policy) (shell.Enforcement, error) {
	rules, err := shell.Compile(p)
	if err != nil {
		return nil, err
	}
	made := &force{f: f, rules: rules}
	f.mu.Lock()
	f.last = made
	f.mu.Unlock()
	return made, nil
}

// force is a policy that the fake says is in force.
type force struct {
	f *fake

	mu       sync.Mutex
	rules    *policy.Rules
	err      error
	released bool
	running  int
}

// set is what else may do to a sandbox.
func (e *force) set(t testing.TB, p policy.Policy) {
	t.Helper()
	rules, err := shell.Compile(p)
	require.NoError(t, err)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules = rules
}

func (e *force) Rules(context.Context) (*policy.Rules, error) {
	e.f.called("rules")
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rules, e.err
}

func (e *force) Scope(_ context.Context, p policy.Policy) (shell.Enforcement, error) {
	e.f.called("scope")
	if e.f.scope != nil {
		return nil, e.f.scope
	}
	return e.f.force(p)
}

func (e *force) Narrow(_ context.Context, p policy.Policy) error {
	e.f.called("narrow")
	if e.f.narrow != nil {
		return e.f.narrow
	}
	rules, err := shell.Compile(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules = rules
	return err
}

func (e *force) Release() error {
	e.f.called("release")
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released {
		return errors.New("released twice")
	}
	if e.running > 0 {
		return errors.New("released while a command runs")
	}
	e.released = true
	return nil
}

func (e *force) Start(ctx context.Context, c *shell.Cmd) (shell.Process, error) {
	e.f.called("start")
	if e.f.startErr != nil {
		return nil, e.f.startErr
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released {
		return nil, errors.New("started after it was released")
	}
	p := &process{done: make(chan struct{}), policy: e}
	e.running++
	go func() {
		defer close(p.done)
		defer e.ended()
		if e.f.body != nil {
			p.completion, p.err = e.f.body(ctx, c)
		}
	}()
	return p, nil
}

func (e *force) ended() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
}

type process struct {
	done       chan struct{}
	policy     *force
	completion shell.Completion
	err        error
}

func (p *process) Done() <-chan struct{} { return p.done }
func (p *process) Wait() (shell.Completion, error) {
	<-p.done
	return p.completion, p.err
}
func (p *process) Signal(os.Signal) error { return errors.New("signalled") }
func (p *process) Report() shell.Report   { return shell.Report{Tier: "fake"} }
func (p *process) Violations() []shell.Violation {
	return []shell.Violation{{Operation: "fake"}}
}

// untilKilled is a body that goes on until it is killed.
func untilKilled(ctx context.Context, _ *shell.Cmd) (shell.Completion, error) {
	<-ctx.Done()
	return shell.Completion{ExitCode: -1, Failed: true, Signal: "SIGKILL"}, ctx.Err()
}

// watcher collects events.
type watcher struct {
	mu     sync.Mutex
	events []shell.Event
}

func (w *watcher) see(e shell.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// of gives the events of a kind.
func (w *watcher) of(kind shell.EventKind) []shell.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []shell.Event
	for _, e := range w.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// managed is a manager with a fake, and what it tells.
func managed(f *fake) (*shell.Manager, *watcher) {
	w := &watcher{}
	return shell.NewManager(shell.ManagerOptions{OnEvent: w.see}), w
}

// session opens a session that the test disposes of.
func session(t testing.TB, m *shell.Manager, o shell.SessionOptions) *shell.Session {
	t.Helper()
	s, err := m.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Dispose()) })
	return s
}

// runIn runs a command of a fake's.
func runIn(t testing.TB, s *shell.Session, change ...func(*shell.Cmd)) error {
	t.Helper()
	c := s.Command(t.Context(), "program")
	c.Dir = "/"
	for _, f := range change {
		f(c)
	}
	return c.Run()
}

// hosts is a policy about the network alone.
func hosts(allowed ...string) policy.Policy {
	return policy.Policy{Network: policy.Network{AllowedDomains: allowed}}
}

// soon waits for a channel; what does not come fails the test.
func soon[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("waited in vain for: " + what)
		panic("unreachable")
	}
}

// later calls f and gives its error when it has one to give.
func later(f func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

// stays asserts that nothing has come yet, after everything else had its chance to run.
func stays[T any](t testing.TB, c <-chan T, what string) {
	t.Helper()
	for range 200 {
		select {
		case <-c:
			t.Fatal(what)
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// wider asserts a policy conflict about an axis and an entry.
func wider(t testing.TB, err error, axis, entry string) *shell.Error {
	t.Helper()
	require.Error(t, err)
	var e *shell.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, shell.CodePolicyConflict, e.Code, "%v", err)
	var s *policy.SubsetError
	require.ErrorAs(t, err, &s)
	require.Equal(t, axis, s.Axis, "%v", err)
	require.Equal(t, entry, s.Entry, "%v", err)
	require.NotEmpty(t, s.Reason)
	require.NotContains(t, e.Error(), "\n", "an error is one line")
	return e
}

func (f *fake) String() string { return fmt.Sprint(f.log()) }

// How long, and how often, tests look for what comes.
const (
	waitLong = 20 * time.Second
	waitTick = time.Millisecond
)
