package seek

import (
	"bytes"
	"errors"
	"io"
	"os"
)

const (
	// firstBuffer is how much of a file is read at once, in bytes: as ripgrep does, which matters for a NUL further back.
	firstBuffer = 64 << 10
	// maxLine bounds one line, and so the memory of a worker, in bytes.
	maxLine = 64 << 20
)

var errLongLine = errors.New("a line is longer than 64 MiB")

// lineBuffer is a worker's own.
type lineBuffer struct{ b []byte }

// file visits one file: its name is told, or its matching lines.
func (s *search) file(rel string, buffer *lineBuffer) {
	if s.match == nil {
		s.name(rel)
		return
	}
	// A link or a pipe may have been put there since the directory was read.
	f, err := os.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		s.complain(err)
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	if err := s.lines(rel, f, buffer); err != nil {
		s.complain(&os.PathError{Op: "read", Path: rel, Err: err})
	}
}

// lines searches what a file holds. A NUL ends it: the file is no text. What was found in earlier reads stays found.
func (s *search) lines(rel string, r io.Reader, buffer *lineBuffer) error {
	if buffer.b == nil {
		buffer.b = make([]byte, firstBuffer)
	}
	f := &fileSearch{search: s, rel: rel, left: s.MaxPerFile}
	defer f.flush()
	kept := 0 // of a line that has no end yet
	for {
		if kept == len(buffer.b) {
			if kept >= maxLine {
				return errLongLine
			}
			buffer.b = append(buffer.b, make([]byte, kept)...)
		}
		n, err := r.Read(buffer.b[kept:])
		fresh := buffer.b[kept : kept+n]
		if bytes.IndexByte(fresh, 0) >= 0 {
			return nil
		}
		text := buffer.b[:kept+n]
		if err == nil {
			end := bytes.LastIndexByte(fresh, '\n')
			if end < 0 {
				kept += n
				continue
			}
			text = buffer.b[:kept+end+1]
		}
		f.search1(text)
		kept = copy(buffer.b, buffer.b[len(text):kept+n])
		if err == io.EOF || f.enough {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// fileSearch is the search of one file.
type fileSearch struct {
	*search
	rel    string
	line   int // that have been passed
	left   int // matches that are still wanted; 0 at the beginning for no bound
	enough bool
	out    []byte
}

// search1 searches whole lines.
func (f *fileSearch) search1(text []byte) {
	m := f.match
	for len(text) > 0 && !f.enough {
		if len(m.must) > 0 {
			at := bytes.Index(text, m.must)
			if at < 0 {
				break
			}
			start := bytes.LastIndexByte(text[:at], '\n') + 1
			f.line += bytes.Count(text[:start], newline)
			text = text[start:]
		}
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			end = len(text)
		}
		line := text[:end]
		f.line++
		if m.plain || m.re.Match(line) {
			f.found(text[:min(end+1, len(text))])
		}
		text = text[min(end+1, len(text)):]
	}
	f.line += bytes.Count(text, newline)
}

var newline = []byte{'\n'}

// flushAt is when what was found in one file is written although the file has not been searched to its end, in bytes.
const flushAt = 32 << 10

func (f *fileSearch) found(line []byte) {
	f.out = appendMatch(f.out, f.rel, line, f.line)
	if len(f.out) >= flushAt {
		f.flush()
	}
	if f.left--; f.left == 0 {
		f.enough = true
	}
}

func (f *fileSearch) flush() {
	f.write(f.out)
	f.out = f.out[:0]
}
