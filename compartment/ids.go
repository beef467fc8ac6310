package compartment

import (
	"crypto/rand"
	"encoding/base32"
)

// ids makes the names of calls: they cannot be guessed, so that no answer can be given before the question. Asking for chance costs about as much as the
// rest of a call, so it is asked for many at a time.
type ids struct {
	chance [20 * idBytes]byte
	left   int // how much of chance is not used
}

// idBytes is 80 bits: 16 letters.
const idBytes = 10

// idPrefix tells what the name is of.
const idPrefix = "call-"

func (n *ids) next() string {
	if n.left == 0 {
		_, _ = rand.Read(n.chance[:]) // never fails: a process without chance ends
		n.left = len(n.chance)
	}
	own := n.chance[n.left-idBytes : n.left]
	n.left -= idBytes
	var name [len(idPrefix) + idBytes*8/5]byte
	copy(name[:], idPrefix)
	base32.StdEncoding.Encode(name[len(idPrefix):], own)
	clear(own) // what is used is nowhere any more
	return string(name[:])
}
