package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"sallyport/shell"
)

// runFlags are the arguments of run.
type runFlags struct {
	policyFlags
	line       string
	timeout    string
	cwd        string
	report     string
	violations string
	json       bool
	expose     []string
}

func (f *runFlags) register(set *pflag.FlagSet) {
	f.policyFlags.register(set)
	set.StringVarP(&f.line, "c", "c", "", "")
	set.StringVar(&f.timeout, "timeout", "", "")
	set.StringVar(&f.cwd, "cwd", "", "")
	set.StringVar(&f.report, "report", "", "")
	set.StringVar(&f.violations, "violations", "", "")
	set.BoolVar(&f.json, "json", false, "")
	set.StringArrayVar(&f.expose, "expose", nil, "")
}

// newFlags makes a flag set that reports errors by returning them and stops at the first "--".
func newFlags(name string) *pflag.FlagSet {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	return set
}

// run is one confined command, from its arguments to its exit status.
type run struct {
	program *program
	flags   *runFlags
	argv    []string
	timeout time.Duration
	request *request
	outputs *outputs
	signals *signals
	exposed []exposure
}

// cmdRun is `sallyport run`.
func cmdRun(p *program, args []string) (status int, err error) {
	r := &run{program: p, flags: &runFlags{}}
	if err := r.parse(args); err != nil {
		return 0, err
	}
	if r.request, err = r.flags.resolve("run", r.flags.cwd); err != nil {
		return 0, err
	}
	if r.outputs, err = openOutputs(r.program, r.flags, r.request.rules); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.outputs.close()) }()
	r.signals = catchSignals()
	defer r.signals.stop()
	r.request.options.OnViolation = r.outputs.tell

	r.request.options.Warm = -1 // there is no second command
	box, err := shell.Open(context.Background(), r.request.policy, r.request.options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	return r.command(box)
}

// parse reads the arguments. The command is what follows "--", and nothing else may stand there.
func (r *run) parse(args []string) error {
	set := newFlags("run")
	set.SetInterspersed(false) // "run ls -l" must not be read as our own -l
	r.flags.register(set)
	if err := set.Parse(args); err != nil {
		return usage("run", err.Error())
	}
	if set.ArgsLenAtDash() < 0 && set.NArg() > 0 {
		return usage("run", fmt.Sprintf("unexpected argument %q; the command goes after --", set.Arg(0)))
	}
	r.argv = set.Args()
	if set.Changed("c") {
		if len(r.argv) > 0 {
			return usage("run", "-c and a command after -- exclude each other")
		}
		r.argv = []string{"sh", "-c", r.flags.line}
	}
	if len(r.argv) == 0 || r.argv[0] == "" {
		return usage("run", "no command specified")
	}
	return r.parseValues(set)
}

// parseValues reads the flags that are more than text.
func (r *run) parseValues(set *pflag.FlagSet) (err error) {
	if set.Changed("timeout") {
		if r.timeout, err = parseSpan(r.flags.timeout); err != nil {
			return usage("run", "--timeout "+err.Error())
		}
	}
	for _, text := range r.flags.expose {
		e, err := parseExposure(text)
		if err != nil {
			return usage("run", "--expose "+err.Error())
		}
		r.exposed = append(r.exposed, e)
	}
	if !set.Changed("cwd") {
		return nil
	}
	if r.flags.cwd == "" {
		return usage("run", "--cwd needs a directory")
	}
	if r.flags.cwd, err = filepath.Abs(r.flags.cwd); err != nil {
		return fmt.Errorf("--cwd: %w", err)
	}
	return nil
}

// command starts the command in the sandbox, passes signals on, and reports how it ended.
func (r *run) command(box *shell.Sandbox) (int, error) {
	ctx := context.Background()
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.timeout)
		defer cancel()
	}
	cmd := box.Command(ctx, r.argv[0], r.argv[1:]...)
	cmd.Dir = r.flags.cwd
	cmd.Stdout, cmd.Stderr = commandOutputs(r.outputs.stdout, r.outputs.stderr)
	input, err := feed(os.Stdin)
	if err != nil {
		return 0, err
	}
	cmd.Stdin = input.command
	if err = cmd.Start(); err == nil {
		forwarding := r.signals.passTo(cmd)
		if err = r.expose(cmd); err != nil {
			_ = cmd.Signal(os.Kill) // nobody could reach what it is started for
		}
		err = errors.Join(err, cmd.Wait())
		forwarding.stop()
	}
	return r.finish(box, cmd, errors.Join(err, input.end()))
}

// finish writes what was asked for about the run and turns its end into an exit status.
func (r *run) finish(box *shell.Sandbox, cmd *shell.Cmd, err error) (int, error) {
	var end shell.Completion
	if cmd.Completion != nil {
		end = *cmd.Completion
	}
	status, err := r.status(end, err)
	if status == statusTrouble {
		return status, err
	}
	code := end.Status() // as a shell would show it, after a time limit too
	if cmd.Completion == nil {
		code = status // the command did not start, and that is all there is to say about its end
	}
	report := cmd.Report()
	if report.Tier == "" {
		report = box.Report()
	}
	return status, errors.Join(err, r.outputs.write(runResult{
		Exit: exit{Code: code, Signal: end.Signal}, TimedOut: end.TimedOut, Violations: cmd.Violations(), Report: report,
	}))
}

// status turns the end of a command into our exit status, and an error when there is something to say about it.
func (r *run) status(end shell.Completion, err error) (int, error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return statusTimedOut, &trouble{
			text: fmt.Sprintf("the time limit of %s was reached; the command and all it started were killed", r.timeout),
		}
	case err != nil:
		return statusOf(err), err
	}
	return end.Status(), nil
}
