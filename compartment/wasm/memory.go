package wasm

import (
	"bytes"

	"github.com/tetratelabs/wazero/experimental"
)

// pageSize is the unit in which WebAssembly memory grows. smallPage is the unit in which changes are looked for: the page of nearly all machines.
const (
	pageSize  = 64 << 10
	smallPage = 4 << 10
)

// reserve is what a memory has beyond its limit, for a guest that is being stopped to say where it is.
const reserve = 1 << 20

// memorySystem makes memories and the images they are made from.
type memorySystem interface {
	// newMemory makes an empty memory of at most limit bytes. more is called when the guest asks for more; when it returns true the guest gets up to
	// reserve bytes more.
	newMemory(limit uint64, more func() bool) (memory, error)
	newImage(b []byte) (image, error)
	close() error
}

// memory is the linear memory of one instance.
type memory interface {
	experimental.LinearMemory
	// bytes is what the guest has now. It is valid until the next call of the guest.
	bytes() []byte
	// overlay makes the memory, which must be as large as the image at least, a copy of it; what is behind the image becomes zero.
	overlay(image) error
	// changed appends the small pages that may differ from the image, or from zero behind it, in their order.
	changed(to []uint32) []uint32
	// release gives the memory back. Only the owner of the instance calls it, when no frame of the guest can be on any stack: wazero calls Free while
	// there may be some, so Free does nothing.
	release() error
}

// staged is a memory whose beginning is somewhere else until it grows. A module's data is written into every new instance, and an image that is
// laid over it has it already: a place that is always the same is spared the page faults of a new one.
type staged struct {
	memory
	area []byte
}

// Reallocate gives the area while it is large enough. The guest does not run before the memory has grown to the size of the image, which is larger.
func (s *staged) Reallocate(size uint64) []byte {
	if size <= uint64(len(s.area)) {
		return s.area[:size]
	}
	s.area = nil
	return s.memory.Reallocate(size)
}

// image is a copy of a memory from which others are made.
type image interface {
	size() int
	close() error
}

// heapSystem keeps memories in Go's heap.
type heapSystem struct{}

func (heapSystem) newMemory(limit uint64, more func() bool) (memory, error) {
	return &heapMemory{limit: limit, more: more}, nil
}

func (heapSystem) newImage(b []byte) (image, error) {
	return &heapImage{b: bytes.Clone(b)}, nil
}

func (heapSystem) close() error { return nil }

// heapMemory is a memory in Go's heap. It may move when it grows, which wazero allows.
type heapMemory struct {
	b     []byte
	limit uint64
	more  func() bool
	from  []byte // the image it was made from
}

// Reallocate grows the memory, or refuses.
func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > m.limit && !(m.more() && size <= m.limit+reserve) {
		return nil
	}
	n := int(size)
	if n > cap(m.b) {
		grown := make([]byte, len(m.b), int(min(m.limit+reserve, max(size, 2*uint64(cap(m.b))))))
		copy(grown, m.b)
		m.b = grown
	}
	if old := len(m.b); n > old {
		m.b = m.b[:n]
		clear(m.b[old:])
	}
	return m.b
}

// Free does nothing; see release.
func (m *heapMemory) Free() {}

func (m *heapMemory) bytes() []byte { return m.b }

func (m *heapMemory) overlay(i image) error {
	m.from = i.(*heapImage).b
	clear(m.b[copy(m.b, m.from):])
	return nil
}

// changed compares. There is no cheaper way that works everywhere.
func (m *heapMemory) changed(to []uint32) []uint32 {
	var zero [smallPage]byte
	for at := 0; at < len(m.b); at += smallPage {
		was := zero[:]
		if at < len(m.from) {
			was = m.from[at:min(at+smallPage, len(m.from))]
		}
		if !bytes.Equal(m.b[at:at+len(was)], was) {
			to = append(to, uint32(at/smallPage))
		}
	}
	return to
}

func (m *heapMemory) release() error { m.b, m.from = nil, nil; return nil }

// heapImage is an image in Go's heap.
type heapImage struct{ b []byte }

func (i *heapImage) size() int { return len(i.b) }

func (i *heapImage) close() error { i.b = nil; return nil }
