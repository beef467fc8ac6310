package tools

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"sallyport/artifact"
	"sallyport/compartment"
	"sallyport/evaljs"
	"sallyport/fs"
	"sallyport/gate"
	"sallyport/internal/nearest"
	"sallyport/shell"
	"sallyport/shell/search"
)

// Tier says what enforces the rules for a tool (R9).
type Tier string

const (
	// Kernel: the tool works in a confined process.
	Kernel Tier = "kernel"
	// Evaluator: the tool works in this process, on descriptors that were judged by the policy.
	Evaluator Tier = "evaluator"
)

// Tool is one tool as a model sees it.
type Tool struct {
	Name, Title, Description string
	// Schema describes the arguments.
	Schema *jsonschema.Schema
	// Tier is what enforces the rules for it.
	Tier Tier
	// Gated tools are put to the gate at each call. The others only look into what a gated call has already given.
	Gated bool
	// ReadOnly tools change nothing that outlives the turn.
	ReadOnly bool
}

// tool is a Tool that can be called.
type tool struct {
	Tool
	args *checker
	run  func(*Registry, context.Context, *call) (Result, error)
}

// call is one call on its way.
type call struct {
	id, parent string
	tool       *tool
	args       arguments
	turn       *turn
}

// decode reads the arguments, defaults included, into a struct. The schema has judged them, so an error is a fault of
// this package.
func (c *call) decode(into any) error {
	if err := json.Unmarshal(c.args.full, into); err != nil {
		return fmt.Errorf("%s: the arguments do not fit although their schema took them: %w", c.tool.Name, err)
	}
	return nil
}

// Call calls a tool with its arguments, one JSON object (R175, R180): first the schema is checked, then the gate is
// asked, and only an approved call looks at a path or touches anything.
//
// An error that is an *Error was narrated for the model: see Render. When ctx ends, the tool is stopped with everything
// that it started, and the error is the context's own cause (R185). Call is safe for concurrent use.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (Result, error) {
	t, err := r.begin()
	if err != nil {
		return Result{}, err
	}
	defer t.running.Done()
	c, err := r.prepare(t, r.newID(), "", name, args)
	if err != nil {
		return Result{}, err
	}
	ctx, stop := t.join(ctx)
	defer stop()
	return r.finish(ctx, c, r.askGate)
}

// askGate asks the gate when the tool has one.
func (r *Registry) askGate(ctx context.Context, c *call) error {
	if !c.tool.Gated {
		return nil
	}
	return r.ask(ctx, c)
}

// prepare finds the tool and checks the arguments. Nothing else has happened by then.
func (r *Registry) prepare(t *turn, id, parent, name string, raw json.RawMessage) (*call, error) {
	tool, err := r.find(t, name)
	if err != nil {
		return nil, err
	}
	args, err := tool.args.check(raw)
	if err != nil {
		return nil, err
	}
	return &call{id: id, parent: parent, tool: tool, args: args, turn: t}, nil
}

// make makes the tools, now that it is known which ones there are.
func (r *Registry) make(wanted []definition) error {
	there := func(name string) bool {
		return name == callToolPower && slices.ContainsFunc(wanted, func(d definition) bool { return d.name != EvaluateJavaScript }) ||
			slices.ContainsFunc(wanted, func(d definition) bool { return d.name == name })
	}
	for _, d := range wanted {
		made := Tool{Name: d.name, Title: d.title, Description: d.describe(there) + r.warning(d), Schema: d.schema(r), Tier: d.tier, Gated: true, ReadOnly: d.readOnly}
		check, err := newChecker(d.name, made.Schema)
		if err != nil {
			return err
		}
		r.tools = append(r.tools, &tool{Tool: made, args: check, run: d.run})
	}
	return nil
}

// warning is what the session says of its boundary, for the tools that rest on it (R89).
func (r *Registry) warning(d definition) string {
	s, ok := r.options.Commands.(*shell.Session)
	if !ok || d.tier != Kernel || s.ContainmentNote() == "" {
		return ""
	}
	return " " + s.ContainmentNote()
}

// openFile opens a file of the workspace as long as the session lives that the tools belong to: media can outlive their turn, and not
// their session (R129, R224).
func (r *Registry) openFile(name string) (*os.File, error) {
	if s, ok := r.options.Commands.(*shell.Session); ok && !s.EpochLive(r.epoch) {
		return nil, &Error{Code: CodeNotInitialized, Text: "The session of the tools has ended. Tell the user.", Err: shell.ErrDisposed}
	}
	return r.workspace.Open(name)
}

// Tools are the tools that there are now: those of the options, and the queries of the turn as long as it has an
// artifact (R271). They change when a call has ended, and when the turn does.
func (r *Registry) Tools() []Tool {
	r.turns.mu.Lock()
	now := r.turns.now
	r.turns.mu.Unlock()
	var all []Tool
	for _, t := range append(slices.Clone(r.tools), now.minted()...) {
		all = append(all, t.Tool)
	}
	return all
}

// find finds a tool by its name: those of the registry first, because the ones of the turn have to be made.
func (r *Registry) find(t *turn, name string) (*tool, error) {
	known := make([]string, 0, 40)
	for _, list := range []func() []*tool{func() []*tool { return r.tools }, t.minted} {
		for _, tool := range list() {
			if tool.Name == name {
				return tool, nil
			}
			known = append(known, tool.Name)
		}
	}
	says := "There is no tool " + quoted(name)
	if meant := nearest.Of(name, known); meant != "" {
		says += " (did you mean " + quoted(meant) + "?)"
	}
	return nil, &Error{Code: CodeInvalidArgs, Tool: compartment.Shown(name, longestInput), Text: says + ". Use one of " + strings.Join(known, ", ") + "; nothing was done."}
}

// finish runs a call that was prepared, from the gate on, and makes what comes of it a result or one narrated error.
func (r *Registry) finish(ctx context.Context, c *call, ask func(context.Context, *call) error) (res Result, err error) {
	since := time.Now()
	defer func() { r.emit(c, CallEnded, since, err) }()
	if err := ask(ctx, c); err != nil {
		return Result{}, err
	}
	res, err = r.contain(ctx, c)
	if ctx.Err() != nil { // whatever came of it: the turn is over (R185)
		return Result{}, context.Cause(ctx)
	}
	if err != nil {
		return Result{}, r.narrated(c, err)
	}
	res.ID, res.Tool, res.Tier, res.Untrusted = c.id, c.tool.Name, c.tool.Tier, true
	return res, nil
}

// contain runs the tool. A panic is a failure of this call and of nothing else.
func (r *Registry) contain(ctx context.Context, c *call) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", c.tool.Name, p)
		}
	}()
	return c.tool.run(r, ctx, c)
}

// unapproved narrates what the gate said. The end of the turn is passed on as it is.
func (r *Registry) unapproved(c *call, err error) error {
	var g *gate.Error
	if !errors.As(err, &g) {
		return err // nil, or the context's own cause
	}
	f := Facts{Outcome: GateUnavailable, Reason: ReasonError}
	switch {
	case g.Reason == gate.ErrRefused:
		f = Facts{Outcome: GateDeclined, Note: g.Note}
	case g.Reason == gate.ErrAborted:
		f = Facts{Outcome: Aborted}
	case isTimeout(g.Err):
		f.Reason = ReasonTimeout
	}
	return r.fail(c, f, err)
}

// isTimeout tells a gate that ran out of its own time from one that broke.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// fail makes the one error of a call: its text is the narration, and what lies behind is its direct cause (R280).
func (r *Registry) fail(c *call, f Facts, cause error) *Error {
	f.Tool = c.tool.Name
	row, ok := rowOf(Outcomes(), f.Outcome, f.Reason)
	if !ok || row.Code == "" {
		row.Code = CodeFailed
	}
	return &Error{Code: row.Code, Outcome: f.Outcome, Reason: f.Reason, Tool: f.Tool, Text: r.options.Narrator.narrate(f), Err: cause}
}

// note makes a line of a result.
func (r *Registry) note(c *call, f Facts) string {
	f.Tool = c.tool.Name
	return r.options.Narrator.narrate(f)
}

// newID names a call: a few characters of this registry's own, and a number. A model writes it back, so it is short.
func (r *Registry) newID() string {
	return r.prefix + "-" + strconv.FormatUint(r.calls.Add(1), 10)
}

// newPrefix is random, so that a gate that serves many registries can tell their calls apart.
func newPrefix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails; the program ends first
	return hex.EncodeToString(b[:])
}

// Registry holds the tools of one agent: one workspace, one gate, one turn at a time. See New.
type Registry struct {
	options Options
	tools   []*tool
	prefix  string
	calls   atomic.Uint64
	turns   turns
	closing sync.Once

	workspace  *workspace
	newOutputs func() (outputs, error) // for the next turn
	store      *artifact.Store         // its own; nil when it was handed one
	searcher   *search.Searcher
	rules      fs.Rules
	shell      string
	epoch      shell.Epoch
	scripts    *evaljs.Session
	// containsLinks says that what searches can follow links without leaving the workspace.
	containsLinks bool
}

// has says whether there is a tool of that name.
func (r *Registry) has(name string) bool {
	return slices.ContainsFunc(r.tools, func(t *tool) bool { return t.Name == name })
}
