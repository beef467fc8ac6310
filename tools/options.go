package tools

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sallyport/artifact"
	"sallyport/fs"
	"sallyport/gate"
	"sallyport/internal/nearest"
	"sallyport/shell"
)

// Trust says how the files of the workspace are to be taken when they become media. There is no default (R227).
type Trust string

const (
	// Untrusted: anybody may have written them. What is made of them is shown as untrusted.
	Untrusted Trust = "untrusted"
	// Vouched: the operator stands for what is in the workspace.
	Vouched Trust = "vouched"
)

// Options say which tools there are and what stands behind them.
type Options struct {
	// Gate is asked before every gated call. It must be set: there is no default (R176, R177).
	Gate gate.Func
	// Workspace is the directory that the tools work in, as the host names it. A gate sees it, and a model never does.
	Workspace string
	// Rules are the policy that the file tools keep to: those of the sandbox, so that both give one answer (R52). Nil is the
	// zero policy: everything in the workspace may be read, and nothing written.
	// A *shell.Sandbox decides as its commands find it, and is the best there is.
	Rules fs.Rules
	// Commands runs what is run: the shell and the searches. Without it there are no such tools.
	Commands Commander
	// Shell are the options of run_shell_command, and Scripts those of evaluate_javascript.
	Shell   Shell
	Scripts Scripts
	// Store keeps the artifacts. Nil opens one of its own, in files without a name in the directory for temporary files, where nothing is
	// left of it.
	Store *artifact.Store
	// Only names the tools to make. Nil makes every tool that the other options have what it takes for.
	Only []string
	// Guarded are paths of the host that save_media never writes, whatever the rules say: the program of the gate, for one.
	Guarded []string
	// WriteRoot is the directory below which save_media may write, as a model writes it; "." is all of the workspace. It
	// must be set when there is a save_media, and is never inferred (R227).
	WriteRoot string
	// Trust says how staged files are to be taken. It must be set when there is a stage_file (R227).
	Trust Trust
	// Narrator has the first word on what a model reads of an outcome (R284). Nil takes the table.
	Narrator Narrator
	// OnEvent is told of calls and questions as they happen. It is called by whoever makes the call, and must not wait.
	OnEvent func(Event)
}

// New makes the tools. Faults in the options are *Error: CodeGateRequired without a gate (R21, R176), and
// CodeInvalidConfig. Close the registry when done.
func New(o Options) (*Registry, error) {
	if o.Gate == nil {
		return nil, &Error{Code: CodeGateRequired, Text: "no gate was given: every tool is put to one, and there is no default"}
	}
	r := &Registry{options: o, prefix: newPrefix()}
	wanted, err := r.wanted()
	if err != nil {
		return nil, err
	}
	if err := r.check(wanted); err != nil {
		return nil, err
	}
	if err := r.open(wanted); err != nil {
		return nil, errors.Join(err, r.release())
	}
	return r, nil
}

// open opens what the tools work with, and makes them.
func (r *Registry) open(wanted []definition) (err error) {
	if r.rules, err = rulesOf(r.options); err != nil {
		return err
	}
	if r.workspace, err = openWorkspace(r.options, r.rules); err != nil {
		return err
	}
	if s, ok := r.options.Commands.(*shell.Session); ok {
		r.epoch = s.Epoch()
	}
	if err := r.openStore(); err != nil {
		return err
	}
	if err := r.make(wanted); err != nil {
		return err
	}
	if r.has(RunShellCommand) {
		if r.shell, err = findShell(r.options.Shell.Path); err != nil {
			return err
		}
	}
	if r.options.Commands != nil {
		r.searcher = r.newSearcher()
	}
	if r.has(EvaluateJavaScript) {
		if r.scripts, err = r.openScripts(); err != nil {
			return config(EvaluateJavaScript+": "+err.Error(), err)
		}
	}
	return nil
}

// isSession says whether commands can have policies of their own.
func isSession(c Commander) bool {
	_, ok := c.(*shell.Session)
	return ok
}

// openStore takes the store of the options, or opens one that leaves nothing behind, and begins the first turn.
func (r *Registry) openStore() (err error) {
	store := r.options.Store
	if store == nil {
		if store, err = artifact.Open(artifact.Options{}); err != nil {
			return config("artifacts: "+err.Error(), err)
		}
		r.store = store
	}
	r.newOutputs = func() (outputs, error) {
		turn, err := store.Turn()
		return storedTurn{turn}, err
	}
	first, err := r.newOutputs()
	if err != nil {
		return config("artifacts: "+err.Error(), err)
	}
	r.turns.now = newTurn(first)
	return nil
}

// release lets go of what open opened.
func (r *Registry) release() error {
	var errs []error
	if r.scripts != nil {
		errs = append(errs, r.scripts.Close())
		r.scripts = nil
	}
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	if r.workspace != nil {
		errs = append(errs, r.workspace.Close())
		r.workspace = nil
	}
	return errors.Join(errs...)
}

// wanted are the definitions of the tools to make.
func (r *Registry) wanted() ([]definition, error) {
	all := definitions()
	var known []string
	for _, d := range all {
		known = append(known, d.name)
	}
	for _, name := range r.options.Only {
		if !slices.Contains(known, name) {
			says := fmt.Sprintf("only: there is no tool %q", name)
			if meant := nearest.Of(name, known); meant != "" {
				says += fmt.Sprintf(" (did you mean %q?)", meant)
			}
			return nil, config(says, nil)
		}
		if !r.possible(name) {
			return nil, config("only: "+name+" has nothing to work with: there are no commands, or there is no engine", nil)
		}
	}
	return slices.DeleteFunc(all, func(d definition) bool {
		return r.options.Only != nil && !slices.Contains(r.options.Only, d.name) || !r.possible(d.name)
	}), nil
}

// possible says whether the options have what a tool takes.
func (r *Registry) possible(name string) bool {
	switch name {
	case RunShellCommand, SearchFiles, FindFiles:
		return r.options.Commands != nil
	case EvaluateJavaScript:
		return r.options.Scripts.Engine != nil
	}
	return true
}

// check looks at what the tools to make cannot do without.
func (r *Registry) check(wanted []definition) error {
	there := func(name string) bool {
		return slices.ContainsFunc(wanted, func(d definition) bool { return d.name == name })
	}
	switch {
	case there(SaveMedia) && r.options.WriteRoot == "":
		return config("write root: "+SaveMedia+" needs the directory that it may write to, and it is never inferred", nil)
	case there(StageFile) && r.options.Trust != Untrusted && r.options.Trust != Vouched:
		return config(fmt.Sprintf("trust: %s needs to be told how files are to be taken, %q or %q, and got %q", StageFile, Untrusted, Vouched, r.options.Trust), nil)
	case r.options.Shell.Policy != nil && r.options.Shell.PolicyFunc != nil:
		return config("shell: both Policy and PolicyFunc are set", nil)
	case (r.options.Shell.Policy != nil || r.options.Shell.PolicyFunc != nil) && !isSession(r.options.Commands):
		return config("shell: a policy for each command needs Commands to be a *shell.Session", nil)
	case !filepath.IsAbs(r.options.Workspace):
		return config(fmt.Sprintf("workspace: %q is not the absolute path of a directory", r.options.Workspace), nil)
	}
	return nil
}
