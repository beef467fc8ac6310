package evaljs

import "strings"

// importStatement reads an import statement and returns its last token. A script has none; what it does, import() does too, but where it stands and not before
// everything else.
func (t *top) importStatement(l *lexer, i int, keep bool) int {
	if !l.begins(i) || l.is(i+1, "(") || l.is(i+1, ".") {
		return i
	}
	c := clause{l: l, at: i + 1}
	if !c.read() {
		return i // the engine says what is wrong with it
	}
	end := c.at
	if l.is(end+1, "with") && l.is(end+2, "{") && l.pair(end+2) > 0 {
		end = l.pair(end + 2)
	}
	word := "const "
	if keep {
		word = "var "
	}
	specifier := l.text(c.at)
	text := "await import(" + specifier + ")"
	if len(c.parts) == 0 {
		text = "void " + text
	} else {
		text = word + strings.NewReplacer("\x00", text, "\x01", specifier).Replace(strings.Join(c.parts, ","))
	}
	if !l.is(end+1, ";") {
		text += ";"
	}
	t.imports = append(t.imports, edit{l.start(i), l.end(end), text})
	for _, n := range c.names {
		t.declared = append(t.declared, declaration{n, true, l.start(i)})
	}
	return end
}

// clause reads what stands between import and the specifier. In its parts, a zero byte stands for the call of import(), and a one for the specifier.
type clause struct {
	l     *lexer
	at    int // at the end, the specifier
	parts []string
	names []string
}

// read is false for what is no import statement.
func (c *clause) read() bool {
	l := c.l
	if l.kindOf(c.at) == kindString { // import "x"
		return true
	}
	first := "" // the name of the default export
	if l.kindOf(c.at) == kindWord && !l.is(c.at, "from") || l.is(c.at, "from") && l.is(c.at+1, "from") {
		first = l.text(c.at)
		c.names = append(c.names, first)
		c.at++
		if l.is(c.at, ",") {
			c.at++
		} else if !l.is(c.at, "from") {
			return false
		}
	}
	switch {
	case l.is(c.at, "*"):
		if !l.is(c.at+1, "as") || l.kindOf(c.at+2) != kindWord {
			return false
		}
		name := l.text(c.at + 2)
		c.names = append(c.names, name)
		c.parts = append(c.parts, name+"=\x00")
		if first != "" {
			c.parts = append(c.parts, "{"+field("default", first)+"}="+name)
		}
		c.at += 3
	case l.is(c.at, "{"):
		fields, ok := c.named()
		if !ok {
			return false
		}
		if first != "" {
			fields = append([]string{field("default", first)}, fields...)
		}
		c.parts = append(c.parts, "{"+strings.Join(fields, ",")+"}=\x00")
	case first != "":
		c.parts = append(c.parts, "{"+field("default", first)+"}=\x00")
	}
	if !l.is(c.at, "from") || l.kindOf(c.at+1) != kindString {
		return false
	}
	c.at++
	return true
}

// field takes an export that has to be there.
func field(key, name string) string {
	quoted := key
	if key[0] != '"' && key[0] != '\'' {
		quoted = `"` + key + `"`
	}
	return key + ":" + name + `=(()=>{throw SyntaxError("there is no export "+` + quoted + `+" in "+` + "\x01" + `)})()`
}

// named reads {a, b as c, "d" as e}.
func (c *clause) named() (fields []string, ok bool) {
	l := c.l
	end := l.pair(c.at)
	for c.at++; c.at < end; c.at++ {
		key := c.at
		if k := l.kindOf(key); k != kindWord && k != kindString {
			return nil, false
		}
		name := key
		if l.is(key+1, "as") {
			name = key + 2
		}
		if l.kindOf(name) != kindWord || !l.is(name+1, ",") && name+1 != end {
			return nil, false
		}
		c.names = append(c.names, l.text(name))
		fields = append(fields, field(l.text(key), l.text(name)))
		if c.at = name + 1; c.at == end {
			break
		}
	}
	c.at = end + 1
	return fields, true
}

// exports are the edits that take the word export from in front of declarations, and nothing else: who writes a module means the same by it. They keep its length.
func (l *lexer) exports() []edit {
	var edits []edit
	for i := range l.tokens {
		if l.is(i, "export") && l.tokens[i].depth == 0 && l.begins(i) && in("let const var class function async abstract interface type enum namespace declare", l.text(i+1)) {
			edits = append(edits, edit{l.start(i), l.end(i), "      "})
		}
	}
	return edits
}
