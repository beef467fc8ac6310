package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sallyport/compartment"
	"sallyport/compartment/wasm/guest"
	"sallyport/gate"
	"sallyport/internal/terminal"
	"sallyport/shell"
	"sallyport/tools"
)

// toolFlags are the arguments of tool.
type toolFlags struct {
	policyFlags
	workspace, gate, engine, writeRoot string
	commands                           []string
	session, list, json                bool
}

func (f *toolFlags) register(set *pflag.FlagSet) {
	f.policyFlags.register(set)
	set.StringVar(&f.workspace, "workspace", "", "")
	set.StringVar(&f.gate, "gate", "", "")
	set.StringVar(&f.engine, "engine", engineNames[0], "")
	set.StringVar(&f.writeRoot, "write-root", ".", "")
	set.StringArrayVar(&f.commands, "only-command", nil, "")
	set.BoolVar(&f.session, "session", false, "")
	set.BoolVar(&f.list, "list", false, "")
	set.BoolVar(&f.json, "json", false, "")
}

// statusNoResult is the exit status of tool when a call had no result.
const statusNoResult = 1

// cmdTool is `sallyport tool`.
func cmdTool(p *program, args []string) (status int, err error) {
	f := &toolFlags{}
	set := newFlags("tool")
	f.register(set)
	if err := set.Parse(args); err != nil {
		return 0, usage("tool", err.Error())
	}
	calls, err := f.calls(p, set)
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), forwarded...)
	defer stop()
	s, err := f.open(ctx, p, set)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if f.list {
		return 0, s.list(p)
	}
	return s.serve(ctx, p, f, calls)
}

// toolSession is everything that calls need: the sandbox, the gate, the engine, the tools.
type toolSession struct {
	registry *tools.Registry
	held     *holdings
}

func (s *toolSession) close() error { return s.held.close() }

// open opens the session. The gate is opened first: without one nothing else has a reason to start.
func (f *toolFlags) open(ctx context.Context, p *program, set *pflag.FlagSet) (*toolSession, error) {
	s := &toolSession{held: &holdings{}}
	if err := f.fill(ctx, s, p, set); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// fill opens what a session needs, each thing held from then on.
func (f *toolFlags) fill(ctx context.Context, s *toolSession, p *program, set *pflag.FlagSet) error {
	r, err := f.place()
	if err != nil {
		return err
	}
	about := func(_ context.Context, c gate.Call) ([]terminal.Part, error) {
		return aboutCall(s.registry, r.rules, c)
	}
	keeper, err := p.openGate("tool", f.gate, r.rules, about)
	if err != nil {
		return err
	}
	s.held.closers = append(s.held.closers, closer(keeper.close))
	if f.session {
		r.options.Warm = 1 // the next command's jail is put up while this one's output is read
	}
	box, err := shell.Open(ctx, r.policy, r.options)
	if err != nil {
		return err
	}
	s.held.closers = append(s.held.closers, box)
	o := tools.Options{Gate: keeper.ask, Workspace: f.workspace, Rules: box, Commands: box, WriteRoot: f.writeRoot, Trust: tools.Untrusted, Guarded: keeper.guarded,
		OnEvent: pending(p)}
	if set.Changed("only-command") {
		o.Shell.AllowedCommands = f.commands
	}
	if o.Scripts.Engine, err = f.scripts(p, set, s.held); err != nil {
		return err
	}
	if s.registry, err = tools.New(o); err != nil {
		return err
	}
	s.held.closers = append(s.held.closers, s.registry)
	return nil
}

// scripts makes the engine of evaluate_javascript, when it can be called at all: it takes a while to start. Where there is no guest for it, and
// nobody asked for it, there is no such tool.
func (f *toolFlags) scripts(p *program, set *pflag.FlagSet, held *holdings) (compartment.Engine, error) {
	asked := set.Arg(0) == tools.EvaluateJavaScript || set.Changed("engine")
	if !asked && !f.session && !f.list {
		return nil, nil
	}
	if !slices.Contains(engineNames, f.engine) {
		return nil, usage("tool", fmt.Sprintf("--engine %q: there are %s", f.engine, strings.Join(engineNames, " and ")))
	}
	engine, err := findEngine(f.engine, held)
	if !asked && errors.Is(err, guest.ErrAbsent) {
		fmt.Fprintf(p.err, "sallyport: there is no %s: its engine is not here, see sallyport guest --help\n", tools.EvaluateJavaScript)
		return nil, nil
	}
	return engine, err
}

// closer is a function as an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }

// place finds the workspace and the policy that holds there.
func (f *toolFlags) place() (*request, error) {
	if f.workspace == "" {
		return nil, usage("tool", "--workspace is missing: the directory that the tools work in")
	}
	abs, err := filepath.Abs(f.workspace)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("--workspace: %w", err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, errors.Join(&trouble{text: fmt.Sprintf("--workspace: %q is not a directory", f.workspace)}, err)
	}
	f.workspace = abs
	r, err := f.resolve("tool", abs)
	if err != nil {
		return nil, err
	}
	return r, r.show(abs, "the workspace")
}

// pending tells a person who waits for a call that it waits for its gate.
func pending(p *program) func(tools.Event) {
	return func(e tools.Event) {
		if e.Kind == tools.GatePending && e.Waited > time.Second { // the first one comes at once
			fmt.Fprintf(p.err, "sallyport: %s has been waiting for its gate for %s\n", e.Tool, e.Waited.Round(time.Second))
		}
	}
}

// list prints the tools there are, as a model gets them.
func (s *toolSession) list(p *program) error {
	type listed struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Tier        string `json:"tier"`
		InputSchema any    `json:"input_schema"`
	}
	for _, t := range s.registry.Tools() {
		if err := writeJSON(p.out, listed{t.Name, t.Title, t.Description, string(t.Tier), t.Schema}); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	return nil
}
