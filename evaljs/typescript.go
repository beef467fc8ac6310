package evaljs

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"sallyport/compartment"
)

// eraser erases types, one source at a time. esbuild cannot be interrupted: should it not come to an end, nothing else
// is given to it.
type eraser struct {
	busy chan struct{}
}

// runErased erases the types of a source and runs what is left. js is the outcome of the source as JavaScript, when it
// was tried: of two complaints the one that is further in the text is told.
func (s *Session) runErased(ctx context.Context, c compartment.Compartment, source string, js *compartment.Outcome) (compartment.Outcome, program, error) {
	code, back, end := s.erase(ctx, source)
	if end != nil {
		if js != nil && !further(end.Where, js.Where) {
			return *js, program{text: source}, nil
		}
		return s.ended(ctx, source, *end), program{text: source}, nil
	}
	p := s.prepare(code)
	if inner := p.back; inner != nil {
		outer := back
		back = func(line, column int) (int, int, bool) {
			if line, column, ok := inner(line, column); ok {
				return outer(line, column)
			}
			return 0, 0, false
		}
	}
	p.back = back
	o, err := s.run(ctx, c, p, source)
	return o, p, err
}

// further tells whether a is further in the text than b.
func further(a, b *compartment.Where) bool {
	if a == nil || b == nil {
		return a != nil
	}
	return a.Line > b.Line || a.Line == b.Line && a.Column > b.Column
}

// erased is what came of a source.
type erased struct {
	code string
	back mapping
	end  *compartment.Ending
}

// erase makes JavaScript of TypeScript, or says why not.
func (s *Session) erase(ctx context.Context, source string) (string, mapping, *compartment.Ending) {
	if why := tooMuch(source); why != "" {
		return "", nil, &compartment.Ending{Kind: compartment.KindSourceDepth, Exception: &compartment.Exception{Name: "SyntaxError", Message: why}}
	}
	ctx, cancel := context.WithTimeout(ctx, s.host.Limits().Time)
	defer cancel()
	select {
	case s.eraser.busy <- struct{}{}:
	case <-ctx.Done():
		return "", nil, s.late(ctx)
	}
	done := make(chan erased, 1)
	go func() {
		defer func() { <-s.eraser.busy }()
		done <- transform(source)
	}()
	select {
	case e := <-done:
		return e.code, e.back, e.end
	case <-ctx.Done():
		return "", nil, s.late(ctx)
	}
}

// late is the end of a source whose types took too long to be erased.
func (s *Session) late(ctx context.Context) *compartment.Ending {
	if ctx.Err() == context.DeadlineExceeded {
		return &compartment.Ending{Kind: compartment.KindTime}
	}
	return &compartment.Ending{Kind: compartment.KindCancelled}
}

// transform runs esbuild. Nothing of its errors but the first one's text and place is used.
func transform(source string) (e erased) {
	defer func() {
		if p := recover(); p != nil {
			e = erased{end: &compartment.Ending{Kind: compartment.KindParse, Err: fmt.Errorf("esbuild: %v", p),
				Exception: &compartment.Exception{Name: "SyntaxError", Message: "the types could not be erased"}}}
		}
	}()
	r := api.Transform(source, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ESNext, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: "program",
		TreeShaking: api.TreeShakingFalse, LogLevel: api.LogLevelSilent,
	})
	if len(r.Errors) > 0 {
		return erased{end: complaint(source, r.Errors[0])}
	}
	if strings.TrimSpace(string(r.Code)) == "" { // types alone; the map has no places then
		return erased{back: func(int, int) (int, int, bool) { return 0, 0, false }}
	}
	m, err := sourcemap.Parse("", r.Map)
	if err != nil {
		return erased{end: &compartment.Ending{Kind: compartment.KindEnginePanic, Err: fmt.Errorf("read the source map: %w", err)}}
	}
	return erased{code: string(r.Code), back: func(line, column int) (int, int, bool) {
		_, _, l, c, ok := m.Source(line, column-1)
		return l, c + 1, ok
	}}
}

// complaint is the end of a source that is no TypeScript.
func complaint(source string, m api.Message) *compartment.Ending {
	end := &compartment.Ending{Kind: compartment.KindParse, Exception: &compartment.Exception{Name: "SyntaxError", Message: compartment.Shown(m.Text, 400)}}
	if at := m.Location; at != nil {
		text, _ := compartment.LineOf(source, at.Line)
		column := len(utf16.Encode([]rune(text[:min(at.Column, len(text))]))) + 1
		end.Where = compartment.At(source, at.Line, column, nil)
	}
	return end
}

// What esbuild is trusted with. It recurses on the stack of the host, up to 4 KB for one bracket or operator and 6 KB
// for a word, measured with each construct nested; a stack of Go that reaches a gigabyte ends the process. And some
// constructs are read twice at every level of nesting, so that each level doubles the time. No text can hide from the
// counting, since all of it is counted wherever it stands.
const (
	maxEraserStack = 96 << 20
	maxDoubling    = 10
)

// eraserWords are words that nest by themselves.
var eraserWords = strings.Fields("typeof void await new delete keyof else if for while do with case yield infer unique readonly extends asserts async function class throw return import")

// tooMuch says what about a source the eraser is not trusted with; empty when nothing is.
func tooMuch(source string) string {
	stack := 0
	for i := range len(source) {
		switch c := source[i]; {
		case strings.IndexByte("[({`!=:?>-+~<@", c) >= 0:
			stack += 4096
		case strings.IndexByte("*/%&|^.,", c) >= 0:
			stack += 3500
		}
	}
	doubling := 0
	for _, w := range eraserWords {
		stack += 6144 * strings.Count(source, w)
	}
	doubling = min(countConditional(source), strings.Count(source, "=>"))
	doubling = max(doubling, min(strings.Count(source, "infer"), strings.Count(source, "extends")))
	switch {
	case stack > maxEraserStack:
		return "the source has so many brackets and operators that its types could not be erased if they were nested"
	case doubling > maxDoubling:
		return fmt.Sprintf("more than %d conditions with a bracket or an inferred type: what reads types could take for ever", maxDoubling)
	}
	return ""
}

// countConditional counts the question marks that a round bracket follows, or may follow behind a comment.
func countConditional(source string) int {
	n := 0
	for rest := source; ; {
		i := strings.IndexByte(rest, '?')
		if i < 0 {
			return n
		}
		rest = rest[i+1:]
		if next := strings.TrimLeft(rest, " \t\r\n"); next != "" && (next[0] == '(' || next[0] == '/') {
			n++
		}
	}
}
