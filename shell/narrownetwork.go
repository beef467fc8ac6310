package shell

import "sallyport/policy"

// narrowNetwork has the running commands of the sandbox keep to a narrower network section, or says that they cannot. Those
// that reach nothing need nothing; one that shares the host's network cannot be taken out of it.
func (s *Sandbox) narrowNetwork(next *policy.Rules) error {
	now := s.rules.Policy().Network
	nothing := !now.Unrestricted && len(now.AllowedDomains) == 0 && len(now.AllowUnixSockets) == 0
	if nothing || !s.busy() || sameNetwork(now, next.Policy().Network) {
		return nil
	}
	return &Error{Code: CodeNarrowingUnsupported, Detail: "narrow network: a running command shares the host's network, and cannot be taken out of it",
		Hints: []string{"wait until the running commands have ended, or dispose of the session"}}
}
