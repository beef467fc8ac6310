package evaljs

import (
	"context"
	"strings"

	"sallyport/compartment"
)

// program is a source as it is handed to the engine.
type program struct {
	text     string
	declared []declaration
	back     mapping             // nil: text is the author's
	end      *compartment.Ending // set: it is no program
}

// evaluateIn reads the source and runs it in a compartment.
func (s *Session) evaluateIn(ctx context.Context, c compartment.Compartment, source string, language Language) (compartment.Outcome, program, error) {
	if len(source) > s.host.Limits().SourceBytes { // the engine refuses it; there is no need to read it
		o, err := c.Evaluate(ctx, source)
		return o, program{text: source}, err
	}
	if language == TypeScript {
		return s.runErased(ctx, c, source, nil)
	}
	p := s.prepare(source)
	o, err := s.run(ctx, c, p, source)
	if err != nil || o.Kind != compartment.KindParse || language == JavaScript || p.end != nil {
		return o, p, err
	}
	return s.runErased(ctx, c, source, &o)
}

// run runs a program. What the outcome says of the source is about the author's.
func (s *Session) run(ctx context.Context, c compartment.Compartment, p program, author string) (compartment.Outcome, error) {
	if p.end != nil {
		end := *p.end
		if p.back != nil {
			end.Where = mapWhere(end.Where, author, p.back)
		}
		return s.ended(ctx, author, end), nil
	}
	o, err := c.Evaluate(ctx, p.text)
	if err == nil && p.back != nil {
		o.Where = mapWhere(o.Where, author, p.back)
		o.Used.SourceBytes.Used = int64(len(author))
	}
	return o, err
}

// ended is the outcome of a source that reaches no engine.
func (s *Session) ended(ctx context.Context, source string, end compartment.Ending) compartment.Outcome {
	end.Session = compartment.SessionKept
	return s.host.Begin(ctx, source, func() {}).Finish(end)
}

// prepare makes a program of JavaScript.
func (s *Session) prepare(source string) program {
	if !s.persist && !strings.Contains(source, "import") && !strings.Contains(source, "export") {
		return program{text: source}
	}
	t := readTop(source, s.persist)
	edits := t.imports
	if s.persist && !t.mistaken {
		// An engine may let these pass, and the name would be bound for good; and var would hide them.
		if d, again := t.twice(); again {
			return program{text: source, end: misdeclared(source, d, "is declared twice in this source")}
		}
		if d, taken := s.taken(t.declared); taken {
			return program{text: source, end: misdeclared(source, d, "cannot be declared: it is there already, and fixed")}
		}
		edits = append(edits, t.relax...)
	}
	if len(edits) == 0 {
		return program{text: source, declared: t.declared}
	}
	r := rewrite(source, edits)
	return program{text: r.text, declared: t.declared, back: r.place}
}

// misdeclared is the end of a source that declares a name it may not.
func misdeclared(source string, d declaration, why string) *compartment.Ending {
	line, column := placeOf(source, d.at)
	return &compartment.Ending{
		Kind:      compartment.KindParse,
		Exception: &compartment.Exception{Name: "SyntaxError", Message: compartment.Shown(d.name, 80) + " " + why},
		Where:     compartment.At(source, line, column, nil),
	}
}

// taken finds a name that is that of a power, or of a constant of the language.
func (s *Session) taken(declared []declaration) (declaration, bool) {
	for _, d := range declared {
		if in("undefined NaN Infinity", d.name) && d.lexical { // var would do nothing
			return d, true
		}
		for _, p := range s.config.Powers {
			if holder, _, _ := strings.Cut(p.Name, "."); holder == d.name {
				return d, true
			}
		}
	}
	return declaration{}, false
}

// Completeness finds out, line by line, where a source is complete: where no bracket, template or comment is open. The zero value has no lines.
type Completeness struct{ l lexer }

// Add adds the next line, with its end, and tells whether the source is complete with it.
func (c *Completeness) Add(line string) bool {
	c.l.add(line)
	return !c.l.partial()
}
