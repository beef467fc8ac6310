//go:build !unix

package corpus

// limitAddressSpace does nothing where there is no such limit.
func limitAddressSpace(uint64) error { return nil }
