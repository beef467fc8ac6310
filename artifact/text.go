package artifact

import (
	"bytes"
	"io"
)

// scanBytes is how much is read at a time.
const scanBytes = 64 << 10

// Text is a piece of an artifact: a plain value that can be written out, and not be queried. It is read when it is
// written out, so a long one takes no memory, and none of it is there after the turn.
type Text struct {
	v          view
	start, end int64
}

// Len is the length in bytes.
func (t Text) Len() int64 { return t.end - t.start }

// WriteTo writes the text to w. After the end of the turn it is ErrReleased.
func (t Text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.Copy(w, t.Reader())
	return n, err
}

// Reader reads the text.
func (t Text) Reader() io.Reader {
	return io.NewSectionReader(t.v, t.start, t.Len())
}

// Bytes reads the text into memory, all of it.
func (t Text) Bytes() ([]byte, error) {
	p := make([]byte, t.Len())
	if len(p) == 0 {
		return p, nil
	}
	n, err := t.v.ReadAt(p, t.start)
	if n == len(p) {
		err = nil
	}
	return p[:n], err
}

// lineStart gives where line n begins, counted from 0; the end of the text for a line that is not there.
func (v view) lineStart(n int64) (int64, error) {
	if n <= 0 {
		return 0, nil
	}
	if n >= v.rows {
		return v.all, nil
	}
	v.s.mu.Lock()
	at, count := v.s.index.before(n)
	v.s.mu.Unlock()
	buf := make([]byte, scanBytes)
	for at < v.all {
		got, err := v.ReadAt(buf[:min(scanBytes, v.all-at)], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if here := int64(bytes.Count(buf[:got], newline)); count+here < n {
			count, at = count+here, at+int64(got)
			continue
		}
		return at + nth(buf[:got], n-count) + 1, nil
	}
	return v.all, nil
}

// nth gives where the n-th newline is, counted from 1. It must be there.
func nth(p []byte, n int64) int64 {
	at := 0
	for ; n > 1; n-- {
		at += bytes.IndexByte(p[at:], '\n') + 1
	}
	return int64(at + bytes.IndexByte(p[at:], '\n'))
}

// lines gives the lines of a half-open range.
func (v view) lines(start, end int64) (Text, error) {
	if start = min(start, v.rows); end < start {
		end = start
	}
	from, err := v.lineStart(start)
	if err != nil {
		return Text{}, err
	}
	to, err := v.lineStart(end)
	return Text{v: v, start: from, end: to}, err
}
