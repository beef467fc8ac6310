package shell

import "sallyport/policy"

// Read decides whether a command of this sandbox could read a real path of the host, as Rules().Read does.
func (s *Sandbox) Read(path string) policy.Decision { return s.Rules().Read(path) }

// Write decides whether a command of this sandbox could write a real path of the host. It knows more than Rules().Write:
// what git would take for a repository's hooks or configuration under any name, what a git configuration leads to, and
// the program that starts jails. Whatever else is done with the host's files on behalf of the same policy should ask here,
// so that it permits no more than a command has.
//
// As with the rules, a path in a directory of which every command has its own is allowed under policy.ListPrivate, which says nothing of
// the host's.
func (s *Sandbox) Write(path string) policy.Decision { return s.decideWrite(path) }

// ReadsBelow is Rules().ReadsBelow.
func (s *Sandbox) ReadsBelow(dir string) bool { return s.Rules().ReadsBelow(dir) }

// Read decides as the next command of the session will find it. When nothing is in force, everything is refused.
func (s *Session) Read(path string) policy.Decision {
	rules, err := s.EffectivePolicy()
	if err != nil {
		return policy.Decision{Axis: policy.AxisRead, Path: path, Reason: err.Error()}
	}
	return rules.Read(path)
}

// Write is Read for writing. Of an enforcer of our own it knows what [Sandbox.Write] knows; of another one the rules alone.
func (s *Session) Write(path string) policy.Decision {
	rules, err := s.EffectivePolicy()
	if err != nil {
		return policy.Decision{Axis: policy.AxisWrite, Path: path, Reason: err.Error()}
	}
	d := rules.Write(path)
	s.mu.Lock()
	scope := s.scope
	s.mu.Unlock()
	if scope == nil {
		scope = s.est.enforced
	}
	if own, ok := scope.(*sandboxed); ok && d.Allowed {
		return own.current().Write(path)
	}
	return d
}

// ReadsBelow is that of the rules in force.
func (s *Session) ReadsBelow(dir string) bool {
	rules, err := s.EffectivePolicy()
	return err == nil && rules.ReadsBelow(dir)
}
