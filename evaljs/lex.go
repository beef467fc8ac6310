package evaljs

import (
	"strings"
	"unicode/utf8"
)

// A source is cut into tokens here only to find what stands at its top level: declarations and imports. Whether a slash begins a pattern or
// divides is decided as readers do, by what stands before it; a source made to mislead that gets its declarations read wrongly, which is its
// own loss, since the engine reads the whole of it again. Nothing here recurses, so no source can use up the stack.

// kind is what a token is.
type kind uint8

const (
	kindWord   kind = iota // a name or a word of the language
	kindNumber             // also a BigInt
	kindString
	kindTemplate // the beginning or end of a template; what is inside of ${} are tokens of their own
	kindPattern
	kindOpen  // ( [ { and the ${ of a template
	kindClose // ) ] }
	kindPunct
)

// token is a piece of a source.
type token struct {
	kind    kind
	newLine bool // a line ends before it
	// A source may have a token a byte, so these are small.
	depth    int32 // how many brackets are open around it
	from, to int32
	pair     int32 // of a bracket: the token that is its partner; -1 when there is none
}

// bracket is an open bracket.
type bracket struct {
	token   int
	kind    byte // ( [ { or ` for the inside of a template
	control bool // ( of if, while, for, with: a pattern may follow its end
	block   bool // { of statements or of a body: a pattern may follow its end
}

// lexer cuts a source.
type lexer struct {
	src      string
	at       int
	tokens   []token
	open     []bracket
	newLine  bool
	comments [][2]int
	closed   bracket // what the last closing token closed
	broken   bool    // a bracket without a partner, or a text without an end
	partial  bool    // the source ends inside of something
}

// lex cuts a source into tokens.
func lex(source string) *lexer {
	l := &lexer{src: source}
	if strings.HasPrefix(source, "#!") {
		l.skipLine()
	}
	for l.next() {
	}
	if len(l.open) > 0 {
		l.broken, l.partial = true, true
	}
	return l
}

// start and end are where a token stands.
func (l *lexer) start(i int) int { return int(l.tokens[i].from) }
func (l *lexer) end(i int) int   { return int(l.tokens[i].to) }

// pair is the partner of a bracket; -1 when there is none.
func (l *lexer) pair(i int) int { return int(l.tokens[i].pair) }

// text is a token as it is written.
func (l *lexer) text(i int) string {
	if i < 0 || i >= len(l.tokens) {
		return ""
	}
	t := l.tokens[i]
	return l.src[t.from:t.to]
}

// is tells whether token i is this word or sign.
func (l *lexer) is(i int, s string) bool {
	return i >= 0 && i < len(l.tokens) && l.text(i) == s && (l.tokens[i].kind == kindPunct || l.tokens[i].kind == kindWord ||
		l.tokens[i].kind == kindOpen || l.tokens[i].kind == kindClose)
}

// kindOf is the kind of token i; a sign for what there is not.
func (l *lexer) kindOf(i int) kind {
	if i < 0 || i >= len(l.tokens) {
		return kindPunct
	}
	return l.tokens[i].kind
}

// next reads one token, or the space before one. It is false at the end.
func (l *lexer) next() bool {
	if l.at >= len(l.src) {
		return false
	}
	c := l.src[l.at]
	rest := l.src[l.at:]
	switch {
	case c == '\n' || c == '\r':
		l.newLine = true
		l.at++
	case c == ' ' || c == '\t' || c == '\v' || c == '\f':
		l.at++
	case strings.HasPrefix(rest, "//"):
		l.skipLine()
	case strings.HasPrefix(rest, "/*"):
		l.skipComment()
	case c == '"' || c == '\'':
		l.quoted(c)
	case c == '`':
		l.add(kindTemplate, 1)
		l.template()
	case c == '/' && l.patternNext():
		l.pattern()
	case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		l.number()
	case strings.IndexByte("([{", c) >= 0:
		l.push(c)
	case strings.IndexByte(")]}", c) >= 0:
		l.pop(c)
	case isNameByte(c):
		l.word()
	case c >= utf8.RuneSelf:
		l.foreign()
	default:
		l.sign()
	}
	return true
}

// add ends a token of n bytes.
func (l *lexer) add(k kind, n int) {
	l.tokens = append(l.tokens, token{kind: k, newLine: l.newLine, depth: int32(len(l.open)), from: int32(l.at), to: int32(l.at + n), pair: -1})
	l.at += n
	l.newLine = false
}

// last is the index of the last token.
func (l *lexer) last() int { return len(l.tokens) - 1 }

// skipLine goes to the end of the line.
func (l *lexer) skipLine() {
	i := strings.IndexAny(l.src[l.at:], "\n\r\u2028\u2029")
	if i < 0 {
		i = len(l.src) - l.at
	}
	l.comments = append(l.comments, [2]int{l.at, l.at + i})
	l.at += i
}

// skipComment goes behind a comment.
func (l *lexer) skipComment() {
	i := strings.Index(l.src[l.at+2:], "*/")
	if i < 0 {
		l.at, l.broken, l.partial = len(l.src), true, true
		return
	}
	if strings.ContainsAny(l.src[l.at:l.at+2+i], "\n\r\u2028\u2029") {
		l.newLine = true
	}
	l.comments = append(l.comments, [2]int{l.at, l.at + i + 4})
	l.at += i + 4
}

// quoted reads a string. It ends with its line at the latest, unless the end of the line is escaped.
func (l *lexer) quoted(quote byte) {
	for i := l.at + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			if strings.HasPrefix(l.src[i:], "\\\r\n") {
				i++
			}
			i++
		case '\n', '\r':
			l.broken = true
			l.add(kindString, i-l.at)
			return
		case quote:
			l.add(kindString, i+1-l.at)
			return
		}
	}
	l.broken = true
	l.add(kindString, len(l.src)-l.at)
}

// template reads the text of a template up to its end, or up to the code inside of it.
func (l *lexer) template() {
	for i := l.at; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case '`':
			l.at = i
			l.add(kindTemplate, 1)
			return
		case '$':
			if strings.HasPrefix(l.src[i:], "${") {
				l.at = i
				l.add(kindOpen, 2)
				l.open = append(l.open, bracket{token: l.last(), kind: '`'})
				return
			}
		}
	}
	l.at, l.broken, l.partial = len(l.src), true, true
}

// pattern reads a regular expression. One that has no end on its line is a division after all.
func (l *lexer) pattern() {
	inClass := false
	for i := l.at + 1; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == '\n' || c == '\r':
			l.add(kindPunct, 1)
			return
		case c == '\\':
			i++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '/' && !inClass:
			for i++; i < len(l.src) && isNameByte(l.src[i]); i++ { // its flags
			}
			l.add(kindPattern, i-l.at)
			return
		}
	}
	l.add(kindPunct, 1)
}

// number reads a number, with all that belongs to it.
func (l *lexer) number() {
	i := l.at + 1
	for ; i < len(l.src); i++ {
		c := l.src[i]
		exponent := (c == '+' || c == '-') && (l.src[i-1]|0x20) == 'e' && !strings.HasPrefix(strings.ToLower(l.src[l.at:i]), "0x")
		if !isNameByte(c) && c != '.' && !exponent {
			break
		}
	}
	l.add(kindNumber, i-l.at)
}

// word reads a name. An escape in it makes it no word of the language, which is right.
func (l *lexer) word() {
	i := l.at
	for i < len(l.src) {
		c := l.src[i]
		switch {
		case strings.HasPrefix(l.src[i:], "\\u{"):
			end := strings.IndexByte(l.src[i:], '}')
			if end < 0 {
				end = 2
			}
			i += end + 1
			continue
		case isNameByte(c):
			i++
			continue
		case c >= utf8.RuneSelf:
			if r, n := utf8.DecodeRuneInString(l.src[i:]); !isSpace(r) {
				i += n
				continue
			}
		}
		break
	}
	l.add(kindWord, i-l.at)
}

// foreign reads what begins beyond ASCII: a space, a line end, or a name.
func (l *lexer) foreign() {
	r, n := utf8.DecodeRuneInString(l.src[l.at:])
	switch {
	case r == '\u2028' || r == '\u2029':
		l.newLine = true
		l.at += n
	case isSpace(r):
		l.at += n
	default:
		l.word()
	}
}

// signs are those of more than one byte that matter here, the longest first.
var signs = []string{">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||",
	"??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**"}

// sign reads an operator.
func (l *lexer) sign() {
	n, rest := 1, l.src[l.at:]
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			n = len(s)
			break
		}
	}
	if rest[:n] == "?." && len(rest) > 2 && rest[2] >= '0' && rest[2] <= '9' {
		n = 1 // a ? and a number
	}
	l.add(kindPunct, n)
}

// isNameByte tells whether c can be in a name. A backslash begins an escape in one, and # a private one.
func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c == '\\' || c == '#' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isSpace tells whether r is a space of the language beyond ASCII, or a line end.
func isSpace(r rune) bool {
	switch r {
	case '\u00a0', '\ufeff', '\u1680', '\u202f', '\u205f', '\u3000', '\u2028', '\u2029':
		return true
	}
	return r >= '\u2000' && r <= '\u200a'
}
