package policy

// WithNetwork gives the same rules with another network section. What is decided about files, and the path sockets,
// stay as they were compiled: n.AllowUnixSockets is not looked at. The error is an *Error.
func (r *Rules) WithNetwork(n Network) (*Rules, error) {
	next := *r
	next.policy = r.policy.clone()
	n.AllowUnixSockets = next.policy.Network.AllowUnixSockets
	next.policy.Network = n
	next.policy = next.policy.clone()
	if err := next.policy.Validate(); err != nil {
		return nil, err
	}
	next.compileNetwork()
	return &next, nil
}

// compileNetwork compiles the lists of hosts.
func (r *Rules) compileNetwork() {
	r.network = r.policy.Network
	r.allowed, r.denied = compileDomains(r.network.AllowedDomains), compileDomains(r.network.DeniedDomains)
	r.deniedReasons = map[string]string{}
	for name, reason := range r.network.DeniedDomainReasons {
		d, _ := parseDomain(name) // Validate has been passed
		r.deniedReasons[d.canonical()] = reason
	}
}
