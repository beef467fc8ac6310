package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"sallyport/policy"
	"sallyport/shell"
)

// policyFlags are the flags that make a policy: a file, then additions.
type policyFlags struct {
	file                                       string
	allowRead, denyRead, allowWrite, denyWrite []string
	allowDomain, denyDomain                    []string
	network                                    string
	env, limit                                 []string
}

func (f *policyFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.file, "policy", "", "")
	set.StringArrayVar(&f.allowRead, "allow-read", nil, "")
	set.StringArrayVar(&f.denyRead, "deny-read", nil, "")
	set.StringArrayVar(&f.allowWrite, "allow-write", nil, "")
	set.StringArrayVar(&f.denyWrite, "deny-write", nil, "")
	set.StringArrayVar(&f.allowDomain, "allow-domain", nil, "")
	set.StringArrayVar(&f.denyDomain, "deny-domain", nil, "")
	set.StringVar(&f.network, "network", "", "")
	set.StringArrayVar(&f.env, "env", nil, "")
	set.StringArrayVar(&f.limit, "limit", nil, "")
}

// request is what the flags ask for.
type request struct {
	policy  policy.Policy
	options shell.Options
	rules   *policy.Rules
	secrets int      // how many entries of denyRead, from its first, are secret places
	notes   []string // what this program added by itself, for explain
}

// resolve turns the flags into a policy and its rules. command is whose flags they are; dir is where the confined
// command will start, "" for here.
func (f *policyFlags) resolve(command, dir string) (*request, error) {
	r := &request{}
	if err := f.base(r); err != nil {
		return nil, err
	}
	if err := f.add(command, &r.policy); err != nil {
		return nil, err
	}
	var err error
	if r.options.Limits, err = parseLimits(f.limit); err != nil {
		return nil, usage(command, err.Error())
	}
	r.options.EnvAllow, r.options.Env = f.environment()
	if r.rules, err = shell.Compile(r.policy); err != nil {
		return nil, err
	}
	if err := guardPolicyFile(f.file, r); err != nil {
		return nil, err
	}
	if dir == "" {
		return r, r.showHere()
	}
	return r, nil
}

// base is the policy that the additions start from: the file, or reads without the secret places (A20).
func (f *policyFlags) base(r *request) error {
	if f.file == "" {
		secrets, err := secretPlaces()
		r.policy.Filesystem.DenyRead, r.secrets = secrets, len(secrets)
		r.notes = append(r.notes, "no --policy: the secret places of the home directory are denied")
		return err
	}
	p, err := readPolicy(f.file)
	r.policy = p
	return err
}

// maxPolicy bounds what is read as a policy: more than package policy takes, so that it is the one to say so.
const maxPolicy = 2 << 20

// readPolicy reads a policy file.
func readPolicy(file string) (policy.Policy, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return policy.Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return policy.Policy{}, errors.Join(fmt.Errorf("read the policy: %s is not a regular file", file), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPolicy))
	if err != nil {
		return policy.Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	p, err := policy.Parse(data)
	if err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// add appends what the flags name.
func (f *policyFlags) add(command string, p *policy.Policy) error {
	lists := []struct {
		flag string
		from []string
		to   *[]policy.PathEntry
	}{
		{"--allow-read", f.allowRead, &p.Filesystem.AllowRead},
		{"--deny-read", f.denyRead, &p.Filesystem.DenyRead},
		{"--allow-write", f.allowWrite, &p.Filesystem.AllowWrite},
		{"--deny-write", f.denyWrite, &p.Filesystem.DenyWrite},
	}
	for _, l := range lists {
		for _, path := range l.from {
			if path == "" {
				return usage(command, l.flag+" needs a path")
			}
			abs, err := filepath.Abs(path)
			if err != nil {
				return fmt.Errorf("%s %q: %w", l.flag, path, err)
			}
			*l.to = append(*l.to, policy.PathEntry{Path: abs})
		}
	}
	p.Network.AllowedDomains = append(p.Network.AllowedDomains, f.allowDomain...)
	p.Network.DeniedDomains = append(p.Network.DeniedDomains, f.denyDomain...)
	return f.setNetwork(command, &p.Network)
}

// setNetwork applies --network, which replaces what the file says about the mode.
func (f *policyFlags) setNetwork(command string, n *policy.Network) error {
	switch f.network {
	case "":
	case "none":
		if len(f.allowDomain) > 0 {
			return usage(command, "--network none and --allow-domain contradict each other")
		}
		n.AllowedDomains, n.AllowUnixSockets, n.Unrestricted = nil, nil, false
	case "unrestricted":
		if len(f.allowDomain)+len(f.denyDomain) > 0 {
			return usage(command, "--network unrestricted and a list of domains contradict each other")
		}
		n.Unrestricted = true
	case "list":
		if len(n.AllowedDomains) == 0 {
			return usage(command, "--network list needs a list: --allow-domain, or network.allowedDomains of the policy")
		}
		n.Unrestricted = false
	default:
		return usage(command, fmt.Sprintf("--network %q: it is none, list or unrestricted", f.network))
	}
	return nil
}

// environment splits --env into names to pass on and values to set. PATH is always among the names: a command without
// it finds nothing.
func (f *policyFlags) environment() (names, values []string) {
	names = []string{"PATH"}
	for _, e := range f.env {
		if strings.Contains(e, "=") {
			values = append(values, e)
			continue
		}
		names = append(names, e)
	}
	return names, values
}
