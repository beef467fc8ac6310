package jail

// Layers is a set of layers, for the tests that show what each layer does alone.
type Layers uint32

// One bit a layer.
const (
	LayerNamespaces Layers = 1 << iota // pid, ipc, uts and cgroup namespaces (user and mount come with any layer that needs them)
	LayerNetwork                       // network namespace
	LayerMounts                        // the mount tree, private /tmp and /dev
	LayerProc                          // a fresh, hardened /proc
	LayerFDs                           // close_range
	LayerCaps                          // capability sets emptied
	LayerNNP                           // no_new_privs
	LayerRlimits                       // resource limits
	LayerLandlock                      // Landlock ruleset
	LayerSeccomp                       // seccomp filter
	LayerNames                         // decisions by name, and the records

	// AllLayers is what a release build puts up, always.
	AllLayers Layers = 1<<iota - 1
)

// Has says whether all of want are in the set.
func (l Layers) Has(want Layers) bool { return l&want == want }
