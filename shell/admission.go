package shell

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"sallyport/policy"
)

// admit has the session's policy admitted and put in force. The first one owns what is in force already; any other has to
// be no wider, and gets a scope of its own.
func (s *Session) admit(ctx context.Context, o SessionOptions, first bool) error {
	e := s.est
	s.policy = o.Policy
	s.narrowed = e.narrowedTo() // what was taken away once is not to be had by opening another session
	if first && e.owned {
		s.rules = e.base
		return nil
	}
	asked, err := Compile(o.Policy)
	if err != nil {
		return err
	}
	if err := s.manager.belowCeiling(asked, "open a session"); err != nil {
		return err
	}
	if err := policy.Subset(asked, e.baseline()); err != nil {
		return conflict("open a session", err, asked, e.baseline())
	}
	s.rules = asked
	if e.enforced == nil || first && policy.Subset(e.base, asked) == nil {
		return nil // a fallback, or what was adopted is just what is asked for
	}
	if err := s.checkDrift(ctx, "", nil); err != nil {
		return err
	}
	if err := s.ownNetwork(ctx, o.Policy, "open a session"); err != nil {
		return err
	}
	s.scope, s.rules, err = e.scoped(ctx, e.enforced, o.Policy, asked)
	return err
}

// scoped puts a policy in force beside another one, and makes sure that it is no wider than what was judged: links may have
// changed since then, and an enforcer may be wrong.
func (e *establishment) scoped(ctx context.Context, from Enforcement, p policy.Policy, judged *policy.Rules) (Enforcement, *policy.Rules, error) {
	scope, err := from.Scope(ctx, p)
	if err != nil {
		return nil, nil, typed(err, CodeFailed, "put a policy in force")
	}
	return verified(ctx, scope, judged)
}

func verified(ctx context.Context, scope Enforcement, judged *policy.Rules) (Enforcement, *policy.Rules, error) {
	rules, err := scope.Rules(ctx)
	if err == nil {
		if wider := policy.Subset(rules, judged); wider != nil {
			err = conflict("put a policy in force", wider, rules, judged)
		}
	}
	if err != nil {
		err = typed(err, CodePolicyConflict, "derive the rules in force")
		return nil, nil, joined(err, typed(scope.Release(), CodeFailed, "release a policy that was refused"))
	}
	return scope, rules, nil
}

// baseline is what a later session may not be wider than.
func (e *establishment) baseline() *policy.Rules {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.base
}

// narrowedTo is the baseline when it was narrowed, or nil.
func (e *establishment) narrowedTo() *policy.Rules {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.base == e.first {
		return nil
	}
	return e.base
}

// belowCeiling refuses what is above the manager's ceiling.
func (m *Manager) belowCeiling(rules *policy.Rules, what string) error {
	if m.options.Ceiling == nil {
		return nil
	}
	ceiling, err := m.ceilingRules()
	if err != nil {
		return err
	}
	if err := covered(rules, ceiling); err != nil {
		return conflict(what+": above the ceiling", err, rules, ceiling)
	}
	return nil
}

// ceilingRules compiles the ceiling once, before the first command of the manager: a link that a command puts in the place
// of one of its paths later must not lead it anywhere else.
func (m *Manager) ceilingRules() (*policy.Rules, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ceiling != nil {
		return m.ceiling, nil
	}
	var err error
	m.ceiling, err = Compile(*m.options.Ceiling)
	return m.ceiling, err
}

// covered proves that parent allows whatever child does, where an entry of child's may lie below one of parent's: child
// has to be a part of what the two have in common.
func covered(child, parent *policy.Rules) error {
	common, err := policy.Intersect(child, parent)
	if err != nil {
		return err
	}
	return policy.Subset(child, common)
}

// conflict is the error for a policy that is wider than another one. It names both (R14).
func conflict(what string, wider error, requested, admitted *policy.Rules) *Error {
	return &Error{
		Code: CodePolicyConflict, Err: wider,
		Detail: what + ": requested " + policyText(requested) + ", admitted " + policyText(admitted),
		Hints:  []string{"ask for no more than what was admitted, entry by entry, or use another manager"},
	}
}

// policyText is a policy on one line.
func policyText(r *policy.Rules) string {
	b, err := json.Marshal(r.Policy())
	if err != nil { // it was compiled, so it can be written
		return "(" + err.Error() + ")"
	}
	return string(b)
}

// ownNetwork refuses a network section of a command's or session's own where the enforcer cannot keep it to that: it has to
// be the live one. Nothing is ignored silently (R140-R145).
func (s *Session) ownNetwork(ctx context.Context, p policy.Policy, what string) error {
	e := s.est
	if e.enforcer.Capabilities().PerCallNetwork {
		return nil
	}
	s.mu.Lock()
	from := s.scope
	s.mu.Unlock()
	if from == nil {
		from = e.enforced
	}
	live, err := e.rulesOf(ctx, from)
	if err != nil {
		return err
	}
	if !sameNetwork(p.Network, live.Policy().Network) {
		return &Error{Code: CodeNetworkGrantUnsupported,
			Detail: what + ": the network section is not the session's, and this enforcer cannot keep a network to one command; repeat the session's network section",
			Hints:  []string{"the session's network section is " + networkText(live)}}
	}
	return nil
}

// rulesOf are the rules of an enforcement: of the establishment's own as inForce gives them.
func (e *establishment) rulesOf(ctx context.Context, from Enforcement) (*policy.Rules, error) {
	if from == e.enforced {
		return e.inForce(ctx)
	}
	rules, err := from.Rules(ctx)
	return rules, typed(err, CodePolicyConflict, "derive the rules in force")
}

func networkText(r *policy.Rules) string {
	b, err := json.Marshal(policy.Policy{Network: r.Policy().Network})
	if err != nil { // it was compiled, so it can be written
		return "(" + err.Error() + ")"
	}
	return string(b)
}

// sameNetwork: the same sets, flag and reasons. A list that is absent is an empty one.
func sameNetwork(a, b policy.Network) bool {
	return a.Unrestricted == b.Unrestricted && sameSet(a.AllowedDomains, b.AllowedDomains) && sameSet(a.DeniedDomains, b.DeniedDomains) &&
		sameSet(a.AllowUnixSockets, b.AllowUnixSockets) && maps.Equal(a.DeniedDomainReasons, b.DeniedDomainReasons)
}

func sameSet(a, b []string) bool {
	in := func(list []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(list, s) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}
