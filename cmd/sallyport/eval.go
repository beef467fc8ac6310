package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/compartment/wasm"
	"sallyport/compartment/wasm/guest"
	"sallyport/evaljs"
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
	set.StringVar(&f.engine, "engine", engineNames[0], "")
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
	held := &holdings{}
	defer func() { err = errors.Join(err, held.close()) }()
	options, err := f.options(set, held)
	if err != nil {
		return 0, err
	}
	source, err := f.read(p, set)
	if err != nil {
		return 0, err
	}
	if options.Engine, err = findEngine(f.engine, held); err != nil {
		return 0, err
	}
	outcome, err := evaluate(options, source)
	if err != nil {
		return 0, err
	}
	return f.report(p, outcome)
}

// options turns the flags into what an evaluation may use, but for the engine, which takes a while to make: what is
// wrong with the flags is said first. What has to be closed afterwards is in held, also when there is an error.
func (f *evalFlags) options(set *pflag.FlagSet, held *holdings) (o evaljs.Options, err error) {
	if f.session {
		return o, &trouble{text: "--session: not yet, and nothing was run", hint: "evaluate everything as one script"}
	}
	if !slices.Contains(engineNames, f.engine) {
		return o, usage("eval", fmt.Sprintf("--engine %q: there are %s", f.engine, strings.Join(engineNames, " and ")))
	}
	if o.Limits.Time, err = parseSpan(f.timeout); err != nil {
		return o, usage("eval", "--timeout "+err.Error())
	}
	if set.Changed("memory") {
		if o.Limits.MemoryBytes, err = parseSize(f.memory); err != nil {
			return o, usage("eval", "--memory "+err.Error())
		}
	}
	o.Powers, err = held.grant(f.grants)
	return o, err
}

// engineNames are the engines of --engine, the default first.
var engineNames = []string{"wasm", "goja"}

// findEngine makes the engine of that name. None stands in for another: where one cannot be made, nothing is evaluated.
func findEngine(name string, held *holdings) (compartment.Engine, error) {
	if name == "goja" {
		return goja.NewWithoutMemoryLimit(), nil
	}
	engine, err := wasm.New(context.Background(), wasm.Options{})
	if errors.Is(err, guest.ErrAbsent) {
		return nil, &trouble{text: "engine wasm: nothing was run", err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("engine wasm: %w", err)
	}
	held.closers = append(held.closers, engine)
	return engine, nil
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
