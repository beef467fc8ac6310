package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"sallyport/compartment"
	"sallyport/policy"
	"sallyport/shell"
)

// outputs are the files that a run writes besides the command's own. They are opened before the command starts, so
// that a wrong name is found before anything runs, and so that the command cannot put a link in their place.
type outputs struct {
	report         *os.File
	violations     *os.File
	stdout, stderr *os.File // what the command writes to
	json           bool

	mu           sync.Mutex // held while a denial is written
	violationErr error
	out, err     io.Writer // this program's own
	closers      []io.Closer
}

// openOutputs opens what the flags ask for.
func openOutputs(p *program, f *runFlags, rules *policy.Rules) (*outputs, error) {
	o := &outputs{stdout: os.Stdout, stderr: os.Stderr, json: f.json, out: p.out, err: p.err}
	err := o.open(f, rules)
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *outputs) open(f *runFlags, rules *policy.Rules) (err error) {
	if o.report, err = o.create(f.report, "--report", rules); err != nil {
		return err
	}
	if o.violations, err = o.create(f.violations, "--violations", rules); err != nil {
		return err
	}
	if !f.json {
		return nil
	}
	if o.stdout, err = o.spool("stdout"); err != nil {
		return err
	}
	o.stderr, err = o.spool("stderr")
	return err
}

// create opens one file for writing; "-" is standard error and "" is no file.
func (o *outputs) create(name, flag string, rules *policy.Rules) (*os.File, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return os.Stderr, nil
	}
	if err := guardLink(name, rules); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	o.closers = append(o.closers, file)
	return file, nil
}

// spool makes a file for one of the command's streams. It stays: the caller reads it.
func (o *outputs) spool(stream string) (*os.File, error) {
	file, err := os.CreateTemp("", "sallyport-"+stream+"-*")
	if err != nil {
		return nil, fmt.Errorf("a file for the command's %s: %w", stream, err)
	}
	o.closers = append(o.closers, file)
	return file, nil
}

// exit is how the command ended: its status as a shell shows it, and the name of the signal that ended it.
type exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal"`
}

// runResult is the object of run --json.
type runResult struct {
	Exit       exit              `json:"exit"`
	TimedOut   bool              `json:"timed_out"`
	Violations []shell.Violation `json:"violations"`
	Report     shell.Report      `json:"report"`
	StdoutFile string            `json:"stdout_file"`
	StderrFile string            `json:"stderr_file"`
}

// write writes everything that is known once the command has ended.
func (o *outputs) write(r runResult) error {
	var errs []error
	if o.report != nil {
		errs = append(errs, writeJSON(o.report, r.Report))
	}
	o.mu.Lock()
	errs = append(errs, o.violationErr)
	o.mu.Unlock()
	switch {
	case o.json:
		r.StdoutFile, r.StderrFile = o.stdout.Name(), o.stderr.Name()
		if r.Violations == nil {
			r.Violations = []shell.Violation{} // a reader iterates over it: [] and not null
		}
		errs = append(errs, writeJSON(o.out, r))
	case o.violations == nil:
		summarise(o.err, r.Violations)
	}
	return errors.Join(errs...)
}

// tell writes a denial as it happens, and once more, with its number, when it was repeated. The first fault is kept for
// the end: a full disk must not stop the command.
func (o *outputs) tell(v shell.Violation) {
	if o.violations == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := writeJSON(o.violations, v); err != nil && o.violationErr == nil {
		o.violationErr = fmt.Errorf("--violations: %w", err)
	}
}

// writeJSON writes one object on one line.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write the JSON: %w", err)
	}
	return nil
}

// shownViolations is how many denials the summary prints: enough to act on, short enough to leave the command's own
// last lines on the screen.
const shownViolations = 10

// summarise says after the command what was denied, why, and what would allow it.
func summarise(w io.Writer, violations []shell.Violation) {
	// What the C library tries by itself, to look a user or a host up, comes behind what the command did.
	violations = slices.Clone(violations)
	slices.SortStableFunc(violations, func(a, b shell.Violation) int { return lookup(a) - lookup(b) })
	for i, v := range violations {
		if i == shownViolations {
			fmt.Fprintf(w, "sallyport: and %d more; --violations FILE lists them all\n", len(violations)-i)
			return
		}
		times := ""
		if v.Count > 1 {
			times = fmt.Sprintf(" (%d times)", v.Count)
		}
		fmt.Fprintf(w, "sallyport: denied %s %s%s: %s\n", compartment.Escape(v.Operation), compartment.Escape(v.Target), times, compartment.Escape(v.Rule))
		if v.Remedy != "" {
			fmt.Fprintf(w, "hint: %s\n", compartment.Escape(v.Remedy))
		}
	}
}

// lookup is 1 for a denial that a look-up of a user or a host can be the cause of, and 0 for others.
func lookup(v shell.Violation) int {
	if v.Operation == "unix" || v.Operation == "connect" {
		return 1
	}
	return 0
}

// close closes the files; a full disk shows here at the latest.
func (o *outputs) close() error {
	var errs []error
	for _, c := range o.closers {
		errs = append(errs, c.Close())
	}
	o.closers = nil
	return errors.Join(errs...)
}
