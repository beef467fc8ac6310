package shell

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"sallyport/policy"
)

// Manager opens sessions that belong together. The policy of its first session is the baseline: what is in force for it is
// an upper bound, and a later session may not be wider (R68, R69). When the first session is disposed of, everything that
// rests on it ends, and the next one sets a new baseline. Managers know nothing of each other, so tenants with different
// policies have one each: one policy per process is no longer needed. It is safe for concurrent use.
type Manager struct {
	options ManagerOptions
	turn    chan struct{} // holds one token: constructions and teardowns take turns
	mu      sync.Mutex
	live    *establishment // what the first session put in force, or adopted; nil when there is none
	ceiling *policy.Rules  // nil until the first session asks, and without one
}

// ManagerOptions are the settings of a [Manager]. The zero value works.
type ManagerOptions struct {
	// Ceiling bounds every policy of the manager, those of single commands too. Nil means that a command's own policy may
	// grant any file, and no host that the baseline does not have. What it allows is not granted by that. Links in its paths
	// are followed once, when the first session is opened.
	Ceiling *policy.Policy
	// OnEvent is told what happens, from the goroutine in which it happens: it should be quick, and must not call the
	// manager. See [LogEvents].
	OnEvent func(Event)
}

// NewManager makes a manager of its own.
func NewManager(o ManagerOptions) *Manager {
	m := &Manager{options: o, turn: make(chan struct{}, 1)}
	m.turn <- struct{}{}
	return m
}

var defaultManager = NewManager(ManagerOptions{})

// DefaultManager is the one manager that a process has without making any. It has no ceiling, and tells nobody of events.
func DefaultManager() *Manager { return defaultManager }

// SessionOptions are the settings of a [Session].
type SessionOptions struct {
	// Policy is what its commands may reach.
	Policy policy.Policy
	// Enforcer puts policies in force; nil means this package's own, with the zero Options. A session that finds another
	// one in place uses that one's enforcer, and not this.
	Enforcer Enforcer
	// ProbeSpawn runs the program true once, under the policy, before the session is given out. When that fails, so does
	// the construction: with what the boundary said, when it said anything; with CodeDependencyMissing when the program
	// could not be started or its output not be read; with CodeFailed and an *ExitError when it ran and failed.
	ProbeSpawn bool
	// AllowUnsandboxedFallback lets a session be opened although the enforcer is not installed, or lacks something on this
	// machine. It runs nothing outside of a boundary: every command still goes to the enforcer, and fails where that does.
	// The session says so ([Session.ContainmentNote]), and every command makes one loud event. Nothing else that can go
	// wrong is covered by it.
	AllowUnsandboxedFallback bool
	// StrictMode has every way around the boundary ignored: see [ExecutorOptions.Bypass].
	StrictMode bool
}

// establishment is what a first session put in force, with all the sessions that rest on it.
type establishment struct {
	enforcer Enforcer
	owned    bool // false: adopted, and never released

	starts sync.RWMutex // held for reading while a command is started, and for writing while rules are narrowed

	mu       sync.Mutex
	enforced Enforcement // nil in a fallback
	base     *policy.Rules
	first    *policy.Rules // base before anything was narrowed
	owner    *Session
	sessions map[*Session]bool
	ending   bool // its owner is being disposed of
	fallback string
}

// Open opens a session. Constructions and teardowns take turns, whoever asks: ctx bounds the wait, too. A construction that
// fails leaves nothing behind.
//
// Errors are *Error: those of [Open]; CodePolicyConflict for a policy that is wider than the baseline or the ceiling, with
// a *policy.SubsetError that names axis, entry and reason; CodeNotInitialized when what it would rest on was disposed of
// meanwhile; and those of ProbeSpawn.
func (m *Manager) Open(ctx context.Context, o SessionOptions) (*Session, error) {
	if o.Enforcer == nil {
		o.Enforcer = NewEnforcer(Options{})
	}
	if _, ours := o.Enforcer.(native); ours {
		if err := supported(); err != nil { // before anything else, a context that is over included (R23)
			return nil, err
		}
	}
	if err := m.wait(ctx, "open a session"); err != nil {
		return nil, err
	}
	defer m.pass()
	est, first, err := m.establish(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Session{manager: m, est: est, id: rand.Text(), strict: o.StrictMode, commands: map[*Cmd]context.CancelCauseFunc{}, epoch: new(byte)}
	err = s.admit(ctx, o, first)
	if err == nil && o.ProbeSpawn {
		err = s.probe(ctx)
	}
	if err == nil {
		err = m.register(s, first)
	}
	if err != nil {
		return nil, s.rollBack(err, first)
	}
	return s, nil
}

// wait waits for this caller's turn.
func (m *Manager) wait(ctx context.Context, what string) error {
	if err := ctx.Err(); err != nil {
		return &Error{Code: CodeFailed, Detail: what, Err: err}
	}
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return &Error{Code: CodeFailed, Detail: what, Err: ctx.Err()}
	}
}

func (m *Manager) pass() { m.turn <- struct{}{} }

// establish gives what is in force already, or puts the policy in force as the baseline.
func (m *Manager) establish(ctx context.Context, o SessionOptions) (est *establishment, first bool, err error) {
	m.mu.Lock()
	est = m.live
	m.mu.Unlock()
	if est != nil {
		return est, false, nil
	}
	est = &establishment{enforcer: o.Enforcer, sessions: map[*Session]bool{}}
	missing, err := m.preflight(ctx, est) // first: a platform without a boundary is refused before anything else (R23)
	if err != nil {
		return nil, false, err
	}
	asked, err := Compile(o.Policy)
	if err != nil {
		return nil, false, err
	}
	if err := m.belowCeiling(asked, "open a session"); err != nil {
		return nil, false, err
	}
	if missing == nil {
		missing, err = est.putInForce(ctx, o.Policy)
		if err != nil {
			return nil, false, err
		}
	}
	switch {
	case missing != nil && !o.AllowUnsandboxedFallback:
		return nil, false, missing
	case missing != nil:
		est.fallback, est.owned, est.base = missing.Error(), true, asked
	case !est.owned:
		m.tell(Event{Kind: EventAdoption, Detail: "a sandbox that something else made is in force already: it is adopted, compared literally, and never released"})
	}
	est.first = est.base
	return est, true, nil
}

// preflight asks the enforcer about the machine. Missing is the condition on which a session can be opened only as a
// fallback.
func (m *Manager) preflight(ctx context.Context, est *establishment) (missing, err error) {
	found, err := est.enforcer.Preflight(ctx)
	if err != nil {
		return nil, typed(err, CodeFailed, "look at the machine")
	}
	if found.Platform != "" {
		m.tell(Event{Kind: EventPlatform, Detail: found.Platform})
	}
	for _, w := range found.Warnings {
		m.tell(Event{Kind: EventWarnings, Detail: w})
	}
	if found.Confinement.Confined() {
		m.tell(Event{Kind: EventAdoption, Subject: found.Confinement.String(), Detail: "this process is confined already; that is left as it is"})
	}
	switch {
	case found.NotInstalled:
		return &Error{Code: CodeDependencyMissing, Detail: "open a session: the enforcer is not installed"}, nil
	case len(found.Missing) > 0:
		return &Error{Code: CodeDependencyMissing, Detail: fmt.Sprintf("open a session: missing on this machine: %q", found.Missing)}, nil
	}
	return nil, nil
}

// putInForce adopts what is there, or establishes the policy, and takes the baseline from what is really in force (R91).
func (e *establishment) putInForce(ctx context.Context, p policy.Policy) (missing, err error) {
	adopted, err := e.enforcer.Adopt(ctx)
	if err != nil {
		return nil, typed(err, CodeFailed, "look for a sandbox that is in force already")
	}
	if e.enforced = adopted; adopted == nil {
		e.owned = true
		e.enforced, err = e.enforcer.Establish(ctx, p)
		if CodeOf(err) == CodeDependencyMissing {
			return err, nil
		}
		if err != nil {
			return nil, typed(err, CodeFailed, "put the policy in force")
		}
	}
	if e.base, err = e.inForce(ctx); err != nil {
		return nil, e.undo(err)
	}
	return nil, nil
}

// inForce are the rules in force. What was adopted never counts as having its network rules disabled: that is a word of
// ours, and only what we put in force can mean it. There, everything is the list of every name (R109, R111).
func (e *establishment) inForce(ctx context.Context) (*policy.Rules, error) {
	rules, err := e.enforced.Rules(ctx)
	if err == nil && rules == nil {
		err = errors.New("it has none")
	}
	if err != nil {
		return nil, typed(err, CodePolicyConflict, "derive the rules in force")
	}
	n := rules.Policy().Network
	if e.owned || !n.Unrestricted {
		return rules, nil
	}
	n.Unrestricted, n.AllowedDomains = false, []string{"*"}
	return rules.WithNetwork(n)
}

// undo releases what a failed construction put in force.
func (e *establishment) undo(err error) error {
	if !e.owned || e.enforced == nil {
		return err
	}
	return joined(err, typed(e.enforced.Release(), CodeFailed, "release what a failed construction put in force"))
}

// joined is errors.Join that leaves an error as it is when there is no other.
func joined(err, more error) error {
	if err == nil || more == nil {
		return cmp.Or(err, more)
	}
	return errors.Join(err, more)
}

// register makes the session a live one, unless what it rests on is being disposed of (R78).
func (m *Manager) register(s *Session, first bool) error {
	e := s.est
	m.mu.Lock()
	defer m.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ending {
		return &Error{Code: CodeNotInitialized, Detail: "open a session", Err: ErrDisposed}
	}
	if first {
		e.owner, m.live = s, e
	}
	e.sessions[s] = true
	return nil
}

// rollBack undoes a construction.
func (s *Session) rollBack(err error, first bool) error {
	s.kill()
	s.drain()
	err = joined(err, s.releaseScope())
	if first {
		return s.est.undo(err)
	}
	return err
}

// typed gives err as an *Error: as it is when it is one, or else with the code.
func typed(err error, code Code, detail string) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Code: code, Detail: detail, Err: err}
}

// tell hands an event to whoever watches, without paths.
func (m *Manager) tell(e Event) {
	if m.options.OnEvent == nil {
		return
	}
	e.Time = time.Now()
	for _, text := range []*string{&e.Command, &e.Subject, &e.Detail} {
		*text = withoutPaths(*text)
	}
	m.options.OnEvent(e)
}
