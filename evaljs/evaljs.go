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
// Each evaluation gets a compartment of its own, so nothing is left of one for the next. The program can use the
// language, the powers it was given, and console; there is no clock, no chance, no timer, no module, no network and
// no file unless a power gives it. The value of the last expression is the result; a promise is waited for. await may
// stand at the top level.
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
	"sync"

	"sallyport/compartment"
	"sallyport/hostfuncs"
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
}

// Session runs evaluations. It is safe for concurrent use; each evaluation is independent of the others.
type Session struct {
	engine compartment.Engine
	config compartment.Config

	mu     sync.Mutex
	closed bool
	open   map[compartment.Compartment]bool
}

// New checks the options, by making a compartment with them, and returns a session. What is wrong with a limit, a
// power or the engine is an error here and not at the first use (R22).
func New(o Options) (*Session, error) {
	if o.Engine == nil {
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "engine", Reason: "there is no default engine",
			Hint: "give Options.Engine the engine of a package below compartment"}
	}
	s := &Session{engine: o.Engine, open: map[compartment.Compartment]bool{},
		config: compartment.Config{Powers: withConsole(o.Powers), Limits: o.Limits}}
	c, err := s.engine.Open(context.Background(), s.config)
	if err != nil {
		return nil, err
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

// Evaluate runs the source in a fresh compartment. The end of ctx stops it. See the package comment for what comes
// back.
func (s *Session) Evaluate(ctx context.Context, source string) (compartment.Outcome, error) {
	c, err := s.begin(ctx)
	if err != nil {
		return compartment.Outcome{}, err
	}
	o, err := c.Evaluate(ctx, source)
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
		c.Close()
		return nil, &compartment.Error{Code: compartment.CodeClosed, Reason: "the session was closed"}
	}
	s.open[c] = true
	return c, nil
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
