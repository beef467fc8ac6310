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
func parseMarkdown(ctx context.Context, source []byte) (root ast.Node, err error) {
	dog := &watchdog{ctx: ctx, end: time.Now().Add(MaxMarkdownTime)}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			err = &Error{Kind: ErrTooCostly, Detail: "the parser gave up", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	md := goldmark.New(goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(inlineDog{dog}, 0))))
	return md.Parser().Parse(watchedReader{text.NewReader(source), dog}), nil
}

// watchdog ends a parsing that takes too long. The library cannot be told to stop, but it asks for the line at every level of
// nesting, and asks every parser of marks at every mark within a line; so what it asks looks at the clock, and ends the
// parsing by a panic.
type watchdog struct {
	ctx   context.Context
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
		panic(stopped{&Error{Kind: ErrTooCostly, Detail: fmt.Sprintf("parsing it takes more than %s; read it as text", MaxMarkdownTime)}})
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

// inlineDog is a parser that takes nothing. It is asked first at the marks within a line.
type inlineDog struct{ dog *watchdog }

func (d inlineDog) Trigger() []byte { return []byte("!&*<[\\]_`") }

func (d inlineDog) Parse(ast.Node, text.Reader, parser.Context) ast.Node {
	d.dog.look()
	return nil
}
