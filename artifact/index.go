package artifact

import (
	"bytes"
	"sort"
)

// maxBlocks bounds the memory of an index: 128 KiB. With 1 GB of text a block is then 128 KiB long, which takes some
// ten microseconds to scan.
const maxBlocks = 16384

// firstBlock is how long the blocks of a short text are, in bytes.
const firstBlock = 4096

// index knows how many newlines stand before each block of a text. It counts blocks of bytes and not of lines: however the
// lengths of the lines are chosen, what has to be scanned to find one is a single block.
type index struct {
	block  int64   // length of a block in bytes
	counts []int64 // newlines up to the end of each complete block
	lines  int64   // newlines in all
	size   int64   // bytes in all
}

// add counts bytes that were appended to the text.
func (x *index) add(p []byte) {
	if x.block == 0 {
		x.block = firstBlock
	}
	for len(p) > 0 {
		n := min(int64(len(p)), x.block-x.size%x.block)
		x.lines += int64(bytes.Count(p[:n], newline))
		x.size += n
		p = p[n:]
		if x.size%x.block == 0 {
			x.complete()
		}
	}
}

// complete notes the end of a block, and makes blocks twice as long when there are too many.
func (x *index) complete() {
	x.counts = append(x.counts, x.lines)
	if len(x.counts) < maxBlocks {
		return
	}
	for i := range maxBlocks / 2 {
		x.counts[i] = x.counts[2*i+1]
	}
	x.counts = x.counts[:maxBlocks/2]
	x.block *= 2
}

// before gives where to begin looking for the newline with this number, counted from 1, and how many newlines stand
// before that place.
func (x *index) before(n int64) (offset, count int64) {
	i := sort.Search(len(x.counts), func(i int) bool { return x.counts[i] >= n })
	if i == 0 {
		return 0, 0
	}
	return int64(i) * x.block, x.counts[i-1]
}

var newline = []byte{'\n'}
