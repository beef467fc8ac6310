// Package guest knows the JavaScript engine that compartment/wasm hosts: which file it is, where it can be, and how it is brought.
//
//	b, from, err := guest.Find("")
//
// The file is a dependency and not part of the source: QuickJS-ng, compiled to WebAssembly, from the npm package quickjs-wasi. It is
// looked for in this order:
//
//  1. in the program itself: `go generate ./compartment/wasm` puts it where the next build embeds it;
//  2. in the user's cache directory, under its SHA-256: `sallyport guest install` puts it there.
//
// Wherever it comes from, it is used only when its SHA-256 is the one of this package. There is no other engine to fall back to: when it
// is nowhere, Find says which command brings it.
//
// The lock file beside this package names the version and the integrity hash of the npm package; npm checks that hash, and this
// package checks the file again.
package guest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
)

// What the guest is. A new version is a change of these, of the lock file, and of what the tests of compartment/wasm then find.
const (
	Package = "quickjs-wasi"
	Version = "3.7.0"
	SHA256  = "c0bd8f296e18cf074969f6401b9ecb72609a1323818ec2b9bf7a8f8d740d1363"
)

// fileName is what the guest is called in the npm package, and here when `go generate` brought it.
const fileName = "quickjs.wasm"

// Commands are what brings the guest: to embed it, and to keep it for every program of the user.
var Commands = [2]string{"go generate ./compartment/wasm", "sallyport guest install"}

// files holds the notices, which are always there, and the guest, which is there after `go generate`.
//
//go:embed quickjs.* package.json package-lock.json
var files embed.FS

// ErrAbsent is found by errors.Is when the guest is in none of the places.
var ErrAbsent = errors.New("the guest is not here")

// Place says where a guest was found.
type Place string

// The places.
const (
	Embedded Place = "embedded"
	Cached   Place = "cache"
)

// Notices is the text that the licences ask to be kept with every copy of the guest.
func Notices() string {
	b, err := files.ReadFile("quickjs.md")
	if err != nil {
		return "" // not possible: the build fails without the file
	}
	return string(b)
}

// Find returns the guest and where it was. dir is the directory `guest install` writes to; empty is CacheDir. A file that is not the
// guest is an error, not a reason to look further: somebody changed it. The error is ErrAbsent when there is none.
func Find(dir string) ([]byte, Place, error) { return find(files, dir) }

// find is Find with the files that are embedded.
func find(embedded iofs.ReadFileFS, dir string) ([]byte, Place, error) {
	b, err := embedded.ReadFile(fileName)
	if err == nil {
		return b, Embedded, Verify(b)
	}
	path, err := Path(dir)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	b, err = os.ReadFile(path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil, "", ErrAbsent
	case err != nil:
		return nil, "", fmt.Errorf("read the guest: %w", err)
	}
	return b, Cached, Verify(b)
}

// Verify tells whether b is the guest, byte for byte.
func Verify(b []byte) error {
	if got := Sum(b); got != SHA256 {
		return fmt.Errorf("not the guest: sha-256 is %s, want %s (%s %s)", got, SHA256, Package, Version)
	}
	return nil
}

// Sum is the SHA-256 of b in hexadecimal.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// CacheDir is where guests are kept for all programs of the user: "sallyport/guest" in the user's cache directory.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache directory: %w", err)
	}
	return filepath.Join(dir, "sallyport", "guest"), nil
}

// Path is the file of the guest in dir; empty is CacheDir. Its name is its SHA-256, so that versions do not get in each other's way.
func Path(dir string) (string, error) {
	if dir == "" {
		var err error
		if dir, err = CacheDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, SHA256+".wasm"), nil
}
