package wasm

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"sallyport/compartment"
)

// locate asks a guest that is being stopped where it is. The guest is in the middle of something, perhaps inside its allocator, so the answer may be missing;
// it may be wrong, too, but the instance is not used again.
func (in *instance) locate() {
	if in.dead != nil || in.realm.ev == nil || in.realm.stopStack != "" {
		return
	}
	in.locating = 1
	stack, threw := in.try(in.fixed.where)
	if in.dead == nil && !threw {
		in.realm.stopStack = in.shortText(stack, longStack)
	}
	in.locating = 0
}

// longStack is how much of a stack's text is read: the innermost frames are first.
const longStack = 2000

// stackText is the stack that an error was made with, from its inside, which a program cannot write to. Empty for what is no error.
func (in *instance) stackText(e handle) string {
	if in.typeOf(e) != tagObject || in.classOf(e) != classError {
		return ""
	}
	stack := in.invoke(in.fixed.stack, e)
	defer in.free(stack)
	return in.shortText(stack, longStack)
}

// where finds the place of an error in the guest's own lines.
//
// A stack has a line for each call: "at NAME (FILE:LINE:COLUMN)", and for a syntax error "at FILE:LINE:COLUMN". NAME is the guest's, and can look like
// anything, even like more lines; so the place it tells is one of its own source, or it is not believed.
func where(stack, source string) *compartment.Where {
	var frames []compartment.Frame
	for line := range strings.SplitSeq(stack, "\n") {
		f, ok := parseFrame(strings.TrimSpace(line), source)
		if ok {
			frames = append(frames, f)
		}
	}
	if len(frames) == 0 {
		return nil
	}
	return compartment.At(source, frames[0].Line, frames[0].Column, frames)
}

// parseFrame reads one line of a stack. It is false for frames that are not of the guest's source.
func parseFrame(line, source string) (compartment.Frame, bool) {
	line, ok := strings.CutPrefix(line, "at ")
	if !ok {
		return compartment.Frame{}, false
	}
	name, at := "", line
	if inside, closed := strings.CutSuffix(line, ")"); closed {
		i := strings.LastIndex(inside, " (")
		if i < 0 {
			return compartment.Frame{}, false
		}
		name, at = inside[:i], inside[i+2:]
	}
	parts := strings.Split(at, ":")
	if len(parts) != 3 || parts[0] != programFile {
		return compartment.Frame{}, false
	}
	l, err1 := strconv.Atoi(parts[1])
	c, err2 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil {
		return compartment.Frame{}, false
	}
	if name == "<eval>" || name == "<anonymous>" {
		name = ""
	}
	l, c, ok = place(source, l, c)
	return compartment.Frame{Function: name, Line: l, Column: c}, ok
}

// place turns a place as the engine counts it (lines by line feeds, columns by bytes) into one as the language does (four kinds of line ends, columns by
// UTF-16 units).
func place(source string, line, column int) (int, int, bool) {
	if line < 1 || column < 1 {
		return 0, 0, false
	}
	start := 0
	for n := 1; n < line; n++ {
		i := strings.IndexByte(source[start:], '\n')
		if i < 0 {
			return 0, 0, false
		}
		start += i + 1
	}
	before := source[:min(start+column-1, len(source))]
	line = 1 + countLineEnds(before)
	last := before[lastLineStart(before):]
	return line, len(utf16.Encode([]rune(last))) + 1, true
}

// lineEnds are the line ends of the language; a carriage return and a line feed are one.
const lineEnds = "\n\r\u2028\u2029"

// countLineEnds counts the line ends in s.
func countLineEnds(s string) int {
	n := 0
	for i, r := range s {
		if strings.ContainsRune(lineEnds, r) && !(r == '\n' && i > 0 && s[i-1] == '\r') {
			n++
		}
	}
	return n
}

// lastLineStart is where the last line of s begins.
func lastLineStart(s string) int {
	i := strings.LastIndexAny(s, lineEnds)
	if i < 0 {
		return 0
	}
	if s[i] == '\n' || s[i] == '\r' {
		return i + 1
	}
	return i + len("\u2028")
}
