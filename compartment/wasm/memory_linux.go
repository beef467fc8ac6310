package wasm

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappedMemory is a memory in one reserved range of addresses. It costs the pages that are touched, and it never moves.
type mappedMemory struct {
	b       []byte // the whole reservation
	n       int    // what the guest has
	open    int    // what may be touched: n rounded up, so that growing by a page is not a system call each time
	refused func()
}

// openStep is the unit in which the reservation is opened.
const openStep = 1 << 20

// newMemory reserves limit bytes of addresses. refused is called when the guest asks for more.
//
// The range is reserved without access and opened as it grows, so that a host with strict accounting (vm.overcommit_memory=2) does not charge it.
func newMemory(limit uint64, refused func()) (memory, error) {
	b, err := unix.Mmap(-1, 0, int(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of addresses: %w", limit, err)
	}
	return &mappedMemory{b: b, refused: refused}, nil
}

// Reallocate grows the memory, or refuses.
func (m *mappedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.b)) {
		m.refused()
		return nil
	}
	if n := int(size); n > m.open {
		to := min(len(m.b), (n+openStep-1)/openStep*openStep)
		if err := unix.Mprotect(m.b[m.open:to], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			m.refused() // the host itself has no more
			return nil
		}
		m.open = to
	}
	m.n = max(m.n, int(size))
	return m.bytes()
}

// Free does nothing; see release.
func (m *mappedMemory) Free() {}

func (m *mappedMemory) bytes() []byte { return m.b[:m.n:m.n] }

// overlay maps the image copy-on-write over the memory and drops the pages behind it.
func (m *mappedMemory) overlay(i image) error {
	img := i.(*fileImage)
	n := uintptr(img.n)
	if img.n > m.n {
		return fmt.Errorf("an image of %d bytes does not fit a memory of %d", img.n, m.n)
	}
	_, err := unix.MmapPtr(img.fd, 0, unsafe.Pointer(&m.b[0]), n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map the image: %w", err)
	}
	if m.open > img.n {
		if err := unix.Madvise(m.b[img.n:m.open], unix.MADV_DONTNEED); err != nil {
			return fmt.Errorf("drop what is behind the image: %w", err)
		}
	}
	return nil
}

func (m *mappedMemory) release() error {
	if m.b == nil {
		return nil
	}
	b := m.b
	m.b, m.n = nil, 0
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("unmap a guest's memory: %w", err)
	}
	return nil
}

// fileImage is an image in a file that has no name and is in memory.
type fileImage struct{ fd, n int }

// newImage makes an empty image.
func newImage() (image, error) {
	fd, err := unix.MemfdCreate("sallyport-realm", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	return &fileImage{fd: fd}, nil
}

func (i *fileImage) size() int { return i.n }

// update writes b. Memories that are mapped over the image must not be in use: pages that they have not written to would change.
func (i *fileImage) update(b []byte) error {
	if err := unix.Ftruncate(i.fd, int64(len(b))); err != nil {
		return fmt.Errorf("size the image: %w", err)
	}
	for done := 0; done < len(b); {
		n, err := unix.Pwrite(i.fd, b[done:], int64(done))
		if err != nil {
			return fmt.Errorf("write the image: %w", err)
		}
		done += n
	}
	i.n = len(b)
	return nil
}

func (i *fileImage) close() error {
	if i.fd < 0 {
		return nil
	}
	fd := i.fd
	i.fd = -1
	return unix.Close(fd)
}
