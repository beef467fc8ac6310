package artifact

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern bounds a pattern, in bytes: the time to match grows with the product of pattern and text.
const maxPattern = 4096

// longLine is the length from which on a line is matched as it is read, in bytes, so that it need not fit in memory.
const longLine = 1 << 20

// Match is a line that a pattern matches.
type Match struct {
	// Number is the number of the line, counted from 1.
	Number int64
	// Line is the line, without its end.
	Line Text
}

// Grep calls each for every line that the pattern matches, in order, until each returns an error, which it passes on.
// The pattern is RE2; time is linear in the text, and there is no look-around and no back-reference. Every line is
// matched by itself, without its "\n" or "\r\n".
//
// Flags: i ignores case. m, s and u change nothing and are accepted because models write them: a line holds no newline for ^, $
// and . to treat in another way, and patterns are always in Unicode. Other flags, and one given twice, are ErrArgument.
//
// It can be cancelled, and holds one megabyte at most however long the lines are.
func (a *Artifact) Grep(ctx context.Context, pattern, flags string, each func(Match) error) error {
	re, literal, err := compile(pattern, flags)
	if err != nil {
		return err
	}
	v, err := a.s.view()
	if err != nil {
		return a.named(err)
	}
	g := &grep{ctx: ctx, v: v, re: re, literal: []byte(literal), each: each}
	return a.named(g.run())
}

// compile checks pattern and flags, and finds a literal that every match has in it.
func compile(pattern, flags string) (*regexp.Regexp, string, error) {
	what := fmt.Sprintf("pattern %.200q", pattern)
	if len(pattern) > maxPattern {
		return nil, "", argument(what, fmt.Sprintf("is longer than %d bytes", maxPattern))
	}
	for i, f := range flags {
		if !strings.ContainsRune("imsu", f) || strings.ContainsRune(flags[:i], f) {
			return nil, "", argument(fmt.Sprintf("flags %.40q", flags), "use i, m, s and u, each once")
		}
	}
	mode := syntax.Perl
	prefix := ""
	if strings.Contains(flags, "i") {
		mode, prefix = mode|syntax.FoldCase, "i"
	}
	tree, err := syntax.Parse(pattern, mode)
	if err != nil {
		return nil, "", refusedPattern(what, err)
	}
	re, err := regexp.Compile("(?" + prefix + ":" + pattern + ")")
	if err != nil {
		return nil, "", refusedPattern(what, err)
	}
	return re, required(tree), nil
}

// refusedPattern says what is wrong, and names what models miss most.
func refusedPattern(what string, err error) error {
	detail := err.Error()
	if e, ok := err.(*syntax.Error); ok {
		detail = fmt.Sprintf("%s: %.80q", e.Code, e.Expr)
	}
	return &Error{Kind: ErrArgument, What: what, Detail: detail + "; patterns are RE2, without look-around and back-references", Err: err}
}

// required finds a literal that is in every text the expression matches; empty when none is known.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		s := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 || strings.ContainsRune(s, '\uFFFD') { // that one matches any invalid byte
			return ""
		}
		return s
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := required(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// grep is one search under way.
type grep struct {
	ctx     context.Context
	v       view
	re      *regexp.Regexp
	literal []byte
	each    func(Match) error

	at     int64 // where what is in the buffer begins
	row    int64 // lines before that
	unseen int   // bytes that were matched since the context was looked at
}

// run reads whole lines, as many as fit, and matches them.
func (g *grep) run() error {
	buf := make([]byte, 256<<10)
	for g.at < g.v.all {
		if err := g.ctx.Err(); err != nil {
			return context.Cause(g.ctx)
		}
		n, err := g.v.ReadAt(buf[:min(int64(len(buf)), g.v.all-g.at)], g.at)
		if err != nil && err != io.EOF {
			return err
		}
		whole := bytes.LastIndexByte(buf[:n], '\n') + 1
		switch {
		case g.at+int64(n) == g.v.all:
			whole = n
		case whole == 0 && len(buf) < longLine:
			buf = make([]byte, 2*len(buf))
			continue
		case whole == 0:
			if err := g.long(buf); err != nil {
				return err
			}
			continue
		}
		if err := g.lines(buf[:whole]); err != nil {
			return err
		}
	}
	return nil
}

// lines matches the lines in p, and goes to the end of it.
func (g *grep) lines(p []byte) error {
	for len(p) > 0 {
		if len(g.literal) > 0 {
			p = g.skip(p)
		}
		if len(p) == 0 {
			break
		}
		end, next := len(p), len(p)
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			end, next = i, i+1
		}
		line := bytes.TrimSuffix(p[:end], []byte{'\r'})
		if next == end { // the rest of the text; a CR at its end ends no line
			line = p[:end]
		}
		matched, err := g.matches(line)
		if err != nil {
			return err
		}
		if matched {
			if err := g.found(int64(len(line))); err != nil {
				return err
			}
		}
		g.advance(p[:next], 1)
		p = p[next:]
	}
	return nil
}

// costlyBytes is how much text the most costly pattern takes about a second for.
const costlyBytes = 16 << 10

// matches matches one line. A long one is read piece by piece, and between short ones it is looked at now and then whether to go
// on, so that no pattern holds up the end of a turn.
func (g *grep) matches(line []byte) (bool, error) {
	if g.unseen += len(line); g.unseen < costlyBytes {
		return g.re.Match(line), nil
	}
	g.unseen = 0
	if len(line) < costlyBytes {
		if g.ctx.Err() != nil {
			return false, context.Cause(g.ctx)
		}
		return g.re.Match(line), nil
	}
	return g.matchRead(bytes.NewReader(line))
}

// matchRead matches what is read, until the context ends.
func (g *grep) matchRead(from io.Reader) (bool, error) {
	r := &cancelled{ctx: g.ctx, r: from}
	matched := g.re.MatchReader(bufio.NewReaderSize(r, costlyBytes))
	return matched, r.err
}

// skip goes to the line that has the next literal in it.
func (g *grep) skip(p []byte) []byte {
	to := len(p)
	if i := bytes.Index(p, g.literal); i >= 0 {
		to = bytes.LastIndexByte(p[:i], '\n') + 1
	}
	g.advance(p[:to], int64(bytes.Count(p[:to], newline)))
	return p[to:]
}

func (g *grep) advance(p []byte, rows int64) {
	g.at += int64(len(p))
	g.row += rows
}

// found tells of the line that begins here.
func (g *grep) found(length int64) error {
	return g.each(Match{Number: g.row + 1, Line: Text{v: g.v, start: g.at, end: g.at + length}})
}

// long matches one line as it is read. The buffer is used to find its end.
func (g *grep) long(buf []byte) error {
	end, next, err := g.lineEnd(buf)
	if err != nil {
		return err
	}
	matched, err := g.matchRead(io.NewSectionReader(g.v, g.at, end-g.at))
	if err != nil {
		return err
	}
	if matched {
		if err := g.found(end - g.at); err != nil {
			return err
		}
	}
	g.at, g.row = next, g.row+1
	return nil
}

// lineEnd finds where the line that begins here ends, and where the next one begins.
func (g *grep) lineEnd(buf []byte) (end, next int64, err error) {
	last := byte(0)
	for at := g.at; at < g.v.all; {
		if g.ctx.Err() != nil {
			return 0, 0, context.Cause(g.ctx)
		}
		n, err := g.v.ReadAt(buf[:min(int64(len(buf)), g.v.all-at)], at)
		if err != nil && err != io.EOF {
			return 0, 0, err
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			end = at + int64(i)
			if i > 0 {
				last = buf[i-1]
			}
			if last == '\r' {
				return end - 1, end + 1, nil
			}
			return end, end + 1, nil
		}
		at, last = at+int64(n), buf[n-1]
	}
	return g.v.all, g.v.all, nil
}

// cancelled is a reader that ends when its context does, and remembers why it ended: what matches a pattern takes any
// error for the end of the text.
type cancelled struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (c *cancelled) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		c.err = context.Cause(c.ctx)
		return 0, c.err
	}
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}
