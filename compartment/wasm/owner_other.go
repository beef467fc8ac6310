//go:build !unix

package wasm

import iofs "io/fs"

// ownedByUs has nothing to ask where files have no such owners.
func ownedByUs(iofs.FileInfo) error { return nil }
