package shell

import (
	"errors"

	"sallyport/policy"
)

// narrowNetwork has the running commands of the sandbox keep to a narrower network section, or says that they cannot. Those
// that reach nothing need nothing. One that shares the host's network cannot be taken out of it, and what a path socket
// carries cannot be cut.
func (s *Sandbox) narrowNetwork(next *policy.Rules) error {
	now, want := s.Rules().Policy().Network, next.Policy().Network
	nothing := !now.Unrestricted && len(now.AllowedDomains) == 0 && len(now.AllowUnixSockets) == 0
	if nothing || !s.busy() || sameNetwork(now, want) {
		return nil
	}
	refuse := func(why string) error {
		return &Error{Code: CodeNarrowingUnsupported, Detail: "narrow network: a running command " + why,
			Hints: []string{"wait until the running commands have ended, or dispose of the session"}}
	}
	switch {
	case now.Unrestricted:
		return refuse("shares the host's network, and cannot be taken out of it")
	case !sameSet(now.AllowUnixSockets, want.AllowUnixSockets):
		return refuse("may use a path socket, which cannot be taken from it")
	}
	want.AllowUnixSockets = now.AllowUnixSockets
	err := s.SetNetwork(want)
	if errors.Is(err, ErrClosed) {
		return nil // nothing runs in it any more
	}
	return err
}
