package compartment

import (
	"strings"
	"unicode/utf16"
)

// shownColumns is how much of a source line is shown; the column is kept inside it.
const shownColumns = 160

// maxFrames is how many of the innermost calls an outcome names.
const maxFrames = 5

// At makes the Where of a place in source: line and column count from 1, columns in UTF-16 units. It is nil for a
// place that is not in the source. Frames beyond the fifth are cut.
func At(source string, line, column int, frames []Frame) *Where {
	if line < 1 || column < 1 {
		return nil
	}
	text, ok := LineOf(source, line)
	if !ok {
		return nil
	}
	shown, caret := excerpt(text, column)
	if len(frames) > maxFrames {
		frames = frames[:maxFrames]
	}
	out := make([]Frame, 0, len(frames))
	for _, f := range frames {
		f.Function = Shown(f.Function, 80)
		out = append(out, f)
	}
	return &Where{Line: line, Column: column, Source: shown, Caret: caret, Frames: out}
}

// LineOf is the line with that number. JavaScript has four line ends, and CR LF is one.
func LineOf(source string, line int) (string, bool) {
	for n := 1; ; n++ {
		i := strings.IndexAny(source, "\n\r\u2028\u2029")
		if n == line {
			if i >= 0 {
				source = source[:i]
			}
			return source, true
		}
		if i < 0 {
			return "", false
		}
		switch {
		case strings.HasPrefix(source[i:], "\r\n"):
			source = source[i+2:]
		case source[i] == '\n' || source[i] == '\r':
			source = source[i+1:]
		default:
			source = source[i+len("\u2028"):]
		}
	}
}

// excerpt is the part of a line around a column, escaped, and the caret to write under it.
func excerpt(text string, column int) (shown, caret string) {
	units := utf16.Encode([]rune(text))
	at := min(column-1, len(units))
	from := max(0, at-shownColumns/2)
	to := min(len(units), from+shownColumns)
	before := Escape(strings.ReplaceAll(string(utf16.Decode(units[from:at])), "\t", " "))
	after := Escape(strings.ReplaceAll(string(utf16.Decode(units[at:to])), "\t", " "))
	if from > 0 {
		before = "…" + before
	}
	if to < len(units) {
		after += "…"
	}
	return before + after, strings.Repeat(" ", len([]rune(before))) + "^"
}
