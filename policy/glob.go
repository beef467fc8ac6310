package policy

import (
	"errors"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The grammar of patterns (R63):
//
//	*      any run of characters within one name
//	?      one character of a name
//	**/    at the start of a name: zero or more directories
//	**     elsewhere: anything, "/" too
//	[a-z]  one character of a class; [!a-z] and [^a-z] one outside it; a "[" that is never closed is itself
//
// Everything else is itself: braces, backslashes and dots have no meaning. "/**" at the end is the directory itself.

// splitPattern brings an entry to its plain form: the leading directories that hold no pattern, and the rest. An empty
// rest means that the entry is a plain path.
func splitPattern(entry string) (base, rest string) {
	if strings.HasPrefix(entry, "**") {
		entry = "/" + entry
	}
	for {
		trimmed := strings.TrimSuffix(entry, "/")
		if cut := strings.TrimRight(trimmed, "*"); len(trimmed)-len(cut) >= 2 && strings.HasSuffix(cut, "/") {
			trimmed = cut
		}
		if trimmed == entry {
			break
		}
		entry = trimmed
	}
	start := 0 // of the component being looked at
	for start < len(entry) {
		end := start + 1
		for end < len(entry) && entry[end] != '/' {
			end++
		}
		if hasPattern(entry[start:end]) {
			return root(entry[:start]), entry[start+1:]
		}
		start = end
	}
	return root(entry), ""
}

func root(p string) string {
	if p == "" {
		return "/"
	}
	return p
}

func hasPattern(component string) bool {
	if strings.ContainsAny(component, "*?") {
		return true
	}
	for i := range len(component) {
		if component[i] == '[' && classEnd(component, i) > 0 {
			return true
		}
	}
	return false
}

// classEnd finds the "]" that closes the "[" at i, or -1. A "]" in the first place is a member; a class does not span
// names.
func classEnd(s string, i int) int {
	i++
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s) && s[i] != '/'; i++ {
		if s[i] == ']' {
			return i
		}
	}
	return -1
}

type tokenKind uint8

const (
	tokRune     tokenKind = iota // itself
	tokAny                       // ?
	tokClass                     // [...]
	tokStar                      // *
	tokAnything                  // **
	tokDirs                      // **/ at the start of a name; two tokens, this one at an edge,
	tokInDirs                    // and this one inside a name
)

type token struct {
	kind  tokenKind
	r     rune
	class *class
}

type class struct {
	negated bool
	ranges  [][2]rune
}

func (c *class) has(r rune, fold bool) bool {
	in := false
	for _, lr := range c.ranges {
		in = in || (r >= lr[0] && r <= lr[1])
	}
	for f := unicode.SimpleFold(r); fold && !in && f != r; f = unicode.SimpleFold(f) {
		for _, lr := range c.ranges {
			in = in || (f >= lr[0] && f <= lr[1])
		}
	}
	return in != c.negated
}

// pattern is a compiled rest, run as a set of states: the time is at most the product of the two lengths, whatever an
// author writes, and there is nothing to backtrack into.
type pattern struct {
	tokens []token
	must   string // the longest plain run, which every match contains
	fold   bool
}

var (
	errBackwardRange = errors.New("a range in a class runs backwards")
	errNamedClass    = errors.New("named classes such as [:alpha:] are not part of the grammar")
)

func compilePattern(rest string, fold bool) (*pattern, error) {
	p := &pattern{fold: fold}
	plain, longest := 0, "" // where the current run of plain characters began, and the longest so far
	note := func(end int) {
		if end-plain > len(longest) {
			longest = rest[plain:end]
		}
	}
	for i := 0; i < len(rest); {
		kind, width := p.special(rest, i)
		if kind == tokRune {
			r, w := decodeRune(rest[i:])
			if fold {
				r = foldRune(r)
			}
			p.tokens = append(p.tokens, token{kind: tokRune, r: r})
			i += w
			continue
		}
		note(i)
		switch kind {
		case tokClass:
			c, err := parseClass(rest[i+1 : i+width-1])
			if err != nil {
				return nil, err
			}
			p.tokens = append(p.tokens, token{kind: tokClass, class: c})
		case tokDirs:
			p.tokens = append(p.tokens, token{kind: tokDirs}, token{kind: tokInDirs})
		default:
			p.tokens = append(p.tokens, token{kind: kind})
		}
		i += width
		plain = i
	}
	note(len(rest))
	if p.must = longest; fold {
		p.must = foldPath(longest)
	}
	return p, nil
}

// special says what begins at i and how many bytes it takes.
func (p *pattern) special(s string, i int) (tokenKind, int) {
	switch s[i] {
	case '?':
		return tokAny, 1
	case '[':
		if end := classEnd(s, i); end > 0 {
			return tokClass, end + 1 - i
		}
	case '*':
		end := i
		for end < len(s) && s[end] == '*' {
			end++
		}
		switch atStart := i == 0 || s[i-1] == '/'; {
		case end-i == 1:
			return tokStar, 1
		case atStart && end < len(s) && s[end] == '/':
			return tokDirs, end + 1 - i
		}
		return tokAnything, end - i
	}
	return tokRune, 1
}

func parseClass(s string) (*class, error) {
	c := &class{}
	if s[0] == '!' || s[0] == '^' {
		c.negated, s = true, s[1:]
	}
	var runes []rune
	for i := 0; i < len(s); {
		r, w := decodeRune(s[i:])
		if r == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			return nil, errNamedClass
		}
		runes = append(runes, r)
		i += w
	}
	for i := 0; i < len(runes); i++ {
		low, high := runes[i], runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			high = runes[i+2]
			i += 2
		}
		if low > high {
			return nil, errBackwardRange
		}
		c.ranges = append(c.ranges, [2]rune{low, high})
	}
	return c, nil
}

// decodeRune is utf8.DecodeRuneInString, but keeps the bytes of an invalid name apart from each other and from U+FFFD.
func decodeRune(s string) (rune, int) {
	r, w := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && w == 1 {
		return unicode.MaxRune + 1 + rune(s[0]), 1
	}
	return r, w
}

// match runs the pattern over a path without its leading "/" and gives the length of the shortest leading part that
// matches and ends where a name ends, or -1. A directory that matches brings what is in it, so this is the match of the
// whole path too. The path is folded when the pattern is.
func (p *pattern) match(rel string) int {
	if p.must != "" && !strings.Contains(rel, p.must) {
		return -1
	}
	final := len(p.tokens)
	words := final/64 + 1
	var room [2][4]uint64
	now, then := room[0][:], room[1][:]
	if words > len(now) {
		now, then = make([]uint64, words), make([]uint64, words)
	}
	now, then = now[:words], then[:words]
	p.enter(now, 0)
	for i := 0; i < len(rel); {
		r, w := decodeRune(rel[i:])
		if !p.step(now, then, r) {
			return -1
		}
		now, then = then, now
		i += w
		if (i == len(rel) || rel[i] == '/') && now[final/64]&(1<<(final%64)) != 0 {
			return i
		}
	}
	return -1
}

// enter adds a state and those that follow it without reading anything.
func (p *pattern) enter(set []uint64, state int) {
	for {
		set[state/64] |= 1 << (state % 64)
		if state == len(p.tokens) {
			return
		}
		switch p.tokens[state].kind {
		case tokStar, tokAnything:
			state++
		case tokDirs:
			state += 2
		default:
			return
		}
	}
}

// step reads one character: it fills then from now and clears now. It says whether any state is left.
func (p *pattern) step(now, then []uint64, r rune) bool {
	alive := false
	for w, word := range now {
		for ; word != 0; word &= word - 1 {
			state := w*64 + bits.TrailingZeros64(word)
			if state < len(p.tokens) {
				if next := p.next(state, r); next >= 0 {
					p.enter(then, next)
					alive = true
				}
			}
		}
		now[w] = 0
	}
	return alive
}

// next is the state after reading r in a state, or -1.
func (p *pattern) next(state int, r rune) int {
	t := &p.tokens[state]
	ok, to := false, state+1
	switch t.kind {
	case tokRune:
		ok = t.r == r
	case tokAny:
		ok = r != '/'
	case tokClass:
		ok = r != '/' && t.class.has(r, p.fold)
	case tokStar:
		ok, to = r != '/', state
	case tokAnything:
		ok, to = true, state
	case tokDirs:
		ok = r != '/'
	case tokInDirs:
		ok, to = true, state
		if r == '/' {
			to = state - 1
		}
	}
	if !ok {
		return -1
	}
	return to
}

// foldPath gives equal texts for paths that differ in case alone. Bytes that are no UTF-8 stay as they are.
func foldPath(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 {
			b.WriteByte(s[i])
		} else {
			b.WriteRune(foldRune(r))
		}
		i += w
	}
	return b.String()
}

// foldRune picks the least of the runes that are one letter in several cases: k, K and the Kelvin sign are one.
func foldRune(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
