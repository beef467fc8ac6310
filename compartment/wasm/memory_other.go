//go:build !linux

package wasm

// newMemorySystem is the one of this platform.
func newMemorySystem() memorySystem { return heapSystem{} }
