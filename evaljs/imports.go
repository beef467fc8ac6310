package evaljs

import "strings"

// importStatement reads an import statement and returns its last token. A script has none; what it does, import() does too.
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
	if len(c.parts) > 0 {
		text = word + strings.ReplaceAll(strings.Join(c.parts, ","), "\x00", text)
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

// clause reads what stands between import and the specifier. In its parts, a zero byte stands for the call of import().
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
			c.parts = append(c.parts, "{default:"+first+"}="+name)
		}
		c.at += 3
	case l.is(c.at, "{"):
		fields, ok := c.named()
		if !ok {
			return false
		}
		if first != "" {
			fields = append([]string{"default:" + first}, fields...)
		}
		c.parts = append(c.parts, "{"+strings.Join(fields, ",")+"}=\x00")
	case first != "":
		c.parts = append(c.parts, "{default:"+first+"}=\x00")
	}
	if !l.is(c.at, "from") || l.kindOf(c.at+1) != kindString {
		return false
	}
	c.at++
	return true
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
		fields = append(fields, l.text(key)+":"+l.text(name))
		if c.at = name + 1; c.at == end {
			break
		}
	}
	c.at = end + 1
	return fields, true
}
