package shell

import (
	"context"
	"errors"

	"sallyport/policy"
)

// inSession is what a command of a session has besides. It is set by Session.Command and Start.
type inSession struct {
	session *Session
	process Process
	own     *commandRule  // the policy of its own
	settled chan struct{} // closed when the session has done with it
	cause   error         // why its context had ended by then
	release error         // what its own policy said when it was released
}

// startInSession starts the command, or says on its Completion that it did not.
func (c *Cmd) startInSession() error {
	err := c.session.start(c)
	if err != nil {
		c.stdio.abort()
		code := CodeOf(err)
		c.Completion = &Completion{ExitCode: -1, Failed: true, Denied: code == CodePolicyConflict || code == CodeNetworkGrantUnsupported}
	}
	return err
}

func (s *Session) start(c *Cmd) error {
	ctx, err := s.enter(c)
	if err != nil {
		return err
	}
	started := false
	defer func() {
		if !started { // also when the caller's function or sink panics: Dispose waits for whatever has entered
			s.leave(c, ctx)
		}
	}()
	p, err := s.spawn(ctx, c)
	if err != nil {
		if errors.Is(context.Cause(ctx), ErrDisposed) {
			return &Error{Code: CodeNotInitialized, Detail: "start " + c.Path, Err: ErrDisposed}
		}
		return err
	}
	started = true
	c.mu.Lock()
	c.process = p
	c.mu.Unlock()
	go func() { // not in Wait: a session can be disposed of although nobody waits for its commands
		<-p.Done()
		s.leave(c, ctx)
	}()
	return nil
}

// enter takes the command into the list of those that Dispose ends.
func (s *Session) enter(c *Cmd) (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return nil, errDisposed()
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.settled = make(chan struct{})
	s.commands[c] = cancel
	return ctx, nil
}

// leave ends the policy of the command's own and takes it off the list.
func (s *Session) leave(c *Cmd, ctx context.Context) {
	c.cause = context.Cause(ctx)
	if c.own != nil {
		c.release = typed(c.own.scope.Release(), CodeFailed, "release the policy of a command")
	}
	closeAll(c.stdio.close) // of pipes that were handed to another enforcer
	s.mu.Lock()
	for i, r := range s.perCall {
		if r == c.own {
			s.perCall = append(s.perCall[:i:i], s.perCall[i+1:]...)
			break
		}
	}
	cancel := s.commands[c]
	delete(s.commands, c)
	s.mu.Unlock()
	cancel(nil)
	close(c.settled)
}

// spawn makes every check and starts the command. The order is part of the contract: the words and the directory, the
// policy function, drift, the policy of the command's own, the spawn.
func (s *Session) spawn(ctx context.Context, c *Cmd) (Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Code: CodeFailed, Detail: "start " + c.Path, Err: err}
	}
	if _, err := c.words(); err != nil {
		return nil, err
	}
	if s.est.fallback != "" {
		s.manager.tell(Event{Kind: EventFallback, Loud: true, Session: s.id, Command: c.ID, Subject: c.Path,
			Detail: "started in a session without assured containment: " + s.est.fallback})
	}
	own, err := c.ownPolicy(ctx)
	if err != nil {
		return nil, err
	}
	s.est.starts.RLock() // rules are not narrowed between the check and the spawn
	defer s.est.starts.RUnlock()
	from, err := s.enforcement(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkDrift(ctx, c.ID, from); err != nil {
		return nil, err
	}
	if own != nil {
		if ours, ok := from.(*sandboxed); ok {
			from = ours.forOne()
		}
		if c.own, err = s.grant(ctx, from, *own); err != nil {
			return nil, err
		}
		from = c.own.scope
	}
	if _, ours := from.(*sandboxed); !ours {
		c.handPipes()
	}
	return from.Start(ctx, c)
}

// ownPolicy is the policy of the command's own, or nil. A function is asked here, and nowhere else.
func (c *Cmd) ownPolicy(ctx context.Context) (*policy.Policy, error) {
	switch {
	case c.Policy != nil && c.PolicyFunc != nil:
		return nil, invalid("start "+c.Path, errors.New("both Policy and PolicyFunc are set"))
	case c.PolicyFunc != nil:
		return c.PolicyFunc(ctx)
	}
	return c.Policy, nil
}

// enforcement is where the session's commands run. In a fallback it is put up by the first command for which that works.
func (s *Session) enforcement(ctx context.Context) (Enforcement, error) {
	s.mu.Lock()
	scope := s.scope
	s.mu.Unlock()
	switch {
	case scope != nil:
		return scope, nil
	case s.est.enforced != nil:
		return s.est.enforced, nil
	}
	made, err := s.est.enforcer.Establish(ctx, s.policy)
	if err != nil {
		return nil, typed(err, CodeFailed, "put the policy in force")
	}
	made, rules, err := verified(ctx, made, s.admitted())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scope != nil { // another command was quicker
		return s.scope, typed(made.Release(), CodeFailed, "release what is not needed")
	}
	s.scope, s.rules = made, rules
	return made, nil
}

// grant puts the policy of one command in force.
func (s *Session) grant(ctx context.Context, from Enforcement, p policy.Policy) (*commandRule, error) {
	what := "start a command with a policy of its own"
	rules, err := Compile(p)
	if err != nil {
		return nil, err
	}
	if err := s.ownNetwork(ctx, p, what); err != nil {
		return nil, err
	}
	if err := s.manager.belowCeiling(rules, what); err != nil {
		return nil, err
	}
	if s.manager.options.Ceiling == nil {
		if err := s.est.belowBaseline(rules, what); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	narrowed := s.narrowed
	s.mu.Unlock()
	if narrowed != nil {
		if rules, err = policy.Intersect(rules, narrowed); err != nil {
			return nil, conflict(what, err, rules, narrowed)
		}
		p = rules.Policy()
	}
	own := &commandRule{}
	if own.scope, own.rules, err = s.est.scoped(ctx, from, p, rules); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.perCall = append(s.perCall, own)
	s.mu.Unlock()
	return own, nil
}

// belowBaseline: without a ceiling, a command's own policy can reach no host that the baseline could not.
func (e *establishment) belowBaseline(rules *policy.Rules, what string) error {
	if err := covered(rules.WithFilesOf(e.first), e.first); err != nil {
		return conflict(what, err, rules, e.first)
	}
	return nil
}

// waitInSession waits for the process, and until nothing of the command is left.
func (c *Cmd) waitInSession() error {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p == nil {
		return invalid("wait for a command", errors.New("it is not running"))
	}
	err := c.waitFor(p)
	<-c.settled
	if errors.Is(err, context.Canceled) && errors.Is(c.cause, ErrDisposed) || CodeOf(err) == CodeNotInitialized {
		return &Error{Code: CodeNotInitialized, Detail: "the command was killed", Err: ErrDisposed}
	}
	if err == nil {
		err = c.release
	}
	return err
}

func (c *Cmd) waitFor(p Process) error {
	if c.foreign() == nil {
		_, err := p.Wait()
		return err
	}
	c.mu.Lock()
	waited := c.waited
	c.waited = true
	c.mu.Unlock()
	if waited {
		return invalid("wait for a command", errors.New("it is not running"))
	}
	defer closeAll(c.stdio.parent)
	done, err := p.Wait()
	c.Completion = &done
	return err
}

// foreign is the process of a command that does not run in a jail of this package's, or nil.
func (c *Cmd) foreign() Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ours := c.process.(jailed); ours {
		return nil
	}
	return c.process
}

// handPipes puts the ends of pipes where another enforcer finds them. The session closes them when the command is gone.
func (c *Cmd) handPipes() {
	pipes := &c.stdio.pipes
	if pipes[0] != nil {
		c.Stdin = pipes[0]
	}
	if pipes[1] != nil {
		c.Stdout = pipes[1]
	}
	if pipes[2] != nil {
		c.Stderr = pipes[2]
	}
}
