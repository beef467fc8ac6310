package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"sallyport/artifact"
	"sallyport/compartment"
	"sallyport/evaljs"
	"sallyport/hostfuncs"
)

// Scripts are the options of evaluate_javascript. What a program can reach besides the language is callTool, when there is
// another tool, searchFiles, when there is a search_files, and Powers.
type Scripts struct {
	// Engine runs the programs. Without one there is no evaluate_javascript.
	Engine compartment.Engine
	// Powers are handed in besides. They are not gated by this package: see hostfuncs.Gated.
	Powers []compartment.Power
	// Limits bound each evaluation. Time and CallTime are set by each call.
	Limits compartment.Limits
	// Modules are what a program can import.
	Modules map[string]string
	// Language says how sources are read.
	Language evaljs.Language
}

// callToolPower is the name of the power that calls the other tools.
const callToolPower = "callTool"

// openScripts makes the session that evaluations run in; each has a compartment of its own.
func (r *Registry) openScripts() (*evaljs.Session, error) {
	s := r.options.Scripts
	powers := slices.Clone(s.Powers)
	if len(r.tools) > 1 {
		powers = append(powers, hostfuncs.CallTool(hostfuncs.ToolCaller{Ask: r.askInner, Call: r.callInner}))
	}
	if r.has(SearchFiles) {
		powers = append(powers, hostfuncs.SearchFiles(hostfuncs.Searcher{Ask: r.askSearch, Search: r.searchInner}))
	}
	limits := s.Limits
	limits.Time, limits.CallTime = longestSeconds*time.Second, longestSeconds*time.Second // each call ends its own context
	return evaljs.New(evaljs.Options{Engine: s.Engine, Powers: powers, Limits: limits, Modules: s.Modules, Language: s.Language})
}

// evaluation is one run of evaluate_javascript, for the calls that it makes itself.
type evaluation struct {
	call *call

	mu       sync.Mutex
	approved map[string]*call // by the id of the power's call; each is used once
}

type evaluationKey struct{}

// inlineBytes is the longest outcome that is shown with its handle: what a model reads at a glance.
const inlineBytes = 8 << 10

// runScript is evaluate_javascript. Whatever became of the program is in its outcome (R255-R257).
func runScript(r *Registry, ctx context.Context, c *call) (Result, error) {
	var args struct {
		Source  string  `json:"source"`
		Timeout float64 `json:"timeout_seconds"`
	}
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(args.Timeout*float64(time.Second)))
	defer cancel()
	ev := &evaluation{call: c, approved: map[string]*call{}}
	o, err := r.scripts.Evaluate(context.WithValue(limited, evaluationKey{}, ev), args.Source)
	if err != nil {
		return Result{}, r.scriptFailed(c, err)
	}
	o.Used.Wall.Limit = int64(args.Timeout * 1000)
	var notes []string
	if o.Kind == compartment.KindCancelled && ctx.Err() == nil {
		o.Kind = compartment.KindTime // the time was this call's own
	}
	if o.Kind == compartment.KindTime {
		notes = append(notes, r.note(c, Facts{Outcome: TimedOut, Limit: int64(args.Timeout)}))
	}
	return r.outcome(c, o, notes)
}

// scriptFailed is the error of a boundary that could not do its work. Its code says that it was the code boundary (R2).
func (r *Registry) scriptFailed(c *call, err error) error {
	e := r.fail(c, Facts{Outcome: IOFailure, Input: "the engine"}, err)
	var code *compartment.Error
	if errors.As(err, &code) {
		e.Code = Code(code.Code)
	}
	return e
}

// outcome makes the result of an evaluation: an artifact, and the text itself when it is short.
func (r *Registry) outcome(c *call, o compartment.Outcome, notes []string) (Result, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return Result{}, err
	}
	a, err := c.open(artifact.KindJSON)
	if err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: "the outcome"}, err)
	}
	if _, err = a.Write(append(text, '\n')); err == nil {
		err = a.end(nil)
	}
	if err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: "the outcome"}, errors.Join(err, c.turn.drop(a)))
	}
	res := Result{Artifact: a.handle(), Notes: notes}
	if len(text) <= inlineBytes {
		res.Content, res.fence = string(text)+"\n", newPrefix()
	}
	return res, nil
}

// askInner asks about a call that a program makes (R262). It is a call like one of the model itself, but for its parent.
func (r *Registry) askInner(ctx context.Context, id, name string, args json.RawMessage) error {
	ev, ok := ctx.Value(evaluationKey{}).(*evaluation)
	if !ok {
		return errors.New("callTool outside of an evaluation")
	}
	if name == EvaluateJavaScript {
		return compartment.Refuse("recursion", EvaluateJavaScript+" cannot be called by a program. Run the source where you are.")
	}
	c, err := r.prepare(ev.call.turn, r.newID(), ev.call.id, name, args)
	if err != nil {
		return refusal(err)
	}
	since := time.Now()
	if err := r.askGate(ctx, c); err != nil {
		r.emit(c, CallEnded, since, err)
		return refusal(err)
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	ev.approved[id] = c
	return nil
}

// take gives a call that was approved, once.
func take(ctx context.Context, id string) (*call, error) {
	ev, ok := ctx.Value(evaluationKey{}).(*evaluation)
	if !ok {
		return nil, errors.New("callTool outside of an evaluation")
	}
	ev.mu.Lock()
	defer ev.mu.Unlock()
	c := ev.approved[id]
	delete(ev.approved, id)
	if c == nil {
		return nil, errors.New("a call that no gate approved")
	}
	return c, nil
}

// callInner makes a call that askInner let through.
func (r *Registry) callInner(ctx context.Context, id, _ string, _ json.RawMessage) (compartment.Value, error) {
	c, err := take(ctx, id)
	if err != nil {
		return compartment.Value{}, err
	}
	res, err := r.finish(ctx, c, func(context.Context, *call) error { return nil })
	if err != nil {
		return compartment.Value{}, refusal(err)
	}
	return res.value()
}

// refusal makes an error of a call what a program can catch: a word, and the narration.
func refusal(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err // the end of the evaluation
	}
	code := "invalid_arguments"
	if e.Outcome != "" {
		code = strings.ReplaceAll(string(e.Outcome), "-", "_")
	}
	return &compartment.Refusal{Code: code, Text: e.Text, Err: err}
}

// crossing is how much of a result's text may cross to a program, below what may cross in one call.
const crossing = 900_000

// value is a result as a program gets it.
func (res Result) value() (compartment.Value, error) {
	text := res.Text + res.Content
	if len(text) > crossing {
		return compartment.Value{}, compartment.Refuse("too_large", "the answer has more than may cross to a program. Ask for less at a time.")
	}
	notes := make([]compartment.Value, len(res.Notes))
	for i, n := range res.Notes {
		notes[i] = compartment.OfString(n)
	}
	fields := []compartment.Field{
		{Name: "id", Value: compartment.OfString(res.ID)}, {Name: "text", Value: compartment.OfString(text)},
		{Name: "notes", Value: compartment.OfArray(notes...)}, {Name: "artifact", Value: compartment.OfNull()},
	}
	if a := res.Artifact; a != nil {
		fields[3].Value = compartment.OfObject(compartment.Field{Name: "id", Value: compartment.OfString(a.ID)},
			compartment.Field{Name: "format", Value: compartment.OfString(a.Format)},
			compartment.Field{Name: "bytes", Value: compartment.OfInt(a.Bytes)}, compartment.Field{Name: "lines", Value: compartment.OfInt(a.Lines)})
	}
	return compartment.OfObject(fields...), nil
}

// askSearch asks about a search of a program, under the name of the tool that it is.
func (r *Registry) askSearch(ctx context.Context, id string, args json.RawMessage) error {
	return r.askInner(ctx, id, SearchFiles, args)
}

// searchInner makes a search that askSearch let through.
func (r *Registry) searchInner(ctx context.Context, id string, s hostfuncs.Search) ([]hostfuncs.Match, bool, error) {
	c, err := take(ctx, id)
	if err != nil {
		return nil, false, err
	}
	since := time.Now()
	found, more, err := r.matches(ctx, c, s)
	r.emit(c, CallEnded, since, err)
	return found, more, err
}
