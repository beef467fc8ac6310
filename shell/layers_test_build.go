//go:build linux && sallyport_layers

package shell

import "sallyport/shell/internal/jail"

// layerSwitch exists only under the build tag sallyport_layers, for the tests that show what each layer does alone.
type layerSwitch struct{ only *jail.Layers }

func (s layerSwitch) layers() jail.Layers {
	if s.only == nil {
		return jail.AllLayers
	}
	return *s.only
}

// layerNames are the layers by the name that the tests use.
var layerNames = map[string]jail.Layers{
	"namespaces":   jail.LayerNamespaces,
	"network":      jail.LayerNetwork,
	"mounts":       jail.LayerMounts,
	"proc":         jail.LayerProc,
	"descriptors":  jail.LayerFDs,
	"capabilities": jail.LayerCaps,
	"no_new_privs": jail.LayerNNP,
	"rlimits":      jail.LayerRlimits,
	"landlock":     jail.LayerLandlock,
	"seccomp":      jail.LayerSeccomp,
	"names":        jail.LayerNames,
}

// OnlyTheseLayersForTests makes o put up the named layers and no others; none at all runs the command unconfined as
// the caller. It panics on an unknown name.
func OnlyTheseLayersForTests(o Options, names ...string) Options {
	var only jail.Layers
	for _, n := range names {
		layer, ok := layerNames[n]
		if !ok {
			panic("unknown layer " + n)
		}
		only |= layer
	}
	o.switches = layerSwitch{&only}
	return o
}
