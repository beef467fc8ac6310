package evaljs

import (
	"strconv"
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
	block   bool // it opens statements or a body
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

// lexer cuts a source. More of the source can be added when all so far was cut.
type lexer struct {
	src      string
	at       int
	tokens   []token
	open     []bracket
	comments [][2]int
	newLine  bool
	closed   bracket // what the last closing token closed
	broken   bool    // a bracket without a partner, or a text without an end

	inTemplate, inComment bool // the source ends inside of one
	// unsure: what a slash is was guessed, or there is something that readers differ about.
	unsure bool
}

// lex cuts a source into tokens.
func lex(source string) *lexer {
	l := &lexer{}
	l.add(source)
	return l
}

// add adds text to the source and cuts it.
func (l *lexer) add(text string) {
	l.src += text
	if l.at == 0 && strings.HasPrefix(l.src, "#!") {
		l.skipLine()
	}
	if l.inTemplate {
		l.template()
	}
	if l.inComment {
		l.skipComment(l.at)
	}
	for l.next() {
	}
}

// partial tells whether the source ends inside of something.
func (l *lexer) partial() bool { return len(l.open) > 0 || l.inTemplate || l.inComment }

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

// name is the name that a token stands for: an escape in it is read.
func (l *lexer) name(i int) string {
	text := l.text(i)
	for at := strings.Index(text, `\u`); at >= 0; at = strings.Index(text, `\u`) {
		digits, after := "", at+2
		if inner, ok := strings.CutPrefix(text[after:], "{"); ok {
			digits, _, _ = strings.Cut(inner, "}")
			after += len(digits) + 2
		} else {
			digits = text[after:min(after+4, len(text))]
			after += len(digits)
		}
		r, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || after > len(text) {
			return text // no name
		}
		text = text[:at] + string(rune(r)) + text[after:]
	}
	return text
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
	switch {
	case c == '\n' || c == '\r':
		l.newLine = true
		l.at++
	case c == ' ' || c == '\t' || c == '\v' || c == '\f':
		l.at++
	case isNameByte(c) && (c < '0' || c > '9'):
		l.word()
	case c >= '0' && c <= '9' || c == '.' && l.at+1 < len(l.src) && l.src[l.at+1] >= '0' && l.src[l.at+1] <= '9':
		l.number()
	case c == '(' || c == '[' || c == '{':
		l.push(c)
	case c == ')' || c == ']' || c == '}':
		l.pop(c)
	case c == '"' || c == '\'':
		l.quoted(c)
	case c == '`':
		l.token(kindTemplate, 1)
		l.template()
	case c == '/':
		l.slash()
	case c == '<' && strings.HasPrefix(l.src[l.at:], "<!--"), c == '-' && strings.HasPrefix(l.src[l.at:], "-->") && (l.newLine || len(l.tokens) == 0):
		l.unsure = true // a comment in a script, and none in a module
		l.skipLine()
	case c >= utf8.RuneSelf:
		l.foreign()
	default:
		l.sign()
	}
	return true
}

// slash reads what begins with a slash.
func (l *lexer) slash() {
	switch rest := l.src[l.at:]; {
	case strings.HasPrefix(rest, "//"):
		l.skipLine()
	case strings.HasPrefix(rest, "/*"):
		l.skipComment(l.at + 2)
	case l.patternNext():
		l.pattern()
	default:
		l.sign()
	}
}

// token ends a token of n bytes.
func (l *lexer) token(k kind, n int) {
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

// skipComment goes behind a comment whose text begins at from.
func (l *lexer) skipComment(from int) {
	i := strings.Index(l.src[from:], "*/")
	l.inComment = i < 0
	end := len(l.src)
	if i >= 0 {
		end = from + i + len("*/")
	}
	if strings.ContainsAny(l.src[from:end], "\n\r\u2028\u2029") {
		l.newLine = true
	}
	l.comments = append(l.comments, [2]int{l.at, end})
	l.at = end
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
			l.token(kindString, i-l.at)
			return
		case quote:
			l.token(kindString, i+1-l.at)
			return
		}
	}
	l.broken = true
	l.token(kindString, len(l.src)-l.at)
}

// template reads the text of a template up to its end, or up to the code inside of it.
func (l *lexer) template() {
	l.inTemplate = false
	for i := l.at; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case '`':
			l.at = i
			l.token(kindTemplate, 1)
			return
		case '$':
			if strings.HasPrefix(l.src[i:], "${") {
				l.at = i
				l.token(kindOpen, 2)
				l.open = append(l.open, bracket{token: l.last(), kind: '`'})
				return
			}
		}
	}
	l.at, l.inTemplate = len(l.src), true
}

// pattern reads a regular expression. One that has no end on its line is a division after all.
func (l *lexer) pattern() {
	inClass := false
	for i := l.at + 1; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == '\n' || c == '\r':
			l.token(kindPunct, 1)
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
			l.token(kindPattern, i-l.at)
			return
		}
	}
	l.token(kindPunct, 1)
}

// number reads a number, with all that belongs to it.
func (l *lexer) number() {
	i := l.at + 1
	for ; i < len(l.src); i++ {
		c := l.src[i]
		exponent := (c == '+' || c == '-') && (l.src[i-1]|0x20) == 'e' && !strings.HasPrefix(strings.ToLower(l.src[l.at:min(l.at+2, i)]), "0x")
		if !isNameByte(c) && c != '.' && !exponent {
			break
		}
	}
	l.token(kindNumber, i-l.at)
}

// word reads a name. An escape in it makes it no word of the language, which is right.
func (l *lexer) word() {
	i := l.at
	for i < len(l.src) {
		c := l.src[i]
		switch {
		case c == '\\':
			l.unsure = true
			if i++; strings.HasPrefix(l.src[i:], "u{") {
				if end := strings.IndexByte(l.src[i:min(len(l.src), i+12)], '}'); end > 0 {
					i += end + 1
				}
			}
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
	l.token(kindWord, i-l.at)
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
	if len(rest) > 1 && strings.IndexByte("=>.&|?+-*<", rest[1]) >= 0 {
		for _, s := range signs {
			if strings.HasPrefix(rest, s) {
				n = len(s)
				break
			}
		}
	}
	if rest[:n] == "?." && len(rest) > 2 && rest[2] >= '0' && rest[2] <= '9' {
		n = 1 // a ? and a number
	}
	l.token(kindPunct, n)
}

// isNameByte tells whether c can be in a name. A backslash begins an escape in one, and # a private one.
func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '\\' || c == '#'
}

// isSpace tells whether r is a space of the language beyond ASCII, or a line end.
func isSpace(r rune) bool {
	switch r {
	case '\u00a0', '\ufeff', '\u1680', '\u202f', '\u205f', '\u3000', '\u2028', '\u2029':
		return true
	}
	return r >= '\u2000' && r <= '\u200a'
}
