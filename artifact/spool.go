package artifact

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
)

// bufferBytes is how much of small writes is gathered before it goes to disk. A query flushes it first.
const bufferBytes = 32 << 10

// maxFinalBytes bounds the lines that are kept in memory for the end of an artifact.
const maxFinalBytes = 64 << 10

// file is what a spool is written to.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
}

// castagnoli is the checksum that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spool is the text of one artifact: a file that grows, and the final lines that are kept in memory, so that they can be
// said when the disk is full.
type spool struct {
	mu      sync.Mutex
	file    file
	quota   *quota
	buf     []byte
	index   index
	sum     uint32
	last    byte   // of the file, with the buffer
	stopped string // why the rest is discarded; empty while nothing is
	missing int64
	final   []byte
	sealed  bool
	tail    []byte // what stands after the file, once sealed
	over    bool   // released

	commit sync.Mutex // held while an entry is made of it, and while its files are removed
	kept   bool       // it is an entry; guarded by commit
}

// write appends p. It fails only when the turn is over.
func (s *spool) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.sealed {
		return 0, &Error{Kind: ErrReleased}
	}
	if len(p) == 0 {
		return 0, nil
	}
	if len(s.buf)+len(p) <= bufferBytes {
		s.buf = append(s.buf, p...)
		return len(p), nil
	}
	s.flush()
	if len(p) < bufferBytes {
		s.buf = append(s.buf, p...)
	} else {
		s.spill(p)
	}
	return len(p), nil
}

// flush brings what was gathered to disk.
func (s *spool) flush() {
	s.spill(s.buf)
	s.buf = s.buf[:0]
}

// spill brings p to disk, or as much of it as goes, and counts the rest.
func (s *spool) spill(p []byte) {
	if len(p) == 0 {
		return
	}
	n := 0
	if s.stopped == "" {
		n = s.store(p)
	}
	s.missing += int64(len(p) - n)
	if n > 0 {
		s.last = p[n-1]
	}
}

// store writes what the quota allows. Short of all of p it says why in stopped.
func (s *spool) store(p []byte) int {
	allowed := s.quota.take(int64(len(p)))
	n, err := s.file.Write(p[:allowed])
	s.quota.give(allowed - int64(n))
	s.index.add(p[:n])
	s.sum = crc32.Update(s.sum, castagnoli, p[:n])
	switch {
	case err != nil && diskFull(err):
		s.stopped = "the disk is full"
	case err != nil:
		s.stopped = "the disk failed"
	case n < len(p):
		s.stopped = fmt.Sprintf("the store's quota of %d bytes is used up", s.quota.limit)
	}
	return n
}

// addFinal keeps a line for the end.
func (s *spool) addFinal(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line = strings.TrimRight(line, "\n") + "\n"
	switch {
	case s.over || s.sealed:
		return &Error{Kind: ErrReleased}
	case len(s.final)+len(line) > maxFinalBytes:
		return argument("final line", fmt.Sprintf("the final lines are longer than %d bytes", maxFinalBytes))
	}
	s.final = append(s.final, line...)
	return nil
}

// seal ends the writing and lays out what stands after the file. It says whether it was the first to do so.
func (s *spool) seal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed || s.over {
		return false
	}
	s.flush()
	s.buf = nil
	s.sealed = true
	var tail []byte
	if s.missing > 0 {
		tail = fmt.Appendf(tail, "[%d bytes are missing from here on: %s]\n", s.missing, s.stopped)
	}
	tail = append(tail, s.final...)
	if len(tail) > 0 && s.index.size > 0 && s.last != '\n' {
		tail = append([]byte{'\n'}, tail...) // a line of their own
	}
	s.tail, s.final = tail, nil
	return true
}

// release gives the file back. Readers that are under way get ErrReleased.
func (s *spool) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	s.over = true
	s.buf, s.tail = nil, nil
	return s.file.Close()
}

// view is a spool as it was at one moment.
type view struct {
	s    *spool
	file file
	tail []byte
	size int64 // bytes of the file
	all  int64 // with the tail
	rows int64 // lines, with the tail
}

// view takes a snapshot of what was written so far.
func (s *spool) view() (view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return view{}, &Error{Kind: ErrReleased}
	}
	s.flush()
	v := view{s: s, file: s.file, tail: s.tail, size: s.index.size}
	v.all = v.size + int64(len(v.tail))
	v.rows = s.index.lines
	for _, c := range v.tail {
		if c == '\n' {
			v.rows++
		}
	}
	if len(v.tail) == 0 && v.size > 0 && s.last != '\n' {
		v.rows++ // the tail always ends with a newline
	}
	return v, nil
}

// ReadAt reads the file, then the tail.
func (v view) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	if off < v.size {
		var err error
		n, err = v.file.ReadAt(p[:min(int64(len(p)), v.size-off)], off)
		if err != nil && (!errors.Is(err, io.EOF) || off+int64(n) < v.size) {
			return n, v.failed(err)
		}
	}
	if at := off + int64(n) - v.size; at >= 0 && at < int64(len(v.tail)) {
		n += copy(p[n:], v.tail[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// failed says why reading went wrong: the turn is over, or the disk.
func (v view) failed(err error) error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.s.over {
		return &Error{Kind: ErrReleased, Err: err}
	}
	return &Error{Kind: ErrIO, Err: err}
}

// quota counts the bytes of a store.
type quota struct {
	mu    sync.Mutex
	limit int64 // 0: none
	used  int64
}

// take asks for n bytes and gets at most that.
func (q *quota) take(n int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 {
		n = max(0, min(n, q.limit-q.used))
	}
	q.used += n
	return n
}

// give returns n bytes.
func (q *quota) give(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= n
}
