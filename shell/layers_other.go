//go:build !linux

package shell

// layerSwitch is empty where there are no layers.
type layerSwitch struct{}
