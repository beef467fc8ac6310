package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappedSystem maps memories and images.
type mappedSystem struct {
	// pages tells of every page of the process whether it was written to; nil when the kernel does not say.
	pages *os.File
	// counts: the kernel counts page faults.
	counts bool
}

// newMemorySystem is the one of this platform.
func newMemorySystem() memorySystem {
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil || os.Getpagesize() != smallPage {
		return &mappedSystem{} // every page then counts as changed
	}
	return &mappedSystem{pages: pages, counts: faultsAreCounted()}
}

func (s *mappedSystem) close() error {
	if s.pages == nil {
		return nil
	}
	return s.pages.Close()
}

// newMemory reserves limit bytes of addresses.
//
// The range is reserved without access and opened as it grows, so that a host with strict accounting (vm.overcommit_memory=2) does not charge it.
func (s *mappedSystem) newMemory(limit uint64, more func() bool) (memory, error) {
	b, err := unix.Mmap(-1, 0, int(limit+reserve), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of addresses: %w", limit, err)
	}
	// Huge pages would make pages the memory's own that nobody has touched: they cost, and see ownPages.
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL { // EINVAL: the kernel has none
		return nil, errors.Join(fmt.Errorf("keep huge pages out of a guest's memory: %w", err), unix.Munmap(b))
	}
	return &mappedMemory{b: b, limit: limit, more: more, pages: s.pages, own: ownPages{counts: s.counts}}, nil
}

// mappedMemory is a memory in one reserved range of addresses. It costs the pages that are touched, and it never moves.
type mappedMemory struct {
	b       []byte // the whole reservation
	n       int    // what the guest has
	open    int    // what may be touched: n rounded up, so that growing by a page is not a system call each time
	limit   uint64
	more    func() bool
	pages   *os.File
	entries []byte // room for what pages says
	own     ownPages
}

// openStep is the unit in which the reservation is opened.
const openStep = 1 << 20

// Reallocate grows the memory, or refuses.
func (m *mappedMemory) Reallocate(size uint64) []byte {
	if size > m.limit && !(m.more() && size <= m.limit+reserve) {
		return nil
	}
	if n := int(size); n > m.open {
		to := min(len(m.b), (n+openStep-1)/openStep*openStep)
		if err := unix.Mprotect(m.b[m.open:to], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			m.more() // the host itself has no more
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
	m.own.forget()
	img := i.(*fileImage)
	if img.n > m.n {
		return fmt.Errorf("an image of %d bytes does not fit a memory of %d", img.n, m.n)
	}
	_, err := unix.MmapPtr(img.fd, 0, unsafe.Pointer(&m.b[0]), uintptr(img.n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
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

// The bits of an entry of /proc/self/pagemap. A page of the image that was not written to is one of a file; one that was is not.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// changed tells which pages are the memory's own: as the kernel says, or as it said before when nothing can have changed since.
func (m *mappedMemory) changed(to []uint32) []uint32 {
	faults := m.own.faults()
	if pages, known := m.own.known(faults); known {
		return append(to, pages...)
	}
	from := len(to)
	to, exact := m.ask(to)
	if exact {
		m.own.learn(to[from:], faults)
	}
	return to
}

// ask asks the kernel which pages are the memory's own. When it does not say, every page counts, and that is not exact.
func (m *mappedMemory) ask(to []uint32) (_ []uint32, exact bool) {
	count := m.n / smallPage
	if size := 8 * count; cap(m.entries) < size {
		m.entries = make([]byte, size)
	}
	entries := m.entries[:8*count]
	if m.pages != nil {
		at := int64(uintptr(unsafe.Pointer(&m.b[0]))) / smallPage * 8
		n, err := m.pages.ReadAt(entries, at)
		exact = err == nil && n == len(entries)
	}
	for i := range count {
		e := binary.LittleEndian.Uint64(entries[8*i:])
		if !exact || e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0 {
			to = append(to, uint32(i))
		}
	}
	return to, exact
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

// newImage makes an image of b.
func (s *mappedSystem) newImage(b []byte) (image, error) {
	fd, err := unix.MemfdCreate("sallyport-realm", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	i := &fileImage{fd: fd, n: len(b)}
	for done := 0; done < len(b); {
		n, err := unix.Pwrite(fd, b[done:], int64(done))
		if err != nil {
			unix.Close(fd)
			return nil, fmt.Errorf("write the image: %w", err)
		}
		done += n
	}
	return i, nil
}

func (i *fileImage) size() int { return i.n }

func (i *fileImage) close() error {
	if i.fd < 0 {
		return nil
	}
	fd := i.fd
	i.fd = -1
	return unix.Close(fd)
}
