package compartment

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// toValid returns s with every byte that is not UTF-8 as U+FFFD.
func toValid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Escape returns guest text in which nothing can move a terminal, reorder a line, hide, or close the field it is shown
// in: control characters (the line end too), bidirectional marks, zero-width and tag characters are written as escapes.
// The result is valid UTF-8 on one line. It is for showing, not for reading back.
func Escape(s string) string {
	if !strings.ContainsFunc(s, unseen) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range toValid(s) {
		writeEscaped(&b, r)
	}
	return b.String()
}

// unseen tells whether r must not be shown as it is.
func unseen(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || // controls, and the line ends of JavaScript
		unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector) || // format, bidi, tags, private use
		r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x034f // letters that are drawn as nothing
}

// writeEscaped writes one rune, escaped as JavaScript would write it.
func writeEscaped(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0x100 && unseen(r):
		fmt.Fprintf(b, `\x%02x`, r)
	case unseen(r):
		fmt.Fprintf(b, `\u{%x}`, r)
	default:
		b.WriteRune(r)
	}
}

// Clip returns s, or its first max bytes and a note of how many bytes there were. It cuts between characters.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return cutAt(s, max) + allBytes(len(s))
}

// Shown returns s as Escape does, in at most max bytes and a note of how many bytes s had when that was not enough.
// What is cut is not looked at, so a text of a hundred megabytes costs no more than a short one.
func Shown(s string, max int) string {
	shown := Escape(cutAt(s, max))
	if len(s) <= max && len(shown) <= max {
		return shown
	}
	return cutAt(shown, max) + allBytes(len(s))
}

// cutAt is the first max bytes of s, without a piece of a character at the end.
func cutAt(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// allBytes says how much there was.
func allBytes(n int) string { return fmt.Sprintf("… (%d bytes in all)", n) }

// Text shows v in at most about max bytes, as JavaScript would write it, with marks for what is not data and counts of
// what was left out. Strings are quoted. The text is escaped as Escape does.
func (v Value) Text(max int) string {
	w := textWriter{left: max}
	w.value(v)
	return w.String()
}

// Line shows v as a console does: a string stands without quotes.
func (v Value) Line(max int) string {
	if v.typ != TypeString {
		return v.Text(max)
	}
	return Shown(v.text, max) + left(v.omitted, "bytes")
}

// textWriter writes values until its room is used up; after that it writes one ellipsis and nothing more.
type textWriter struct {
	strings.Builder
	left int
	full bool
}

func (w *textWriter) put(s string) {
	switch {
	case w.full:
	case len(s) <= w.left:
		w.WriteString(s)
		w.left -= len(s)
	default:
		w.full = true
		w.WriteString(cutAt(s, w.left) + "…")
	}
}

// value writes v. The order of the cases is that of the types.
func (w *textWriter) value(v Value) {
	switch v.typ {
	case TypeUndefined, TypeNull:
		w.put(v.typ.String())
	case TypeBool:
		w.put(strconv.FormatBool(v.num != 0))
	case TypeNumber:
		w.put(numberText(v.num))
	case TypeBigInt:
		w.put(v.text + left(v.omitted, "digits"))
		w.put("n")
	case TypeString:
		w.put(quote(v.text) + left(v.omitted, "bytes"))
	case TypeArray:
		w.list("[", v, "]")
	case TypeObject:
		w.object(v)
	case TypeBytes:
		shown := v.bytes[:min(len(v.bytes), w.left/3+1)] // the text of a byte is three long: what has no room is not written first
		w.put(fmt.Sprintf("bytes[% x%s]", shown, left(v.omitted+int64(len(v.bytes)-len(shown)), "bytes")))
	case TypeDate:
		w.put(dateText(v.num))
	default:
		w.mark(v)
	}
}

// mark writes what is not data.
func (w *textWriter) mark(v Value) {
	name := Escape(v.text)
	switch v.typ {
	case TypeSymbol:
		w.put("Symbol(" + name + ")")
	case TypeRegExp:
		w.put(name)
	case TypeHole:
		w.put("(empty)")
	case TypeTooDeep:
		w.put("[too deep]")
	case TypeMap:
		w.pairs(v)
	case TypeSet:
		w.list(fmt.Sprintf("Set(%d) {", v.total()), v, "}")
	case TypeBoxed:
		w.put("[" + name + ": ")
		w.value(v.Item(0))
		w.put("]")
	case TypeErrorObject:
		w.put("[" + name + left(v.omitted, "bytes") + "]")
	case TypeOther:
		if len(v.items) == 0 {
			w.put("[" + name + "]")
			return
		}
		w.list(fmt.Sprintf("[%s(%d) ", name, v.total()), v, "]")
	default:
		w.put("[" + strings.TrimSpace(v.typ.String()+" "+name) + "]")
	}
}

// list writes the parts of v between two brackets.
func (w *textWriter) list(open string, v Value, end string) {
	w.put(open)
	for i, it := range v.items {
		if w.full {
			return
		}
		if i > 0 {
			w.put(", ")
		}
		w.value(it)
	}
	w.more(v, len(v.items))
	w.put(end)
}

// pairs writes a Map.
func (w *textWriter) pairs(v Value) {
	w.put(fmt.Sprintf("Map(%d) {", v.total()))
	for i := 0; i+1 < len(v.items) && !w.full; i += 2 {
		if i > 0 {
			w.put(", ")
		}
		w.value(v.items[i])
		w.put(" => ")
		w.value(v.items[i+1])
	}
	w.more(v, len(v.items))
	w.put("}")
}

// object writes an object with its fields.
func (w *textWriter) object(v Value) {
	w.put("{")
	for i, k := range v.keys {
		if w.full {
			return
		}
		if i > 0 {
			w.put(", ")
		}
		w.put(keyText(k) + ": ")
		w.value(v.items[i])
	}
	w.more(v, len(v.keys))
	w.put("}")
}

// more says how many parts were left out.
func (w *textWriter) more(v Value, shown int) {
	if v.omitted == 0 {
		return
	}
	if shown > 0 {
		w.put(", ")
	}
	w.put(fmt.Sprintf("… %d more", v.omitted))
}

// total is how many entries a Map or Set has, shown or not.
func (v Value) total() int64 {
	n := int64(len(v.items))
	if v.typ == TypeMap {
		n /= 2
	}
	return n + v.omitted
}

// left says how much of a text was left out.
func left(n int64, of string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("… %d more %s", n, of)
}

// numberText writes a number as JavaScript does, but for -0, which JavaScript hides.
func numberText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	if a := math.Abs(f); a != 0 && (a >= 1e21 || a < 1e-6) {
		m, e, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		return m + "e" + e[:1] + strings.TrimLeft(e[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// dateText writes a date as its toISOString does, or says that it is invalid.
func dateText(ms float64) string {
	t, ok := OfDate(ms).AsTime()
	if !ok {
		return "Invalid Date"
	}
	return "Date(" + isoTime(t) + ")"
}

// quote writes a string as a JavaScript literal.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		writeEscaped(&b, r)
	}
	b.WriteByte('"')
	return b.String()
}

// keyText writes a field's name, quoted when it is not a plain identifier.
func keyText(k string) string {
	for i, r := range k {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return quote(k)
		}
	}
	if k == "" {
		return `""`
	}
	return k
}
