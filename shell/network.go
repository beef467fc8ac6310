package shell

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"sallyport/policy"
)

// SetNetwork puts another list of hosts in the place of the present one, for this sandbox and for every command of it that
// runs. When it returns, every decision is by the new list, and every connection that it does not allow is cut. An
// empty list reaches nothing.
//
// It changes the two lists of hosts and the reasons, and nothing else: whether commands have a network with a way out,
// the host's, or none is settled by Open, and so are the grants of path sockets. Errors are *Error with CodeInvalidConfig,
// after which everything is as it was, or CodeNotInitialized after Close.
func (s *Sandbox) SetNetwork(n policy.Network) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed()
	}
	now := s.rules.Policy().Network
	refuse := func(why string, hints ...string) error {
		return &Error{Code: CodeInvalidConfig, Detail: "change the network of a sandbox: " + why, Hints: hints}
	}
	switch {
	case n.Unrestricted != now.Unrestricted:
		return refuse("network.disabled is settled when it is opened")
	case !slices.Equal(n.AllowUnixSockets, now.AllowUnixSockets):
		return refuse("network.allowUnixSockets is settled when it is opened")
	case len(n.AllowedDomains) > 0 && !s.plan.listens():
		return refuse("it was opened without a list of hosts, so its commands have no way out", "open another one with network.allowedDomains")
	}
	rules, err := s.rules.WithNetwork(n)
	if err != nil {
		return invalid("policy", err)
	}
	s.rules = rules
	s.plan.setLists(rules)
	return nil
}

// checkSockets refuses a grant of a path socket that no command could ever see.
func checkSockets(p policy.Policy) error {
	for i, given := range p.Network.AllowUnixSockets {
		real, err := filepath.EvalSymlinks(given)
		if err == nil || p.Filesystem.Disabled {
			continue // what it leads to is shown
		}
		if real = given; slices.ContainsFunc(privateDirs(), func(d policy.PrivateDir) bool { return below(real, d.Path) }) {
			return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("network.allowUnixSockets[%d]: %s is not there, and every command has a directory of its own in its place", i, given),
				Hints: []string{"start the server first, or have it listen somewhere else"}}
		}
	}
	return nil
}

// listRemarks are what a list does that its author may not have meant: an entry that matches every name, or nothing.
func listRemarks(rules *policy.Rules) (remarks []string) {
	for i, given := range rules.Policy().Network.AllowedDomains {
		host := given
		if h, _, err := net.SplitHostPort(given); err == nil {
			host = h
		}
		switch {
		case host == "*":
			remarks = append(remarks, fmt.Sprintf("allowedDomains[%d] %q allows every name", i, given))
		case strings.ContainsAny(host, "*/"):
		case !rules.Lookup(host).Allowed:
			remarks = append(remarks, fmt.Sprintf("allowedDomains[%d] %q allows nothing: a denied domain beats it", i, given))
		}
	}
	return remarks
}

// Expose opens a port of the host that leads to a server of this running command, until the command ends: port is the
// server's on the command's own loopback, of either family, and address is the host's, "127.0.0.1:0" for any free port. It
// gives the address that was opened. A client is refused while no server listens.
//
// Everybody on this machine can connect to it; an address that is not loopback is refused, and so is a command that has
// the host's network or has ended, with CodeInvalidConfig.
func (c *Cmd) Expose(address string, port int) (net.Addr, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, invalid("expose a port", err)
	}
	if a, err := netip.ParseAddr(host); err != nil || !a.IsLoopback() {
		return nil, invalid("expose a port", fmt.Errorf("%q is no loopback address", host), "127.0.0.1:0 is any free port")
	}
	if port < 1 || port > 65535 {
		return nil, invalid("expose a port", fmt.Errorf("there is no port %d", port))
	}
	j := c.running()
	if j == nil {
		return nil, invalid("expose a port", errors.New("the command is not running"))
	}
	return j.expose(address, port)
}
