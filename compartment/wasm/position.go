package wasm

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
	i, ok := offset(source, l, c)
	if !ok {
		return compartment.Frame{}, false
	}
	l, c = place(source, intoBody(source, i, name))
	return compartment.Frame{Function: name, Line: l, Column: c}, true
}

// offset turns a place as the engine counts it, by lines and bytes, into one in the source.
//
// The engine counts U+2028 and U+2029 as line ends in code and not in comments. Which it was cannot be told from a place, so where there is such a line
// after all, that is the one.
func offset(source string, line, column int) (int, bool) {
	start, ok := lineStart(source, line, lineEnds)
	if !ok {
		start, ok = lineStart(source, line, "\n\r")
	}
	if !ok || column < 1 {
		return 0, false
	}
	at := min(start+column-1, len(source))
	for at < len(source) && (source[at] == ' ' || source[at] == '\t') { // the engine points before what it means
		at++
	}
	return at, true
}

// place is the line and the column, as the language counts them (columns by UTF-16 units).
func place(source string, at int) (line, column int) {
	before := source[:at]
	last := before[lastLineStart(before):]
	return 1 + countLineEnds(before), len(utf16.Encode([]rune(last))) + 1
}

// head is the beginning of a function, up to its body; for an arrow function the engine's beginning is that of the declaration. Parameters with defaults are code, in which the error may be; those heads are left alone.
var head = regexp.MustCompile(`^(?:(?:async\s+)?(?:function\s*\*?\s*)?([\w$]*)\s*\([^()=]*\)\s*\{|` +
	`(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:\([^()=]*\)|[\w$]+)\s*=>\s*\{?)(?:\s|//[^\n\r]*|/\*(?s:.*?)\*/)*`)

// longHead is how much of a head is looked at.
const longHead = 1000

// intoBody moves a place at the beginning of a function to the first statement of that function. The engine tells the beginning for what fails before
// anything that it has noted a place for: "return null.x". Nothing is wrong there, and often it is not even the line.
func intoBody(source string, at int, name string) int {
	text := source[at:min(at+longHead, len(source))]
	inside := strings.TrimPrefix(text, "(") // a function that is called where it stands
	found := head.FindStringSubmatch(inside)
	if found == nil {
		return at
	}
	called := name[strings.LastIndex(name, " ")+1:] // without "get"
	if of := found[1] + found[2]; of != "" && of != "function" && of != called && of != "constructor" {
		return at
	}
	return at + len(text) - len(inside) + len(found[0])
}

// lineStart is where the line with that number begins. A carriage return and a line feed are one line end.
func lineStart(source string, line int, ends string) (int, bool) {
	start := 0
	for n := 1; n < line; n++ {
		i := strings.IndexAny(source[start:], ends)
		if i < 0 {
			return 0, false
		}
		_, size := utf8.DecodeRuneInString(source[start+i:])
		if start += i + size; source[start-1] == '\r' && strings.HasPrefix(source[start:], "\n") {
			start++
		}
	}
	return start, line > 0
}

// lineEnds are the line ends of the language.
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
