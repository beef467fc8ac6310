package shell

import (
	"sallyport/policy"
	"sallyport/shell/internal/broker"
)

// decideWrite asks what the first process of a jail would answer.
func (s *Sandbox) decideWrite(path string) policy.Decision {
	s.mu.Lock()
	names, rules := s.plan.wire.Names, s.rules
	s.mu.Unlock()
	var guards []broker.Guard
	if names != nil {
		for _, g := range names.Guarded {
			guards = append(guards, broker.Guard{Path: string(g.Path), Why: g.Why})
		}
	}
	return broker.DecideWrite(rules, guards, path)
}
