package evaljs

import "strings"

// push opens a bracket and notes what it is for.
func (l *lexer) push(c byte) {
	b := bracket{kind: c}
	before := l.last()
	switch c {
	case '(':
		b.control = l.kindOf(before) == kindWord && !l.is(before-1, ".") && in("if while for with await", l.text(before)) && !(l.is(before, "await") && !l.is(before-1, "for"))
	case '{':
		b.block = l.opensBlock(before)
	}
	l.token(kindOpen, 1)
	b.token = l.last()
	l.tokens[b.token].block = b.block
	l.open = append(l.open, b)
}

// pop closes the innermost bracket.
func (l *lexer) pop(c byte) {
	if len(l.open) == 0 {
		l.broken = true
		l.closed = bracket{}
		l.token(kindClose, 1)
		return
	}
	b := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	l.closed = b
	if want := map[byte]byte{'(': ')', '[': ']', '{': '}', '`': '}'}[b.kind]; want != c {
		l.broken = true
	}
	l.token(kindClose, 1)
	l.tokens[l.last()].pair, l.tokens[b.token].pair = int32(b.token), int32(l.last())
	if b.kind == '`' {
		l.template()
	}
}

// opensBlock tells whether a { after token i opens statements, or a body, rather than an object.
func (l *lexer) opensBlock(i int) bool {
	if i < 0 {
		return true
	}
	switch l.tokens[i].kind {
	case kindClose:
		return true // after (), a body; after a block, another one; after an expression, nothing that parses
	case kindWord:
		if l.member(i) {
			return true
		}
		return !l.valueAfterWord(i) || in("else do", l.text(i)) // try, finally, the name of a class
	case kindPunct:
		switch l.text(i) {
		case ";", "=>":
			return true
		case ":": // of a label or a case, unless it decides between values, or is in an object
			if len(l.open) == 0 {
				return l.decided(i)
			}
			top := l.open[len(l.open)-1]
			return top.block && l.decided(i)
		}
		return false
	case kindOpen:
		return len(l.open) > 0 && l.open[len(l.open)-1].block
	}
	return false
}

// decided tells whether the : at token i is that of a label or a case: whether no ? at its level stands before it in its statement.
func (l *lexer) decided(i int) bool {
	depth := l.tokens[i].depth
	for j := i - 1; j >= 0 && l.tokens[j].depth >= depth; j-- {
		if l.tokens[j].depth > depth {
			continue
		}
		switch l.text(j) {
		case "?":
			return false
		case ";", "{", "}", "case":
			return true
		}
	}
	return true
}

// patternNext tells whether a slash here begins a pattern: whether a value would be next. Where that takes a guess, it is noted.
func (l *lexer) patternNext() bool {
	i := l.last()
	if i < 0 {
		return true
	}
	if l.newLine {
		l.unsure = true // whether the statement ended with its line, the parser knows
	}
	switch l.tokens[i].kind {
	case kindWord:
		if in("await yield of async let static get set type as", l.text(i)) {
			l.unsure = true // a word in one place and a name in another
		}
		return !l.member(i) && l.valueAfterWord(i)
	case kindNumber, kindString, kindPattern, kindTemplate:
		return false
	case kindClose:
		if l.closed.kind == '{' {
			l.unsure = true
		}
		return l.closed.control || l.closed.block && l.closed.kind == '{'
	case kindPunct:
		if in("++ -- > >> >>> !", l.text(i)) {
			l.unsure = true // behind a value or before one; a type's end
		}
		return !l.is(i, "++") && !l.is(i, "--")
	}
	return true
}

// member tells whether the word at i is the name of a member.
func (l *lexer) member(i int) bool { return l.is(i-1, ".") || l.is(i-1, "?.") }

// valueAfterWord tells whether a value follows the word at i.
func (l *lexer) valueAfterWord(i int) bool {
	if l.is(i, "of") || l.is(i, "yield") {
		return l.tokens[i].depth > 0 // at the top level they are names
	}
	return in("return typeof instanceof in new delete void throw case do else await extends default", l.text(i))
}

// in tells whether a list with spaces between has the word.
func in(list, word string) bool {
	return word != "" && strings.Contains(" "+list+" ", " "+word+" ")
}

// ends tells whether a value can end with token i.
func (l *lexer) ends(i int) bool {
	switch l.kindOf(i) {
	case kindWord:
		return l.member(i) || !l.valueAfterWord(i) && !in("let const var class function async import export static", l.text(i))
	case kindNumber, kindString, kindPattern, kindTemplate, kindClose:
		return true
	}
	return l.is(i, "++") || l.is(i, "--")
}
