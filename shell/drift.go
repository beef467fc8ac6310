package shell

import (
	"context"
	"slices"

	"sallyport/policy"
)

// checkDrift compares what is in force with what was admitted, and refuses when anything is wider (R118). Narrower is no
// drift. With this package's own enforcer nothing can widen what is in force, so the check has no cause but a fault of
// ours, and stays for that. Where something else can, detection is not prevention: a command that runs already keeps what
// it has for its whole life, and it is the next one that is refused (R120, R121). scope is nil, or what the command runs in.
func (s *Session) checkDrift(ctx context.Context, command string, scope Enforcement) error {
	e := s.est
	event := Event{Kind: EventDrift, Session: s.id, Command: command}
	compare := func(from Enforcement, admitted *policy.Rules) error {
		live, err := e.rulesOf(ctx, from)
		if err == nil {
			if wider := drift(live, admitted); wider != nil {
				err = conflict("what is in force is wider than what was admitted", wider, live, admitted)
			}
		}
		if err != nil {
			event.Outcome = Failed
			event.Subject, event.Detail = driftText(err)
			s.manager.tell(event)
		}
		return err
	}
	base := e.baseline()
	if e.enforced != nil {
		if err := compare(e.enforced, base); err != nil {
			return err
		}
	}
	if scope != nil && scope != e.enforced {
		if err := compare(scope, s.admitted()); err != nil {
			return err
		}
	}
	if e.owned && base.Policy().Network.Unrestricted { // no list of hosts is wider than all of them
		skipped := event
		skipped.Outcome, skipped.Subject, skipped.Detail = Skipped, "network-domains", "the baseline has its network rules disabled: domains are not compared"
		s.manager.tell(skipped)
	}
	event.Outcome = Passed
	s.manager.tell(event)
	return nil
}

// drift says how live is wider than admitted. A pattern that means nothing and was not there before is drift too.
func drift(live, admitted *policy.Rules) error {
	if live == admitted {
		return nil // rules never change: the very same ones were read back
	}
	if err := policy.Subset(live, admitted); err != nil {
		return err
	}
	known := admitted.Derived().UndecidableGlobs
	for _, glob := range live.Derived().UndecidableGlobs {
		if !slices.Contains(known, glob) {
			return &policy.SubsetError{Axis: "undecidableGlobs", Entry: glob, Reason: "a pattern that means nothing was not there"}
		}
	}
	return nil
}

// driftText says what is wider, and not why: that cannot be known (R116).
func driftText(err error) (axis, detail string) {
	if e, ok := asSubset(err); ok {
		return e.Axis, "what is in force has become wider than what was admitted: " + e.Reason
	}
	return "", "the rules in force cannot be derived"
}

// admitted is what the session's own policy may not become wider than.
func (s *Session) admitted() *policy.Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules
}
