// Package evaljs runs one piece of JavaScript that is not trusted and reports how it ended: the tool
// evaluate_javascript.
//
//	session, err := evaljs.New(evaljs.Options{
//		Engine: goja.NewWithoutMemoryLimit(),
//		Powers: []compartment.Power{hostfuncs.ReadFile(dir)},
//	})
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	outcome, err := session.Evaluate(ctx, `JSON.parse(await readFile("package.json")).name`)
//
// Each evaluation gets a compartment of its own, so nothing is left of one for the next, unless Options.Persist is set.
// The program can use the language, the powers it was given, and console; there is no clock, no chance, no timer, no
// module, no network and no file unless a power or Options.Modules gives it. The value of the last expression is the
// result; a promise is waited for. await may stand at the top level.
//
// # Sessions that last
//
// With Options.Persist the evaluations of a session share one compartment: what a program declares at its top level is
// there for the next one, as in the console of a browser. There, let, const and class at the top level are read as var.
// So a name can be declared again and takes the new value; an initialiser that throws leaves the name free to be
// declared again; a const can be assigned to; and a var, or a function in a block, may have the name of one of them. Inside of
// functions nothing is different. A name of a power cannot be declared. An evaluation that is stopped takes the session with it: an engine that can go back (wasm) goes back to
// before it; with another one the next evaluation starts clean. Outcome.Session says which, and what is gone.
//
// # TypeScript and modules
//
// With Options.Language Auto, a source that is no JavaScript and is TypeScript has its types erased (by esbuild, in this
// process) and is run; they are not checked. Places in outcomes are those of the author's text; what a program reads in the stack of an error is
// about the text that ran. esbuild works on the stack and the heap of the host, outside of every limit of the guest, and
// cannot be interrupted: so sources that could use it up are refused before (refused/source_depth), and it reads
// one at a time in a process. The bounds were found by trying; so the zero value, JavaScript, takes no TypeScript. What is different in TypeScript: a
// constant that is the last value inside of an if or a loop is undefined; top-level this is undefined where something is
// awaited; an import whose names are not used is erased, but in a session that lasts and has modules.
//
// An import statement, like import(), finds the modules of Options.Modules and no others. It is read as a call of
// import() where it stands, not before everything else, and its names are copies. The word export before a declaration is
// passed over.
//
// # Outcomes and errors
//
// All that the program does, and every limit it meets, is in the compartment.Outcome: look at Status. An error is a
// *compartment.Error and means that the boundary could not do its work.
//
// # One boundary of two
//
// This is the code boundary: it decides what the code can reach. It does not confine the process it runs in; package
// shell does that for child processes. Neither stands in for the other (R7).
package evaljs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"sallyport/compartment"
	"sallyport/hostfuncs"
)

// Language says how a source is read.
type Language uint8

const (
	// JavaScript reads nothing else. No source reaches a parser in the host.
	JavaScript Language = iota
	// Auto reads JavaScript, and what is no JavaScript as TypeScript. What is both, such as f<string>(x), is JavaScript.
	Auto
	// TypeScript erases types from every source.
	TypeScript
)

// Options say what an evaluation may use. There is no default engine: each promises something else, and the choice is
// the caller's.
type Options struct {
	// Engine runs the code. It must be set.
	Engine compartment.Engine
	// Powers are the functions the program gets besides console. A power called "console.…" takes the place of ours.
	Powers []compartment.Power
	// Limits bound each evaluation; zero fields take their defaults. The time limit is 30 s unless set (R255).
	Limits compartment.Limits
	// Modules are the sources a program can import, by their specifiers (R260); nothing else can be imported. An engine
	// without modules refuses any.
	Modules map[string]string
	// Persist keeps one compartment for all evaluations of the session. Off, each has its own.
	Persist bool
	// Language says how sources are read. The zero value takes JavaScript alone: see the package comment for what
	// TypeScript costs.
	Language Language
}

// Session runs evaluations. It is safe for concurrent use. Without Options.Persist each evaluation is independent of
// the others; with it they follow each other.
type Session struct {
	engine   compartment.Engine
	config   compartment.Config
	host     *compartment.Host // of the outcomes of sources that reach no engine
	language Language
	persist  bool

	turn  chan struct{}           // held by an evaluation of a session that lasts
	last  compartment.Compartment // what such a session keeps
	names map[string]bool         // that it has declared

	mu     sync.Mutex
	closed bool
	open   map[compartment.Compartment]bool
}

// New checks the options, by making a compartment with them, and returns a session. What is wrong with a limit, a
// power, a module's specifier or the engine is an error here and not at the first use (R22).
func New(o Options) (*Session, error) {
	if o.Engine == nil {
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "engine", Reason: "there is no default engine",
			Hint: "give Options.Engine the engine of a package below compartment"}
	}
	if o.Language > TypeScript {
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "language", Value: fmt.Sprint(o.Language), Bound: "JavaScript, Auto or TypeScript"}
	}
	s := &Session{engine: o.Engine, turn: make(chan struct{}, 1), language: o.Language, persist: o.Persist, open: map[compartment.Compartment]bool{}, names: map[string]bool{},
		config: compartment.Config{Powers: withConsole(o.Powers), Limits: o.Limits, Modules: maps.Clone(o.Modules)}}
	c, err := s.engine.Open(context.Background(), s.config)
	if err != nil {
		return nil, err
	}
	if s.host, err = compartment.NewHost(s.config); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, c.Close()
}

// withConsole adds the console, unless the caller brought one.
func withConsole(powers []compartment.Power) []compartment.Power {
	all := append([]compartment.Power(nil), powers...)
	have := map[string]bool{}
	for _, p := range powers {
		have[p.Name] = true
	}
	for _, p := range hostfuncs.Console() {
		if !have[p.Name] {
			all = append(all, p)
		}
	}
	return all
}

// Evaluate runs the source, in the language of the session. The end of ctx stops it. See the package comment for what comes back.
func (s *Session) Evaluate(ctx context.Context, source string) (compartment.Outcome, error) {
	return s.EvaluateAs(ctx, s.language, source)
}

// EvaluateAs is Evaluate with the language of this source.
func (s *Session) EvaluateAs(ctx context.Context, language Language, source string) (compartment.Outcome, error) {
	if s.persist {
		return s.evaluateLasting(ctx, source, language)
	}
	c, err := s.begin(ctx)
	if err != nil {
		return compartment.Outcome{}, err
	}
	o, _, err := s.evaluateIn(ctx, c, source, language)
	s.end(c)
	if closeErr := c.Close(); err == nil {
		err = closeErr
	}
	o.Session = compartment.Session{State: compartment.SessionNone}
	return o, err
}

// begin opens a compartment and remembers it, so that Close can end it.
func (s *Session) begin(ctx context.Context) (compartment.Compartment, error) {
	c, err := s.engine.Open(ctx, s.config)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(errClosed, c.Close())
	}
	s.open[c] = true
	return c, nil
}

var errClosed = &compartment.Error{Code: compartment.CodeClosed, Reason: "the session was closed"}

// alive tells whether the session was closed.
func (s *Session) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	return nil
}

func (s *Session) end(c compartment.Compartment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// Powers are the powers a program of this session has, console included, in their order: for hostfuncs.Describe.
func (s *Session) Powers() []compartment.Power {
	return append([]compartment.Power(nil), s.config.Powers...)
}

// Promises says what the engine holds programs to.
func (s *Session) Promises() compartment.Promises { return s.engine.Promises() }

// Close stops the evaluations that run (their outcome is stopped/closed) and refuses new ones. It is safe to call
// twice.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	open := make([]compartment.Compartment, 0, len(s.open))
	for c := range s.open {
		open = append(open, c)
	}
	s.mu.Unlock()
	var first error
	for _, c := range open {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
