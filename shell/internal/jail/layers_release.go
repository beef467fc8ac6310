//go:build !sallyport_layers

package jail

// Allowed reports whether this build may run a jail with only these layers: a release build never may.
func Allowed(l Layers) bool { return l == AllLayers }
