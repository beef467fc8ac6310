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

// eraserSlot is held while esbuild runs, by one source of the whole process: it works on the host's stack and heap, and cannot be interrupted. So what it
// can take is taken once, however many sessions there are.
var eraserSlot = make(chan struct{}, 1)

// runErased erases the types of a source and runs what is left. js is the outcome of the source as JavaScript, when it
// was tried: of two complaints the one that is further in the text is told.
func (s *Session) runErased(ctx context.Context, c compartment.Compartment, source string, js *compartment.Outcome) (compartment.Outcome, program, error) {
	as := program{text: source}
	ev := s.host.Begin(ctx, source, func() {})
	e := s.erase(ev, source)
	if e.end == nil {
		_ = ev.Finish(compartment.Ending{}) // it only kept the time
		p := s.prepare(e.code)
		p.back = compose(p.back, e.back)
		o, err := s.run(ctx, c, p, source)
		return o, p, err
	}
	e.end.Session = compartment.SessionKept
	o := ev.Finish(*e.end)
	switch {
	case js == nil || e.end.Kind.Status() == compartment.StatusStopped:
		return o, as, nil
	case e.end.Kind == compartment.KindSourceDepth:
		js.Next = strings.TrimSpace(js.Next + " As TypeScript it was not read: " + o.Value.Exception.Message + ".")
		return *js, as, nil
	case further(o.Where, js.Where):
		return o, as, nil
	}
	return *js, as, nil
}

// compose maps a place with inner, when there is one, and then with outer.
func compose(inner, outer mapping) mapping {
	if inner == nil {
		return outer
	}
	return func(line, column int) (int, int, bool) {
		if line, column, ok := inner(line, column); ok {
			return outer(line, column)
		}
		return 0, 0, false
	}
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

// erase makes JavaScript of TypeScript, or says why not, before the evaluation has to end.
func (s *Session) erase(ev *compartment.Evaluation, source string) erased {
	l := lex(source)
	if why := tooMuch(l); why != "" {
		return erased{end: &compartment.Ending{Kind: compartment.KindSourceDepth, Exception: &compartment.Exception{Name: "SyntaxError", Message: why}}}
	}
	late := func() erased {
		kind, _ := ev.Stopped()
		return erased{end: &compartment.Ending{Kind: kind}}
	}
	select {
	case eraserSlot <- struct{}{}:
	case <-ev.Done():
		return late()
	}
	done := make(chan erased, 1)
	go func() {
		defer func() { <-eraserSlot }()
		done <- s.eraseTypes(l)
	}()
	select {
	case e := <-done:
		if n, most := len(e.code), s.host.Limits().SourceBytes; n > most {
			return erased{end: &compartment.Ending{Kind: compartment.KindSourceSize, Exception: &compartment.Exception{Name: "SyntaxError",
				Message: fmt.Sprintf("without its types the source is %d bytes, at most %d are taken", n, most)}}}
		}
		return e
	case <-ev.Done():
		return late()
	}
}

// eraseTypes erases the types of a source, with its last value kept when that can be done.
func (s *Session) eraseTypes(l *lexer) erased {
	keepImports := s.persist && s.host.HasModules()
	edits := append(l.strangeMaps(), l.exports()...)
	kept, ok := l.keepLast()
	if ok {
		r := rewrite(l.src, append(kept, edits...))
		if e := transform(l.src, r.text, keepImports); e.end == nil {
			e.back = compose(e.back, r.place)
			return s.replaced(l, e)
		}
	}
	r := rewrite(l.src, edits) // every edit keeps its length
	return s.replaced(l, transform(l.src, r.text, keepImports))
}

// replaced lets an enum or a namespace of a session replace an earlier one of that name, to which it would be added.
func (s *Session) replaced(l *lexer, e erased) erased {
	if !s.persist || e.end != nil {
		return e
	}
	reset := ""
	for i := range l.tokens {
		if l.tokens[i].depth == 0 && (l.is(i, "enum") || l.is(i, "namespace")) && l.kindOf(i+1) == kindWord && !l.member(i) && (l.is(i+2, "{") || l.is(i+2, ".")) {
			reset += "var " + l.text(i+1) + "=void 0;"
		}
	}
	if reset == "" {
		return e
	}
	r := rewrite(e.code, []edit{{0, 0, reset}})
	return erased{code: r.text, back: compose(r.place, e.back)}
}

// transform runs esbuild on a text that was made of a source without moving its lines. Nothing of its errors but the first one's text and place is used. An
// import whose names the source does not use is of types, as a rule, and is erased; keepImports keeps it, for a later source.
func transform(source, text string, keepImports bool) (e erased) {
	defer func() {
		if p := recover(); p != nil {
			e = erased{end: &compartment.Ending{Kind: compartment.KindParse, Err: fmt.Errorf("esbuild: %v", p),
				Exception: &compartment.Exception{Name: "SyntaxError", Message: "the types could not be erased"}}}
		}
	}()
	r := api.Transform(text, api.TransformOptions{
		Loader: api.LoaderTS, Target: api.ESNext, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: "program",
		Supported:   map[string]bool{"decorators": false}, // no engine has them
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

// strangeMaps are the edits that keep esbuild from following a source map that a comment holds: places would no longer be those of the source. They
// keep its length.
func (l *lexer) strangeMaps() []edit {
	const mark = "sourceMappingURL"
	var edits []edit
	for _, c := range l.comments {
		text := l.src[c[0]:c[1]]
		for at := 0; ; at += len(mark) {
			i := strings.Index(text[at:], mark)
			if i < 0 {
				break
			}
			at += i
			edits = append(edits, edit{c[0] + at, c[0] + at + len(mark), "sourceMappingurl"})
		}
	}
	return edits
}

// keepLast are the edits that keep the value of a last statement that is an expression. esbuild drops one that comes to a constant.
func (l *lexer) keepLast() ([]edit, bool) {
	last := l.last()
	for l.is(last, ";") {
		last--
	}
	if l.broken || l.partial() || last < 0 {
		return nil, false
	}
	first, sure := 0, true // where the last statement begins
	for i := 1; i <= last; i++ {
		if l.tokens[i].depth != 0 || l.kindOf(i) == kindClose {
			continue
		}
		if l.is(i-1, ";") {
			first, sure = i, true
		} else if l.statementEnds(i) {
			first, sure = i, false
		}
	}
	if last-first > longConstant || l.kindOf(first) == kindWord && in(statementWords, l.text(first)) || l.is(first, "{") || l.is(first, "@") || l.is(first+1, ":") {
		return nil, false
	}
	open := "({0:("
	if !sure {
		open = ";" + open
	}
	return []edit{{l.start(first), l.start(first), open}, {l.end(last), l.end(last), ")})[0]"}}, true
}

// longConstant bounds the tokens of a last statement that is looked after: one that comes to a constant is short.
const longConstant = 500

// statementWords are the words that begin a statement that is no expression, as a rule.
const statementWords = "let const var class function async import export if for while do switch try throw return break continue debugger with " +
	"interface type enum namespace module declare abstract else finally catch"

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
