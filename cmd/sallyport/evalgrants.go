package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sallyport/compartment"
	"sallyport/fs"
	"sallyport/hostfuncs"
	"sallyport/policy"
)

// grantable is a power that --grant can hand in.
type grantable struct {
	name string
	// scope is what has to follow the name, as the usage shows it; empty: nothing may follow.
	scope string
	// make makes what is handed in. What it opens is held.
	make func(h *holdings, scope string) ([]compartment.Power, error)
}

// grantables are the powers of --grant. The console is always there.
func grantables() []grantable {
	return []grantable{
		{"readFile", "DIR", below(hostfuncs.ReadFile)},
		{"listDirectory", "DIR", below(hostfuncs.ListDirectory)},
		{"clock", "", plain(func() []compartment.Power { return []compartment.Power{hostfuncs.Clock(0)} })},
		{"random", "", plain(func() []compartment.Power { return hostfuncs.Random(nil) })},
		{"timers", "", plain(func() []compartment.Power { return []compartment.Power{hostfuncs.Timers(0)} })},
		{"fetch", "HOST[,HOST...]", fetchGrant},
		{"scratch", "", plain(func() []compartment.Power { return hostfuncs.Scratch(0) })},
	}
}

// below makes a power whose scope is a directory.
func below(power func(*fs.Dir) compartment.Power) func(*holdings, string) ([]compartment.Power, error) {
	return func(h *holdings, path string) ([]compartment.Power, error) {
		dir, err := fs.OpenDir(path)
		if err != nil {
			return nil, err
		}
		h.closers = append(h.closers, dir)
		return []compartment.Power{power(dir)}, nil
	}
}

// plain makes powers that need no scope.
func plain(powers func() []compartment.Power) func(*holdings, string) ([]compartment.Power, error) {
	return func(*holdings, string) ([]compartment.Power, error) { return powers(), nil }
}

// holdings are what an evaluation holds open: its engine and the directories of its powers.
type holdings struct {
	closers []io.Closer
}

// grant makes the powers that the flags name.
func (h *holdings) grant(flags []string) ([]compartment.Power, error) {
	var powers []compartment.Power
	seen := map[string]bool{}
	for _, flag := range flags {
		name, scope, scoped := strings.Cut(flag, "=")
		if seen[name] {
			return nil, usage("eval", fmt.Sprintf("--grant %s is given twice", name))
		}
		seen[name] = true
		g, err := findGrantable(name, scope, scoped)
		if err != nil {
			return nil, err
		}
		made, err := g.make(h, scope)
		if err != nil {
			return nil, fmt.Errorf("--grant %s: %w", flag, err)
		}
		powers = append(powers, made...)
	}
	return powers, nil
}

// findGrantable finds the power of that name, and says what is wrong with how it was asked for.
func findGrantable(name, scope string, scoped bool) (grantable, error) {
	all := grantables()
	i := slices.IndexFunc(all, func(g grantable) bool { return g.name == name })
	switch {
	case i < 0:
		var names []string
		for _, g := range all {
			names = append(names, g.usage())
		}
		return grantable{}, usage("eval", fmt.Sprintf("--grant %q: there are %s", name, strings.Join(names, ", ")))
	case all[i].scope == "" && scoped:
		return grantable{}, usage("eval", fmt.Sprintf("--grant %s takes no scope, and %q was given", name, scope))
	case all[i].scope != "" && scope == "":
		return grantable{}, usage("eval", fmt.Sprintf("--grant %s needs a scope: %s", name, all[i].usage()))
	}
	return all[i], nil
}

// usage is how the grant is written.
func (g grantable) usage() string {
	if g.scope == "" {
		return g.name
	}
	return g.name + "=" + g.scope
}

// close closes what is held, the last first.
func (h *holdings) close() error {
	var errs []error
	for _, c := range slices.Backward(h.closers) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// fetchGrant makes fetch for the hosts that the scope lists, each as in network.allowedDomains of a policy.
func fetchGrant(_ *holdings, hosts string) ([]compartment.Power, error) {
	p := policy.Policy{Network: policy.Network{AllowedDomains: strings.Split(hosts, ",")}}
	rules, err := p.Compile(policy.CompileOptions{})
	if err != nil {
		return nil, err
	}
	power, err := hostfuncs.Fetch(hostfuncs.FetchOptions{Rules: rules})
	if err != nil {
		return nil, err
	}
	return []compartment.Power{power}, nil
}
