package artifact

import (
	"context"
	"fmt"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxMarkdownTime is how long parsing may take. A megabyte of ordinary Markdown takes a tenth of a second; 64 KiB of
// nested list marks would take minutes.
const MaxMarkdownTime = 5 * time.Second

// parseMarkdown parses CommonMark. There is no extension for tables: they multiply, 16 KiB of marks become 16 million
// cells.
func parseMarkdown(ctx context.Context, source []byte, most time.Duration) (root ast.Node, err error) {
	dog := &watchdog{ctx: ctx, most: most, end: time.Now().Add(most)}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			err = &Error{Kind: ErrTooCostly, Detail: "the parser gave up", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	md := goldmark.New(goldmark.WithParserOptions(parser.WithInlineParsers(
		util.Prioritized(inlineDog{dog}, 0),
		util.Prioritized(emphasisDog{dog}, 1),
	), parser.WithParagraphTransformers(util.Prioritized(linesDog{dog}, 0))))
	return md.Parser().Parse(watchedReader{text.NewReader(source), dog}), nil
}

// watchdog ends a parsing that takes too long. The library cannot be told to stop, but it asks for the line at every level of
// nesting, and asks every parser of marks at every mark within a line; so what it asks looks at the clock, and ends the
// parsing by a panic.
type watchdog struct {
	ctx   context.Context
	most  time.Duration
	end   time.Time
	asked int
}

// stopped is what it panics with.
type stopped struct{ err error }

func (d *watchdog) look() {
	if d.asked++; d.asked%64 != 0 {
		return
	}
	if d.ctx.Err() != nil {
		panic(stopped{context.Cause(d.ctx)})
	}
	if time.Now().After(d.end) {
		panic(stopped{&Error{Kind: ErrTooCostly, Detail: fmt.Sprintf("parsing it takes more than %s; read it as text", d.most)}})
	}
}

// watchedReader is asked for the line, by the parsers of blocks, at every level of nesting.
type watchedReader struct {
	text.Reader
	dog *watchdog
}

func (r watchedReader) PeekLine() ([]byte, text.Segment) {
	r.dog.look()
	return r.Reader.PeekLine()
}

// inlineDog is a parser that is asked first at the marks within a line, and takes none.
type inlineDog struct{ dog *watchdog }

func (d inlineDog) Trigger() []byte { return []byte("!&<[\\]`") }

func (d inlineDog) Parse(ast.Node, text.Reader, parser.Context) ast.Node {
	d.dog.look()
	return nil
}

// emphasisDog reads * and _ in place of the library's own, by its rules. Each mark may be compared with all before it, and
// this is the only place that is asked meanwhile: a megabyte of "*a_b" takes minutes.
type emphasisDog struct{ dog *watchdog }

func (d emphasisDog) Trigger() []byte { return []byte("*_") }

func (d emphasisDog) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	d.dog.look()
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	mark := parser.ScanDelimiter(line, before, 1, d)
	if mark == nil {
		return nil
	}
	mark.Segment = segment.WithStop(segment.Start + mark.OriginalLength)
	block.Advance(mark.OriginalLength)
	pc.PushDelimiter(mark)
	return mark
}

func (d emphasisDog) IsDelimiter(b byte) bool { return b == '*' || b == '_' }

func (d emphasisDog) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	d.dog.look()
	return opener.Char == closer.Char
}

func (d emphasisDog) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

// maxDefinitions bounds the definitions of links that follow each other without an empty line. The library cuts each from
// the front of the rest, in one call: ten thousand take a tenth of a second, a hundred thousand ten seconds.
const maxDefinitions = 10_000

// linesDog is asked first about each paragraph, and changes none.
type linesDog struct{ dog *watchdog }

func (d linesDog) Transform(p *ast.Paragraph, r text.Reader, _ parser.Context) {
	d.dog.look()
	definitions := 0
	for _, line := range p.Lines().Sliced(0, p.Lines().Len()) {
		if line.Start < len(r.Source()) && r.Source()[line.Start] == '[' {
			definitions++
		}
	}
	if definitions > maxDefinitions {
		panic(stopped{&Error{Kind: ErrTooCostly, Detail: fmt.Sprintf("more than %d definitions of links follow each other; read it as text", maxDefinitions)}})
	}
}
