package evaljs

import "strings"

// declaration is a name that a source declares at its top level.
type declaration struct {
	name string
	// lexical: by let, const or class, which a script may do once only.
	lexical bool
	at      int // where, in bytes
}

// top is what stands at the top level of a source.
type top struct {
	declared []declaration
	// relax are the edits that turn let, const and class into var, so that a later evaluation can declare the name again.
	relax []edit
	// imports are the edits that turn import statements into calls of import().
	imports []edit
	// mistaken: a const or a pattern has no value, which only var would let pass.
	mistaken bool
}

// readTop finds what stands at the top level. keep says that imported names have to last.
func readTop(source string, keep bool) top {
	l := lex(source)
	t := top{imports: l.exports()}
	if l.broken || l.partial() {
		return t // the engine says what is wrong with it
	}
	for i := 0; i < len(l.tokens); i++ {
		tok := l.tokens[i]
		if tok.depth != 0 || tok.kind != kindWord || l.member(i) {
			continue
		}
		switch l.text(i) {
		case "let", "const", "var":
			i = t.variables(l, i)
		case "class":
			t.class(l, i)
		case "function":
			t.function(l, i)
		case "import":
			i = t.importStatement(l, i, keep)
		}
	}
	return t
}

// begins tells whether a statement can begin with token i: nothing before it waits for a value.
func (l *lexer) begins(i int) bool {
	if i == 0 || l.is(i-1, ";") {
		return true
	}
	return l.ends(i-1) && (l.tokens[i].newLine || l.is(i-1, "}") || l.is(i-1, ")"))
}

// variables reads a let, const or var statement and returns its last token.
func (t *top) variables(l *lexer, i int) int {
	word, lexical := l.text(i), l.text(i) != "var"
	if next := i + 1; word == "let" && l.kindOf(next) != kindWord && !l.is(next, "[") && !l.is(next, "{") || word == "let" && in("in instanceof of", l.text(next)) {
		return i // a name
	}
	if lexical {
		t.relax = append(t.relax, edit{l.start(i), l.end(i), "var" + strings.Repeat(" ", len(word)-3)})
	}
	for {
		names, end := l.binding(i + 1)
		if end <= i {
			return i // no program
		}
		for _, n := range names {
			t.declared = append(t.declared, declaration{l.name(n), lexical, l.start(n)})
		}
		i = end
		if l.is(i+1, "=") {
			i = l.initialiser(i + 2)
		} else if word == "const" || l.kindOf(i) == kindClose {
			t.mistaken = true
		} else if lexical { // var would leave the value of an earlier one
			value := "=void 0"
			if next := i + 1; next < len(l.tokens) && l.tokens[next].newLine && !l.is(next, ",") {
				value += ";" // what comes would go on with the value
			}
			t.relax = append(t.relax, edit{l.end(i), l.end(i), value})
		}
		if !l.is(i+1, ",") {
			return i
		}
		i++
	}
}

// initialiser goes to the last token of the value that begins at i: up to a comma, a semicolon, or a line end at which the statement ends.
func (l *lexer) initialiser(i int) int {
	for ; i < len(l.tokens); i++ {
		if j := l.pair(i); j > i {
			i = j
		}
		next := i + 1
		if next >= len(l.tokens) || l.is(next, ",") || l.is(next, ";") || l.kindOf(next) == kindClose || l.statementEnds(next) {
			return i
		}
	}
	return len(l.tokens) - 1
}

// statementEnds tells whether the line end before token i ends the statement, because what was and what comes do not go together.
func (l *lexer) statementEnds(i int) bool {
	if !l.tokens[i].newLine || !l.ends(i-1) {
		return false
	}
	switch l.tokens[i].kind {
	case kindWord:
		return !in("in instanceof", l.text(i))
	case kindNumber, kindString:
		return true
	case kindOpen:
		return l.is(i, "{")
	}
	return in("! ~ ++ --", l.text(i))
}

// binding reads a name or a pattern at token i and returns the tokens of the names and the last token. The last token is before i when there is none.
func (l *lexer) binding(i int) (names []int, end int) {
	switch {
	case l.kindOf(i) == kindWord:
		return []int{i}, i
	case l.is(i, "["), l.is(i, "{"):
		if l.pair(i) < 0 {
			return nil, i - 1
		}
		return l.patternNames(i), l.pair(i)
	}
	return nil, i - 1
}

// patternNames are the names that the pattern at token i binds. Patterns inside of it are put on a list, so that nothing recurses.
func (l *lexer) patternNames(i int) []int {
	var names []int
	for work := []int{i}; len(work) > 0; {
		open := work[len(work)-1]
		work = work[:len(work)-1]
		object := l.is(open, "{")
		for j := open + 1; j < l.pair(open); j++ {
			if l.is(j, "...") {
				j++
			}
			if object { // key: target, or the name alone
				if k := l.keyEnd(j); l.is(k+1, ":") {
					j = k + 2
				}
			}
			switch {
			case l.kindOf(j) == kindWord:
				names = append(names, j)
			case (l.is(j, "[") || l.is(j, "{")) && l.pair(j) > j:
				work = append(work, j)
			}
			j = l.element(j, l.pair(open))
		}
	}
	return names
}

// keyEnd is the last token of the key at token i.
func (l *lexer) keyEnd(i int) int {
	if l.is(i, "[") && l.pair(i) > i {
		return l.pair(i)
	}
	return i
}

// element goes to the comma behind the element at token i, or to end.
func (l *lexer) element(i, end int) int {
	for ; i < end; i++ {
		if l.is(i, ",") {
			return i
		}
		if j := l.pair(i); j > i {
			i = j
		}
	}
	return end
}

// class reads a class statement, which is one only where no value is waited for.
func (t *top) class(l *lexer, i int) {
	if !l.begins(i) || l.kindOf(i+1) != kindWord || l.is(i+1, "extends") {
		return
	}
	body, ok := l.classBody(i + 2)
	if !ok {
		return
	}
	name, end := l.text(i+1), l.end(l.pair(body))
	t.declared = append(t.declared, declaration{l.name(i + 1), true, l.start(i + 1)})
	t.relax = append(t.relax, edit{l.start(i), l.start(i), "var " + name + "="}, edit{end, end, ";"})
}

// maxHeritage bounds what is read between extends and the body of a class, in tokens.
const maxHeritage = 200

// classBody finds the opening bracket of a class's body, from the token behind its name. What a class extends can be an object, or a class, with brackets of
// their own.
func (l *lexer) classBody(i int) (int, bool) {
	bodies, operand := 1, false
	for n := 0; i < len(l.tokens) && n < maxHeritage; n++ {
		switch {
		case l.is(i, "extends"):
			operand = true
		case l.is(i, "class") && operand:
			bodies, operand = bodies+1, false
		case l.is(i, "{"):
			if !operand {
				bodies--
			}
			if operand = false; bodies == 0 {
				return i, l.pair(i) > i
			}
		case l.is(i, ";"), n == 0:
			return 0, false // no extends, and no body
		default:
			operand = false
		}
		if j := l.pair(i); j > i {
			i = j
		}
		i++
	}
	return 0, false
}

// function reads a function statement. It needs no edit: a script may declare a function again.
func (t *top) function(l *lexer, i int) {
	first := i
	if l.is(i-1, "async") {
		first--
	}
	name := i + 1
	if l.is(name, "*") {
		name++
	}
	if l.begins(first) && l.kindOf(name) == kindWord {
		t.declared = append(t.declared, declaration{name: l.name(name), at: l.start(name)})
	}
}

// twice is the first name that is declared again in a way that no script may.
func (t *top) twice() (declaration, bool) {
	lexical := map[string]bool{}
	for _, d := range t.declared {
		was, seen := lexical[d.name]
		if seen && (was || d.lexical) {
			return d, true
		}
		lexical[d.name] = d.lexical
	}
	return declaration{}, false
}
