package shell

import (
	"context"
	"errors"
	"sync"

	"sallyport/policy"
)

// Session runs commands under the policy it was opened with, or under one of a command's own. Make one with [Manager.Open]
// and dispose of it when done. It is safe for concurrent use.
type Session struct {
	manager *Manager
	est     *establishment
	id      string
	strict  bool
	epoch   *byte // its address is the token

	mu       sync.Mutex
	policy   policy.Policy
	scope    Enforcement    // its own; nil for the session that owns or adopted what is in force
	rules    *policy.Rules  // what was admitted, or narrowed to
	narrowed *policy.Rules  // nil until narrowed
	perCall  []*commandRule // policies of single commands that run
	commands map[*Cmd]context.CancelCauseFunc
	dead     bool
	over     chan struct{} // closed when Dispose is done; nil before it is called
	result   error
}

// commandRule is the policy of one running command.
type commandRule struct {
	scope Enforcement
	rules *policy.Rules
}

// Epoch is an opaque token for as long as a session lives: what keeps one can ask later whether it still does.
type Epoch struct{ token *byte }

// Epoch gives the session's own token. The zero Epoch is nobody's.
func (s *Session) Epoch() Epoch { return Epoch{s.epoch} }

// EpochLive says whether e is this session's token, and the session still lives. A reader of a file asks before each use:
// it may outlive the turn it was made in, and not its session (R127-R129).
func (s *Session) EpochLive(e Epoch) bool { return e.token == s.epoch && s.alive() == nil }

// ID names the session in events.
func (s *Session) ID() string { return s.id }

// Command makes a command of the session. It is used like one of a [Sandbox]; besides that,
//
//   - Start compares what is in force with what was admitted, and refuses with CodePolicyConflict when it has become wider;
//   - [Cmd.Policy] or [Cmd.PolicyFunc] replaces the session's policy, whole, for this command alone: it has to repeat what
//     it still wants, and nothing of it is left afterwards. It may grant what the session does not have, up to
//     [ManagerOptions.Ceiling]; above is CodePolicyConflict. CodeNetworkGrantUnsupported says that the enforcer cannot
//     keep a network section to one command. After Narrow it is cut down to what both allow. An error of PolicyFunc is
//     passed on as it is.
//   - Dispose kills it, and Wait then gives CodeNotInitialized.
func (s *Session) Command(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Path: name, Args: append([]string{name}, args...), ctx: ctx, inSession: inSession{session: s}}
}

// EffectivePolicy gives the rules in force, derived from where they are enforced and not from the policy asked for.
// policy.Rules.Derived shows them as lists. What was adopted is asked each time. CodeNotInitialized says that nothing is in
// force: after Dispose, and in a fallback before the first command.
func (s *Session) EffectivePolicy() (*policy.Rules, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	scope, rules := s.scope, s.rules
	s.mu.Unlock()
	switch {
	case scope == nil && s.est.enforced == nil:
		return nil, &Error{Code: CodeNotInitialized, Detail: "derive the rules in force: nothing is in force"}
	case s.est.owned:
		return rules, nil
	case scope == nil:
		return s.est.inForce(context.Background())
	}
	rules, err := scope.Rules(context.Background())
	return rules, typed(err, CodePolicyConflict, "derive the rules in force")
}

// Capabilities say what the session's enforcer can do.
func (s *Session) Capabilities() Capabilities { return s.est.enforcer.Capabilities() }

// ContainmentNote is a sentence for the description of every tool that runs commands in this session, and "" when there is
// nothing to warn of.
func (s *Session) ContainmentNote() string {
	if s.est.fallback == "" {
		return ""
	}
	return "WARNING: there may be no OS containment. The sandbox could not be set up when the session was opened; commands run only if it can be by then."
}

// alive says why the session takes no work, or nil.
func (s *Session) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errDisposed()
	}
	return nil
}

func errDisposed() *Error {
	return &Error{Code: CodeNotInitialized, Detail: "use a session", Err: ErrDisposed}
}

// Dispose kills every command of the session with everything that it started, waits until they are gone, and then releases
// what is in force if this session owns it: then every other session that rests on it ends too. What was adopted is left as
// it is, and an event says so. It takes its turn with constructions, and cannot be cancelled. Disposing twice does nothing.
func (s *Session) Dispose() error {
	s.mu.Lock()
	if over := s.over; over != nil {
		s.mu.Unlock()
		<-over
		return s.result
	}
	s.over = make(chan struct{})
	s.mu.Unlock()
	defer close(s.over)

	m, e := s.manager, s.est
	e.mu.Lock()
	whole := e.owned && e.owner == s
	e.ending = e.ending || whole
	ending := []*Session{s}
	for other := range e.sessions {
		if whole && other != s {
			ending = append(ending, other)
		}
	}
	e.mu.Unlock()
	for _, one := range ending { // before the turn comes: nobody has to wait for a kill
		one.kill()
	}
	<-m.turn
	defer m.pass()
	s.result = m.release(s, ending, whole)
	return s.result
}

// release ends sessions whose commands were killed.
func (m *Manager) release(s *Session, ending []*Session, whole bool) error {
	var all []error
	for _, one := range ending {
		one.drain()
		all = append(all, one.releaseScope())
	}
	e := s.est
	m.mu.Lock()
	e.mu.Lock()
	for _, one := range ending {
		delete(e.sessions, one)
	}
	if m.live == e && (whole || !e.owned && len(e.sessions) == 0) {
		m.live = nil
	}
	enforced := e.enforced
	e.mu.Unlock()
	m.mu.Unlock()
	switch {
	case whole && enforced != nil:
		all = append(all, typed(enforced.Release(), CodeFailed, "release what is in force"))
	case !e.owned:
		m.tell(Event{Kind: EventAdoption, Session: s.id, Detail: "disposed of: what is in force was made by something else, and is left as it is"})
	}
	return errors.Join(all...)
}

// kill ends the commands, and takes no more.
func (s *Session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
	for _, cancel := range s.commands {
		cancel(ErrDisposed)
	}
}

// drain waits until no command is left.
func (s *Session) drain() {
	for {
		var one *Cmd
		s.mu.Lock()
		for c := range s.commands {
			one = c
		}
		s.mu.Unlock()
		if one == nil {
			return
		}
		<-one.settled
	}
}

// releaseScope releases what is in force for this session alone.
func (s *Session) releaseScope() error {
	s.mu.Lock()
	scope := s.scope
	s.scope = nil
	s.mu.Unlock()
	if scope == nil {
		return nil
	}
	return typed(scope.Release(), CodeFailed, "release what is in force for a session")
}
