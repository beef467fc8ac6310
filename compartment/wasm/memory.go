package wasm

import (
	"math"

	"github.com/tetratelabs/wazero/experimental"
)

// pageSize is the unit in which WebAssembly memory grows.
const pageSize = 64 << 10

// memory is the linear memory of one instance.
type memory interface {
	experimental.LinearMemory
	// bytes is what the guest has now. It is valid until the next call of the guest.
	bytes() []byte
	// overlay makes the memory, which must be as large as the image at least, a copy of it; what is behind the image becomes zero.
	overlay(image) error
	// release gives the memory back. Only the owner of the instance calls it, when no frame of the guest can be on any stack: wazero calls Free while
	// there may be some, so Free does nothing.
	release() error
}

// image is a copy of a memory from which others are made.
type image interface {
	size() int
	// update makes it a copy of b.
	update(b []byte) error
	close() error
}

// heapMemory is a memory in Go's heap. It may move when it grows, which wazero allows.
type heapMemory struct {
	b       []byte
	limit   uint64
	refused func()
}

// Reallocate grows the memory, or refuses.
func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > m.limit || size > math.MaxInt {
		m.refused()
		return nil
	}
	if n := int(size); n > cap(m.b) {
		grown := make([]byte, n, int(min(m.limit, max(size, 2*uint64(cap(m.b))))))
		copy(grown, m.b)
		m.b = grown
	} else if n > len(m.b) {
		old := len(m.b)
		m.b = m.b[:n]
		clear(m.b[old:])
	}
	return m.b
}

// Free does nothing; see release.
func (m *heapMemory) Free() {}

func (m *heapMemory) bytes() []byte { return m.b }

func (m *heapMemory) overlay(i image) error {
	n := copy(m.b, i.(*heapImage).b)
	clear(m.b[n:])
	return nil
}

func (m *heapMemory) release() error { m.b = nil; return nil }

// heapImage is an image in Go's heap.
type heapImage struct{ b []byte }

func (i *heapImage) size() int { return len(i.b) }

func (i *heapImage) update(b []byte) error {
	i.b = append(i.b[:0], b...)
	return nil
}

func (i *heapImage) close() error { i.b = nil; return nil }
