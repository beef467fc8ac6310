package shell

import (
	"encoding/json"
	"path/filepath"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// What mounts cannot say is decided by name, by the jail's first process: names that do not exist yet, at any depth, and
// patterns. The rules travel to it as the policy, with what its links led to here.

// byName plans the decisions by name; nil when there is nothing to decide and nothing to record.
func (m *mountPlanner) byName(seen []jail.Resolved, o Options) (*jail.Names, error) {
	p := m.rules.Policy()
	n := &jail.Names{
		Resolved: seen, Private: privateDirs(), Guarded: m.guarded, Record: !o.NoRecords,
		NoNetwork: !o.NoRecords && !p.Network.Unrestricted && !listed(p.Network),
		Capture:   listed(p.Network) && o.switches.layers().Has(jail.LayerNetwork), Sockets: len(p.Network.AllowUnixSockets) > 0,
	}
	if !m.disabled {
		denies := m.deniesReads()
		n.DecideReads = o.StrictReads && denies || m.hasPattern("denyRead")
		n.Writes = n.Record || n.DecideReads || len(m.roots) > 0 || m.hasPattern("allowWrite")
		n.WatchReads = n.Record && denies && !n.DecideReads
		n.Probe = []byte(m.deniedName())
	}
	if !n.Writes && !n.Record && !n.Capture && !n.Sockets {
		return nil, nil
	}
	var err error
	if n.Policy, err = json.Marshal(p); err != nil {
		return nil, &Error{Code: CodeFailed, Detail: "write the policy for the jail", Err: err}
	}
	return n, nil
}

func (m *mountPlanner) deniesReads() bool {
	for _, e := range m.rules.Entries() {
		if e.List == "denyRead" {
			return true
		}
	}
	return false
}

func (m *mountPlanner) hasPattern(list string) bool {
	for _, e := range m.rules.Entries() {
		if e.List == list && e.Glob {
			return true
		}
	}
	return false
}

// deniedName is a path that the rules refuse to have written: a mandatory name in a writable root where there is one.
// Whether calls are judged is found out by asking for it.
func (m *mountPlanner) deniedName() string {
	for _, root := range m.roots {
		for _, name := range policy.Mandatories() {
			if path := filepath.Join(root, name.Name); !m.rules.Write(path).Allowed {
				return path
			}
		}
	}
	return "/proc/sys" // private to every command, and not writable
}
