//go:build !linux

package shell

import "sallyport/policy"

// decideWrite is never called: Open refuses here.
func (s *Sandbox) decideWrite(path string) policy.Decision { return s.Rules().Write(path) }
