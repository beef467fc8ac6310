//go:build sallyport_layers

package jail

// Allowed reports whether this build may run a jail with only these layers. This is the build for tests: it may.
func Allowed(l Layers) bool { return l&^AllLayers == 0 }
