package shell

import (
	"context"
	"errors"
	"slices"

	"sallyport/policy"
)

// Narrow replaces the session's policy by one that is no wider, in place: for the files of every command that starts from
// now on, and for the network of running commands at once. Policies of single commands are cut down to what both allow, those
// of running ones too, and so is every session that rests on this one. A running command keeps its files.
//
// Errors are *Error: CodeNarrowingUnsupported names the axis that the enforcer cannot narrow, CodePolicyConflict the axis
// and entry that would be wider. After an error that is not one of these, what is in force may be narrower than before; it
// is never wider.
func (s *Session) Narrow(ctx context.Context, p policy.Policy) error {
	next, err := Compile(p)
	if err != nil {
		return err
	}
	if err := s.manager.wait(ctx, "narrow a session"); err != nil {
		return err
	}
	defer s.manager.pass()
	e := s.est
	e.starts.Lock()
	defer e.starts.Unlock()
	if err := s.alive(); err != nil {
		return err
	}
	from, err := s.enforcement(ctx)
	if err != nil {
		return err
	}
	live, err := e.rulesOf(ctx, from)
	if err != nil {
		return err
	}
	if err := policy.Subset(next, live); err != nil {
		return conflict("narrow a session", err, next, live)
	}
	if !s.canNarrow(from) {
		axis := changedAxis(live, next)
		if axis == "" {
			return nil // it is what is in force already
		}
		return &Error{Code: CodeNarrowingUnsupported, Detail: "narrow " + axis + ": this enforcer cannot narrow what is in force",
			Hints: []string{"open another session with the narrower policy"}}
	}
	return s.narrowTo(ctx, from, p, next)
}

// canNarrow: what was adopted is not ours to change.
func (s *Session) canNarrow(from Enforcement) bool {
	return s.est.enforcer.Capabilities().Narrowing && (s.est.owned || from != s.est.enforced)
}

// changedAxis is the section in which two policies differ, or "".
func changedAxis(live, next *policy.Rules) string {
	if policy.Subset(live, live.WithFilesOf(next)) != nil {
		return "filesystem"
	}
	if policy.Subset(live, next) != nil {
		return "network"
	}
	return ""
}

// narrowTo narrows what is inside first, so that nothing is ever wider than what it rests on.
func (s *Session) narrowTo(ctx context.Context, from Enforcement, p policy.Policy, next *policy.Rules) error {
	e := s.est
	if err := s.narrowCommands(ctx, next); err != nil {
		return err
	}
	owns := e.ownedBy(s)
	if owns {
		for _, other := range e.others(s) {
			if err := other.narrowUnder(ctx, next); err != nil {
				return err
			}
		}
	}
	if err := from.Narrow(ctx, p); err != nil {
		return typed(err, CodeFailed, "narrow what is in force")
	}
	s.mu.Lock()
	s.policy, s.rules, s.narrowed = p, next, next
	s.mu.Unlock()
	if owns {
		e.mu.Lock()
		e.base = next
		e.mu.Unlock()
	}
	live, err := e.rulesOf(ctx, from)
	if err != nil {
		return err
	}
	if err := policy.Subset(live, next); err != nil { // and no command runs from now on: see checkDrift
		return conflict("narrow a session: the enforcer has not done it", err, live, next)
	}
	return nil
}

// ownedBy says whether the session is the one whose policy is the baseline.
func (e *establishment) ownedBy(s *Session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.owned && e.owner == s
}

// others are the live sessions that rest on the same establishment.
func (e *establishment) others(s *Session) []*Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []*Session
	for other := range e.sessions {
		if other != s {
			list = append(list, other)
		}
	}
	return list
}

// narrowCommands cuts the policies of running commands down to what next allows too.
func (s *Session) narrowCommands(ctx context.Context, next *policy.Rules) error {
	s.mu.Lock()
	running := slices.Clone(s.perCall)
	s.mu.Unlock()
	for _, r := range running {
		common, err := policy.Intersect(r.rules, next)
		if err != nil {
			return conflict("narrow a running command", err, r.rules, next)
		}
		if ours, ok := r.scope.(*sandboxed); ok {
			err = ours.narrowRunning(common) // nothing else will start under it
		} else {
			err = r.scope.Narrow(ctx, common.Policy())
		}
		if err != nil {
			return typed(err, CodeFailed, "narrow a running command")
		}
		r.rules = common
	}
	return nil
}

// narrowUnder cuts a session down that rests on one that is being narrowed.
func (s *Session) narrowUnder(ctx context.Context, next *policy.Rules) error {
	if err := s.narrowCommands(ctx, next); err != nil {
		return err
	}
	s.mu.Lock()
	scope, rules := s.scope, s.rules
	s.mu.Unlock()
	common, err := policy.Intersect(rules, next)
	if err != nil {
		return conflict("narrow a session", err, rules, next)
	}
	p := common.Policy()
	if scope != nil {
		if err := scope.Narrow(ctx, p); err != nil {
			return typed(err, CodeFailed, "narrow a session")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy, s.rules, s.narrowed = p, common, common
	return nil
}

// asSubset finds what is wider in an error.
func asSubset(err error) (*policy.SubsetError, bool) {
	var e *policy.SubsetError
	ok := errors.As(err, &e)
	return e, ok
}
