package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/evaljs"
	"sallyport/fs"
	"sallyport/hostfuncs"
)

// statusOutcome is the exit status of eval for every outcome but ok.
const statusOutcome = 1

// evalFlags are the arguments of eval.
type evalFlags struct {
	engine, timeout, memory, source string
	grants                          []string
	session, json                   bool
}

func (f *evalFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.engine, "engine", "wasm", "")
	set.StringVar(&f.timeout, "timeout", "5s", "")
	set.StringVar(&f.memory, "memory", "", "")
	set.StringVarP(&f.source, "e", "e", "", "")
	set.StringArrayVar(&f.grants, "grant", nil, "")
	set.BoolVar(&f.session, "session", false, "")
	set.BoolVar(&f.json, "json", false, "")
}

// cmdEval is `sallyport eval`.
func cmdEval(p *program, args []string) (status int, err error) {
	f := &evalFlags{}
	set := newFlags("eval")
	f.register(set)
	if err := set.Parse(args); err != nil {
		return 0, usage("eval", err.Error())
	}
	options, grants, err := f.options(set)
	defer func() { err = errors.Join(err, grants.close()) }()
	if err != nil {
		return 0, err
	}
	source, err := f.read(p, set)
	if err != nil {
		return 0, err
	}
	outcome, err := evaluate(options, source)
	if err != nil {
		return 0, err
	}
	return f.report(p, outcome)
}

// options turns the flags into what an evaluation may use. The grants are open also when there is an error.
func (f *evalFlags) options(set *pflag.FlagSet) (evaljs.Options, *grants, error) {
	g := &grants{}
	var o evaljs.Options
	if f.session {
		return o, g, &trouble{text: "--session: not yet, and nothing was run", hint: "evaluate everything as one script"}
	}
	var err error
	if o.Engine, err = findEngine(f.engine); err != nil {
		return o, g, err
	}
	if o.Limits.Time, err = parseSpan(f.timeout); err != nil {
		return o, g, usage("eval", "--timeout "+err.Error())
	}
	if set.Changed("memory") {
		if o.Limits.MemoryBytes, err = parseSize(f.memory); err != nil {
			return o, g, usage("eval", "--memory "+err.Error())
		}
	}
	o.Powers, err = g.open(f.grants)
	return o, g, err
}

// findEngine makes the engine of that name. None stands in for another.
func findEngine(name string) (compartment.Engine, error) {
	switch name {
	case "goja":
		return goja.NewWithoutMemoryLimit(), nil
	case "wasm":
		return nil, &trouble{
			text: "engine wasm: not yet, and nothing was run",
			hint: "--engine goja evaluates now; it makes no promise about memory",
		}
	}
	return nil, usage("eval", fmt.Sprintf("--engine %q: there are wasm (not yet) and goja", name))
}

// grants are the powers that the flags hand in, and the directories that they hold open.
type grants struct {
	dirs []*fs.Dir
}

// open makes the powers.
func (g *grants) open(flags []string) ([]compartment.Power, error) {
	var powers []compartment.Power
	seen := map[string]bool{}
	for _, flag := range flags {
		name, scope, scoped := strings.Cut(flag, "=")
		if seen[name] {
			return nil, usage("eval", fmt.Sprintf("--grant %s is given twice", name))
		}
		seen[name] = true
		if name != "readFile" {
			return nil, usage("eval", fmt.Sprintf("--grant %q: there is readFile=DIR", name))
		}
		if !scoped || scope == "" {
			return nil, usage("eval", "--grant readFile needs a directory: readFile=DIR")
		}
		dir, err := fs.OpenDir(scope)
		if err != nil {
			return nil, fmt.Errorf("--grant %s: %w", flag, err)
		}
		g.dirs = append(g.dirs, dir)
		powers = append(powers, hostfuncs.ReadFile(dir))
	}
	return powers, nil
}

func (g *grants) close() error {
	var errs []error
	for _, d := range g.dirs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// maxSource bounds what is read as a script: a little over the longest one an engine takes, so that it is the engine
// that says it is too long.
const maxSource = 17 << 20

// read gets the script: from -e, from a file, or from standard input.
func (f *evalFlags) read(p *program, set *pflag.FlagSet) (string, error) {
	switch {
	case set.NArg() > 1:
		return "", usage("eval", fmt.Sprintf("unexpected argument %q", set.Arg(1)))
	case set.Changed("e") && set.NArg() > 0:
		return "", usage("eval", "-e and a file exclude each other")
	case set.Changed("e"):
		return f.source, nil
	case set.NArg() == 0 || set.Arg(0) == "-":
		return readSource(p.in, "standard input")
	}
	file, err := os.Open(set.Arg(0))
	if err != nil {
		return "", fmt.Errorf("read the script: %w", err)
	}
	defer file.Close()
	return readSource(file, set.Arg(0))
}

func readSource(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSource))
	if err != nil {
		return "", fmt.Errorf("read the script from %s: %w", name, err)
	}
	return string(text), nil
}

// evaluate runs one script in a session of its own.
func evaluate(o evaljs.Options, source string) (outcome compartment.Outcome, err error) {
	session, err := evaljs.New(o)
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return session.Evaluate(context.Background(), source)
}

// report prints the outcome: the value on standard output, everything else on standard error.
func (f *evalFlags) report(p *program, o compartment.Outcome) (int, error) {
	status := statusOutcome
	if o.Status == compartment.StatusOK {
		status = 0
	}
	if f.json {
		return status, writeJSON(p.out, o)
	}
	for _, e := range o.Console.Entries {
		fmt.Fprintf(p.err, "%s\n", e.Text) // the boundary has escaped it
	}
	if status == 0 {
		return 0, p.print(o.Value.Text + "\n")
	}
	fmt.Fprint(p.err, outcomeText(o))
	return status, nil
}

// outcomeText says how an evaluation ended otherwise than with a value.
func outcomeText(o compartment.Outcome) string {
	var b strings.Builder
	what := string(o.Kind)
	if o.Value.Exception != nil {
		what += ": " + o.Value.Exception.Name + ": " + o.Value.Exception.Message
	} else if o.Value.Text != "" {
		what += ": " + o.Value.Text
	}
	fmt.Fprintf(&b, "sallyport: %s\n", compartment.Escape(what))
	if w := o.Where; w != nil {
		fmt.Fprintf(&b, "  line %d, column %d\n", w.Line, w.Column)
		if w.Source != "" {
			fmt.Fprintf(&b, "  %s\n  %s\n", w.Source, w.Caret)
		}
	}
	if o.Next != "" {
		fmt.Fprintf(&b, "hint: %s\n", compartment.Escape(o.Next))
	}
	return b.String()
}
