package wasm

import "golang.org/x/sys/unix"

// ownPages remembers which pages of a memory are its own, so that the kernel need not be asked before every evaluation: asking looks at each page, and took
// a third of a small evaluation.
//
// A page becomes the memory's own by a page fault and in no other way: the first write to a page of the image copies it, and the first touch of a page behind
// the image makes one. The kernel counts the faults of the process. While that count has not changed, no page has become anybody's own, whichever
// thread ran the guest. Any fault anywhere in the process makes the kernel be asked again. Two things could make a page the memory's own without a fault, and are kept
// out: huge pages, which the kernel puts together in the background, by MADV_NOHUGEPAGE; and system calls that map, by forget.
type ownPages struct {
	counts bool // the kernel counts faults
	had    bool // pages is what it was when there had been that many faults
	after  int64
	pages  []uint32
}

// faults is how many page faults the process has had; it only rises. -1 is not known.
func (o *ownPages) faults() int64 {
	if !o.counts {
		return -1
	}
	return pageFaults()
}

// known gives the pages when there was no fault since.
func (o *ownPages) known(faults int64) ([]uint32, bool) {
	return o.pages, o.had && faults >= 0 && faults == o.after
}

// learn remembers the pages. faults was read before the kernel was asked for them, so that a fault in between is not missed.
func (o *ownPages) learn(pages []uint32, faults int64) {
	o.pages, o.after, o.had = append(o.pages[:0], pages...), faults, true
}

// forget is for what changes a memory without a fault.
func (o *ownPages) forget() { o.had = false }

// pageFaults counts the page faults of all threads of the process; -1 when the kernel does not say.
func pageFaults() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return int64(u.Minflt) + int64(u.Majflt)
}

// faultsAreCounted makes a few faults and looks whether the kernel has counted them.
func faultsAreCounted() bool {
	const pages = 4
	b, err := unix.Mmap(-1, 0, pages*smallPage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(b) }() // nothing depends on it
	if unix.Madvise(b, unix.MADV_NOHUGEPAGE) != nil {
		return false // there is no way to keep huge pages out, or there are none: not worth telling apart
	}
	before := pageFaults()
	for i := range pages {
		b[i*smallPage] = 1
	}
	return before >= 0 && pageFaults() >= before+pages
}
