//go:build sallyport_layers

package live

import (
	"os"
	"slices"
	"strings"

	"sallyport/shell"
)

// buildName is part of the report's name, and buildArms says which arms this build has.
const (
	buildName = "-layers"
	buildArms = "only this layer up, nothing up, everything up"
)

// carriers are the layers without which another cannot be put up, and why. An arm with that layer alone has them too.
var carriers = map[string]struct {
	with []string
	why  string
}{
	"proc":    {[]string{"namespaces"}, "only the owner of a pid namespace may mount its /proc"},
	"mounts":  {[]string{"proc", "namespaces"}, "the new tree has no /proc of the host's and needs one of its own"},
	"seccomp": {[]string{"no_new_privs"}, "an ordinary user may install a filter only with no_new_privs"},
	"names":   {[]string{"no_new_privs"}, "the same: calls are handed over by a filter"},
}

// carried adds to a set of layers those that carry them.
func carried(set []string) []string {
	all := slices.Clone(set)
	for _, layer := range set {
		for _, c := range carriers[layer].with {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

func only(names ...string) func(shell.Options) shell.Options {
	return func(o shell.Options) shell.Options {
		if len(names) == 0 {
			o.Limits = shell.Limits{} // some are kept by control groups, which are no layer
		}
		return shell.OnlyTheseLayersForTests(o, names...)
	}
}

// alone is the arm with one set of layers and what carries them.
func alone(set []string, want string) arm {
	all := carried(set)
	name := "only " + strings.Join(set, "+")
	if extra := all[len(set):]; len(extra) > 0 {
		name += " (carried by " + strings.Join(extra, "+") + ")"
	}
	return arm{name, only(all...), want}
}

// layerArms are the arms that need single layers: each set alone, the sets that do not help, and nothing at all.
func (a attack) layerArms() []arm {
	var arms []arm
	for _, set := range a.alone {
		arms = append(arms, alone(set, refused))
	}
	usual := a.rootOnly && os.Getuid() != 0
	for _, set := range a.notBy {
		if !usual {
			arms = append(arms, alone(set, through))
		}
	}
	if a.alike == "" && !usual {
		arms = append(arms, arm{"nothing up", only(), through})
	}
	return arms
}
