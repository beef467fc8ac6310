package evaljs

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sallyport/compartment"
)

// edit replaces the bytes from..to of a text.
type edit struct {
	from, to int
	text     string
}

// rewritten is a text that was made from another one by edits, which are in order and do not overlap.
type rewritten struct {
	text   string
	before string
	edits  []edit
}

// rewrite makes the edits.
func rewrite(source string, edits []edit) rewritten {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].from < edits[j].from })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(source[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(source[at:])
	return rewritten{text: b.String(), before: source, edits: edits}
}

// origin is where the byte at offset in the new text was in the one before. A byte that was put in belongs to the place where it was put.
func (r rewritten) origin(offset int) int {
	shift := 0 // new minus old, up to the edit that is looked at
	for _, e := range r.edits {
		start := e.from + shift
		switch {
		case offset < start:
			return offset - shift
		case offset < start+len(e.text):
			return min(e.from+offset-start, max(e.to-1, e.from))
		}
		shift += len(e.text) - (e.to - e.from)
	}
	return offset - shift
}

// place maps a line and a column of the new text back.
func (r rewritten) place(line, column int) (int, int, bool) {
	offset, ok := offsetOf(r.text, line, column)
	if !ok {
		return 0, 0, false
	}
	line, column = placeOf(r.before, r.origin(offset))
	return line, column, true
}

// offsetOf is the byte at a line and a column, which count from 1; columns are UTF-16 units.
func offsetOf(text string, line, column int) (int, bool) {
	at := 0
	for n := 1; n < line; n++ {
		i, size := nextLineEnd(text[at:])
		if i < 0 {
			return 0, false
		}
		at += i + size
	}
	end, _ := nextLineEnd(text[at:])
	if end < 0 {
		end = len(text) - at
	}
	units := 1
	for i, r := range text[at : at+end] {
		if units >= column {
			return at + i, true
		}
		units += max(1, utf16.RuneLen(r))
	}
	return at + end, true
}

// placeOf is the line and column of a byte.
func placeOf(text string, offset int) (line, column int) {
	line = 1
	at := 0
	for {
		i, size := nextLineEnd(text[at:])
		if i < 0 || at+i+size > offset {
			break
		}
		at += i + size
		line++
	}
	column = 1
	for _, r := range text[at:min(offset, len(text))] {
		column += max(1, utf16.RuneLen(r))
	}
	return line, column
}

// nextLineEnd is where the first line end of text is and how many bytes it has; -1 when there is none.
func nextLineEnd(text string) (at, size int) {
	at = strings.IndexAny(text, "\n\r\u2028\u2029")
	if at < 0 {
		return -1, 0
	}
	if strings.HasPrefix(text[at:], "\r\n") {
		return at, 2
	}
	_, size = utf8.DecodeRuneInString(text[at:])
	return at, size
}

// mapping turns a place in the text that ran into one of the author's text. It is false for places that the author did not write.
type mapping func(line, column int) (int, int, bool)

// mapWhere makes the place of an outcome one of the author's text.
func mapWhere(w *compartment.Where, author string, back mapping) *compartment.Where {
	if w == nil {
		return nil
	}
	line, column, ok := back(w.Line, w.Column)
	if !ok {
		return nil
	}
	var frames []compartment.Frame
	for _, f := range w.Frames {
		if l, c, ok := back(f.Line, f.Column); ok {
			frames = append(frames, compartment.Frame{Function: f.Function, Line: l, Column: c})
		}
	}
	return compartment.At(author, line, column, frames)
}
