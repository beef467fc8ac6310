package goja

import (
	"fmt"
	"strings"

	"sallyport/compartment"
)

// The parser and the compiler recurse on the stack of the host, which ends the process when it is full; and the
// parser looks at no clock. So a source is measured before they see it, in two ways.
//
// First, bytes are counted that could cost stack, wherever they stand. No text can hide one, so this bound holds: it
// keeps the process alive. Second, the brackets are followed as the language would, to find sources that would take
// long. What is text, comment or pattern and what is code is guessed as editors do; a source made to mislead the
// guess takes long, and no more.

// maxStack is how much of the host's stack parsing and compiling one source may take, in bytes. A stack of Go may be
// 512 MB.
const maxStack = 128 << 20

// stackCost is how much stack one byte of source can take at most: measured with each construct of the language,
// nested, on goja of September 2026, and rounded up. What is not listed costs what the keywords cost for each of
// their letters.
var stackCost = func() (cost [256]int32) {
	for i := range cost {
		cost[i] = 200 // "in" is 5 bytes for 732, "else if(1)" 13 for 1031
	}
	for _, c := range "[({`" {
		cost[c] = 2400 // [ 2146, ( 2146, ({a:[ 6523, class{x= 2296, `${ 2296
	}
	for _, c := range "=>" {
		cost[c] = 1200 // a=> 2219, a= 732
	}
	for _, c := range "+-*/%<&|^" {
		cost[c] = 1000 // 1+ 845, a&= 970
	}
	for _, c := range "!~?:." {
		cost[c] = 500 // a? 405, ! 312, a.b 226
	}
	for _, c := range " \t\r\n;,)]}" {
		cost[c] = 0 // they nest nothing
	}
	return cost
}()

// The nesting that is parsed. People write 20 levels at most.
const (
	maxDepth  = 256
	maxArrows = 4 // arrow functions inside the parameters of arrow functions: each one doubles the parser's time
)

// scan measures a source before the parser sees it.
func scan(source string, l compartment.Limits) *compartment.Failure {
	if len(source) > l.SourceBytes {
		return compartment.FailureOf(compartment.KindSourceSize, "SyntaxError", fmt.Sprintf("the source is %d bytes, at most %d are taken", len(source), l.SourceBytes))
	}
	stack := int64(0)
	for i := range len(source) {
		stack += int64(stackCost[source[i]])
	}
	s := scanner{src: source}
	s.run()
	switch {
	case stack > maxStack:
		return tooDeep("the source has so many brackets and operators that it could not be parsed if they were nested")
	case s.deepest > maxDepth:
		return tooDeep(fmt.Sprintf("the source nests more than %d brackets", maxDepth))
	case s.arrows > maxArrows:
		return tooDeep(fmt.Sprintf("more than %d arrow functions are inside each other's parameters", maxArrows))
	case chain(source) > maxLinked || strings.Count(source, "?.") > maxOptional:
		return tooDeep(fmt.Sprintf("a chain of more than %d signs or %d optional members", maxLinked, maxOptional))
	}
	return nil
}

// What the parser goes through again for each link: it takes the square of their number. 120,000 signs took 25 seconds, 60,000 optional members 30.
const (
	maxLinked   = 5_000 // signs without a value between them, as only a machine writes them
	maxOptional = 20_000
)

// chain is the longest run of signs that stand before a value, with nothing but space between them.
func chain(source string) int {
	run, longest := 0, 0
	for i := range len(source) {
		switch c := source[i]; {
		case strings.IndexByte("+-!~", c) >= 0:
			run++
			longest = max(longest, run)
		case c > ' ':
			run = 0
		}
	}
	return longest
}

func tooDeep(text string) *compartment.Failure {
	return compartment.FailureOf(compartment.KindSourceDepth, "SyntaxError", text)
}

// scanner follows the brackets of a source.
type scanner struct {
	src  string
	at   int
	open []bracket
	last byte // the last byte of code that was no space
	word string

	deepest, arrows int
}

// bracket is an open bracket: which, and how many arrow functions deep the parameters inside it are.
type bracket struct {
	kind   byte
	arrows int
}

func (s *scanner) run() {
	for s.at < len(s.src) {
		c := s.src[s.at]
		switch {
		case c == '"' || c == '\'':
			s.text(c)
		case c == '`':
			s.at++
			s.template()
		case c == '/':
			if s.comment() {
				continue
			}
			if s.beforeValue() {
				s.pattern()
			}
		case c == '(' || c == '[' || c == '{':
			s.push(c)
		case c == ')' || c == ']' || c == '}':
			s.pop(c)
		case isWordByte(c):
			s.identifier()
			continue
		}
		if c > ' ' {
			s.last, s.word = c, ""
		}
		s.at++
	}
}

func (s *scanner) push(c byte) {
	s.open = append(s.open, bracket{kind: c})
	s.deepest = max(s.deepest, len(s.open))
}

// pop closes the innermost bracket, whichever it was: a source whose brackets do not match is not parsed far. A closing brace may go
// on with a template.
func (s *scanner) pop(c byte) {
	if len(s.open) == 0 {
		return
	}
	b := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	if b.kind == '(' && strings.HasPrefix(strings.TrimLeft(s.src[s.at+1:min(len(s.src), s.at+200)], " \t"), "=>") {
		b.arrows++
		s.arrows = max(s.arrows, b.arrows)
	}
	if n := len(s.open); n > 0 && s.open[n-1].arrows < b.arrows {
		s.open[n-1].arrows = b.arrows
	}
	if b.kind == '`' && c == '}' {
		s.at++
		s.template()
	}
}

// text skips a string. It ends with its line at the latest.
func (s *scanner) text(quote byte) {
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '\\':
			s.at++
		case quote, '\n':
			return
		}
	}
}

// template skips the text of a template up to its end, or up to the code inside of it.
func (s *scanner) template() {
	for ; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '\\':
			s.at++
		case '`':
			return
		case '$':
			if strings.HasPrefix(s.src[s.at:], "${") {
				s.at++
				s.push('`')
				return
			}
		}
	}
}

// comment skips a comment, when there is one.
func (s *scanner) comment() bool {
	rest, end, length := s.src[s.at:], "\n", 0
	switch {
	case strings.HasPrefix(rest, "//"):
	case strings.HasPrefix(rest, "/*"):
		end, length = "*/", 2
	default:
		return false
	}
	i := strings.Index(rest[2:], end)
	if i < 0 {
		s.at = len(s.src)
	} else {
		s.at += 2 + i + length
	}
	return true
}

// beforeValue guesses whether a value would be next, so that a slash begins a pattern.
func (s *scanner) beforeValue() bool {
	if s.word != "" {
		return strings.Contains(" return typeof case in of delete void instanceof new do else throw await yield ", " "+s.word+" ")
	}
	return !strings.ContainsRune(")]}\"'`", rune(s.last)) || s.last == 0
}

// pattern skips a regular expression. It ends with its line at the latest.
func (s *scanner) pattern() {
	inClass := false
	for i := s.at + 1; i < len(s.src) && s.src[i] != '\n'; i++ {
		switch c := s.src[i]; {
		case c == '\\':
			i++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '/' && !inClass:
			s.at = i
			return
		}
	}
	// No end on this line: it was a division after all.
}

// identifier skips a word or a number and remembers it.
func (s *scanner) identifier() {
	from := s.at
	for s.at < len(s.src) && isWordByte(s.src[s.at]) {
		s.at++
	}
	s.word, s.last = s.src[from:s.at], 'a'
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
