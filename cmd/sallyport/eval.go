package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	engine, timeout, memory string
	sources, grants         []string
	session, json           bool
}

func (f *evalFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.engine, "engine", engineNames[0], "")
	set.StringVar(&f.timeout, "timeout", "5s", "")
	set.StringVar(&f.memory, "memory", "", "")
	set.StringArrayVarP(&f.sources, "e", "e", nil, "")
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
	next, err := f.read(p, set)
	if err != nil {
		return 0, err
	}
	if options.Engine, err = findEngine(f.engine, held); err != nil {
		return 0, err
	}
	return f.evaluate(p, options, next)
}

// options turns the flags into what an evaluation may use, but for the engine, which takes a while to make: what is
// wrong with the flags is said first. What has to be closed afterwards is in held, also when there is an error.
func (f *evalFlags) options(set *pflag.FlagSet, held *holdings) (o evaljs.Options, err error) {
	o.Persist = f.session
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

// source is what is evaluated at one time.
type source struct {
	text     string
	language evaljs.Language
}

// sourceReader gives one source after the other; false when there is no more.
type sourceReader func() (source, bool, error)

// listed reads sources from a list.
func listed(sources ...source) sourceReader {
	return func() (source, bool, error) {
		if len(sources) == 0 {
			return source{}, false, nil
		}
		next := sources[0]
		sources = sources[1:]
		return next, true, nil
	}
}

// read gets what is evaluated: from -e, from files, or from standard input. Without --session that is one script.
func (f *evalFlags) read(p *program, set *pflag.FlagSet) (sourceReader, error) {
	named := set.NArg() > 0 && !(set.NArg() == 1 && set.Arg(0) == "-")
	switch {
	case set.Changed("e") && set.NArg() > 0:
		return nil, usage("eval", "-e and a file exclude each other")
	case !f.session && set.NArg() > 1:
		return nil, usage("eval", fmt.Sprintf("unexpected argument %q", set.Arg(1)))
	case !f.session && len(f.sources) > 1:
		return nil, usage("eval", "-e is given twice: only with --session")
	case set.Changed("e"):
		var sources []source
		for _, text := range f.sources {
			sources = append(sources, source{text, evaljs.Auto})
		}
		return listed(sources...), nil
	case named:
		return readFiles(p, set.Args())
	case f.session:
		return p.readLines(), nil
	}
	text, err := readSource(p.in, "standard input")
	return listed(source{text, evaljs.Auto}), err
}

// readFiles reads the scripts, all before the first is evaluated. A file's language is that of its name.
func readFiles(p *program, names []string) (sourceReader, error) {
	var sources []source
	for _, name := range names {
		text, err := readFile(p, name)
		if err != nil {
			return nil, err
		}
		language := evaljs.Auto
		if slices.Contains([]string{".ts", ".mts", ".cts"}, filepath.Ext(name)) {
			language = evaljs.TypeScript
		}
		sources = append(sources, source{text, language})
	}
	return listed(sources...), nil
}

func readFile(p *program, name string) (text string, err error) {
	if name == "-" {
		return readSource(p.in, "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read the script: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return readSource(file, name)
}

func readSource(r io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSource))
	if err != nil {
		return "", fmt.Errorf("read the script from %s: %w", name, err)
	}
	return string(text), nil
}

// evaluate runs the sources in one session and reports each. The status is that of the first one that did not end well.
func (f *evalFlags) evaluate(p *program, o evaljs.Options, next sourceReader) (status int, err error) {
	session, err := evaljs.New(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for {
		source, ok, err := next()
		if err != nil || !ok {
			return status, err
		}
		outcome, err := session.EvaluateAs(context.Background(), source.language, source.text)
		if err != nil {
			return 0, err
		}
		one, err := f.report(p, outcome)
		if err != nil {
			return 0, err
		}
		status = max(status, one)
	}
}
