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
		done <- transform(source, s.persist && s.host.HasModules())
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

// transform runs esbuild. Nothing of its errors but the first one's text and place is used. An import whose names the source does not use is of types, as a
// rule, and is erased; keepImports keeps it, for a later source.
func transform(source string, keepImports bool) (e erased) {
	defer func() {
		if p := recover(); p != nil {
			e = erased{end: &compartment.Ending{Kind: compartment.KindParse, Err: fmt.Errorf("esbuild: %v", p),
				Exception: &compartment.Exception{Name: "SyntaxError", Message: "the types could not be erased"}}}
		}
	}()
	r := api.Transform(proofed(source), api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ESNext, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: "program",
		TreeShaking: api.TreeShakingFalse, LogLevel: api.LogLevelSilent,
		TsconfigRaw: fmt.Sprintf(`{"compilerOptions":{"verbatimModuleSyntax":%t}}`, keepImports),
	})
	if len(r.Errors) > 0 {
		return erased{end: complaint(source, r.Errors[0])}
	}
	e.code, e.back = string(r.Code), func(int, int) (int, int, bool) { return 0, 0, false }
	if m, err := sourcemap.Parse("", r.Map); err == nil { // a map without any place is an error: there is nothing but types, or a text
		e.back = func(line, column int) (int, int, bool) {
			_, _, l, c, ok := m.Source(line, column-1)
			return l, c + 1, ok
		}
	}
	return e
}

// proofed is the source with what esbuild would do too much of. It would follow a source map that a comment holds, so that places are no longer
// those of the source; and it drops a last statement that is a constant, which is a result here. Both are changed behind all that can have a place,
// or keep their length.
func proofed(source string) string {
	l := lex(source)
	var edits []edit
	for _, c := range l.comments {
		const mark = "sourceMappingURL"
		if i := strings.Index(source[c[0]:c[1]], mark); i >= 0 {
			edits = append(edits, edit{c[0] + i, c[1], strings.ReplaceAll(source[c[0]+i:c[1]], mark, "sourceMappingurl")})
		}
	}
	if from, to, ok := l.lastConstant(); ok {
		edits = append(edits, edit{from, from, "["}, edit{to, to, "][0]"})
	}
	if len(edits) == 0 {
		return source
	}
	return rewrite(source, edits).text
}

// lastConstant finds a last statement that is a constant with signs before it.
func (l *lexer) lastConstant() (from, to int, ok bool) {
	i := l.last()
	for l.is(i, ";") {
		i--
	}
	if i < 0 || l.tokens[i].depth != 0 || l.kindOf(i) != kindNumber && !in("undefined null true false NaN Infinity", l.text(i)) {
		return 0, 0, false
	}
	end := l.end(i)
	for i > 0 && in("- + ! ~ void", l.text(i-1)) {
		i--
	}
	// A sign after a line end may go on with the statement before.
	if i > 0 && !l.is(i-1, ";") && (!l.tokens[i].newLine || !l.ends(i-1) || in("- +", l.text(i))) {
		return 0, 0, false
	}
	return l.start(i), end, true
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
