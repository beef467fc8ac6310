//go:build !unix

package fs

// nonblock has no meaning here.
const nonblock = 0
