package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sallyport/artifact"
	"sallyport/policy"
	"sallyport/shell"
)

// Commander makes confined commands: a *shell.Sandbox, or a *shell.Session.
type Commander interface {
	Command(ctx context.Context, name string, args ...string) *shell.Cmd
}

// Shell are the options of run_shell_command.
type Shell struct {
	// Path is the shell, absolute. Empty means bash where there is one, and else sh.
	Path string
	// Env is added for every command, as KEY=VALUE. The model can read all of it (R215). SHELL and HOME are set beside it, when
	// it does not: HOME is the command's own /tmp, and says nothing of whose home there is.
	Env []string
	// AllowedCommands, unless nil, limits a line to one plain command with one of these names, without any syntax of a
	// shell; an empty list allows none. It is a check of a name and not the boundary: what git or make may start is for the policy to say
	// (R212, R213).
	AllowedCommands []string
	// Policy is for each command alone and replaces that of the session, whole; see [shell.Session.Command]. PolicyFunc is asked for one
	// instead, once for each command, after the gate and after the directory was found, and again for the next one; nil from it
	// means the session's. An error of it surfaces as it is, behind the narration (R149-R151). They need Commands to be a
	// *shell.Session, and exclude each other.
	Policy     *policy.Policy
	PolicyFunc func(ctx context.Context, c PolicyCall) (*policy.Policy, error)
	// OnCompletion is told once of each command that was approved, however it ended (R214). It must not wait; a panic in it
	// changes nothing.
	OnCompletion func(Completion)
}

// PolicyCall is the command that a policy is for.
type PolicyCall struct {
	// ID is that of the call.
	ID string
	// Command is the line, and Dir the directory on the host.
	Command, Dir string
}

// Completion is the end of one run_shell_command.
type Completion struct {
	// ID is that of the call.
	ID string
	// Exit says how the command ended; nil when none was started.
	Exit *shell.Completion
	// Denied: the policy of the call was refused, so that nothing was started.
	Denied bool
	// Err is what went wrong besides the command: with its policy, its start, or the keeping of its output.
	Err error
}

// shells are the shells that a path may name; what they take after -c is known.
var shells = []string{"bash", "sh", "dash", "zsh", "ksh", "ash"}

// standardShells are looked for in this order.
var standardShells = []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"}

// findShell gives the shell to use. A relative path, or a program that is no shell, is refused.
func findShell(path string) (string, error) {
	if path != "" {
		if !strings.HasPrefix(path, "/") || !slices.Contains(shells, path[strings.LastIndexByte(path, '/')+1:]) {
			return "", config("shell: "+quoted(path)+" is not the absolute path of one of "+strings.Join(shells, ", "), nil)
		}
		return path, nil
	}
	for _, p := range standardShells {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", config("shell: there is neither bash nor sh in the usual places; name one", nil)
}

// shellEnv is the environment that is added for every command. Without HOME and SHELL bash asks the system who it is, over a socket that it may
// not use, and each command would begin with a denial.
func (r *Registry) shellEnv() []string {
	home := "HOME=/nonexistent"
	if rules := r.policy(); rules != nil {
		if private, ok := rules.PrivateAt("/tmp"); ok && private.Writable {
			home = "HOME=" + private.Path
		}
	}
	return append([]string{"SHELL=" + r.shell, home}, r.options.Shell.Env...)
}

// policy gives the compiled policy behind the rules of the options, when they have one.
func (r *Registry) policy() *policy.Rules {
	switch rules := r.options.Rules.(type) {
	case *policy.Rules:
		return rules
	case interface{ Rules() *policy.Rules }:
		return rules.Rules()
	}
	return nil
}

// shellArgs are the arguments of run_shell_command.
type shellArgs struct {
	Command string  `json:"command"`
	Cwd     string  `json:"cwd"`
	Timeout float64 `json:"timeout_seconds"`
}

// runShell is run_shell_command. A command that ran has a result, whatever became of it; one that did not is an error (R190,
// R191).
func runShell(r *Registry, ctx context.Context, c *call) (res Result, err error) {
	end := Completion{ID: c.id}
	defer func() {
		if end.Err == nil {
			end.Err = err
		}
		r.completed(end)
	}()
	var args shellArgs
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	words := []string{r.shell, "-c", args.Command}
	if r.options.Shell.AllowedCommands != nil {
		plain, why := plainCommand(args.Command, r.options.Shell.AllowedCommands)
		if why != "" {
			return Result{}, r.fail(c, Facts{Outcome: GateDeclined, Note: string(why)}, nil)
		}
		words = plain
	}
	dir, err := r.workspace.directory(args.Cwd)
	if err != nil {
		return Result{}, r.unusable(c, args.Cwd, err)
	}
	a, err := c.open(artifact.KindText)
	if err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Command}, err)
	}
	limit := time.Duration(args.Timeout * float64(time.Second))
	return r.command(ctx, c, command{line: args.Command, words: words, dir: dir, limit: limit, seconds: int64(args.Timeout)}, a, &end)
}

// command is a command that is ready to be started.
type command struct {
	line    string
	words   []string
	dir     string
	limit   time.Duration
	seconds int64
}

// command starts a command, waits for its end, and says in the artifact and beside it how that was.
func (r *Registry) command(ctx context.Context, c *call, com command, a *held, end *Completion) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, com.limit)
	defer cancel()
	out := &sink{to: a}
	cmd := r.options.Commands.Command(ctx, com.words[0], com.words[1:]...)
	cmd.ID, cmd.Dir, cmd.Env = c.id, com.dir, r.shellEnv()
	r.setPolicy(cmd, c, com)
	cmd.Stdout, cmd.Stderr = out, out // one writer, so one pipe: what is written stays in order (R202)
	if err := cmd.Start(); err != nil {
		end.Denied = deniedBy(err)
		return Result{}, r.notStarted(c, com, errors.Join(err, c.turn.drop(a)))
	}
	waitErr := cmd.Wait()
	end.Exit, end.Err = cmd.Completion, out.failed()
	res := Result{Violations: cmd.Violations(), Exit: cmd.Completion, Report: cmd.Report()}
	res.Notes = r.commandNotes(c, com, cmd, res.Violations, waitErr, out.failed())
	if err := a.end(marked(res.Notes)); err != nil {
		end.Err = errors.Join(end.Err, err)
		res.Notes = append(res.Notes, r.note(c, Facts{Outcome: IOFailure, Input: "the end of the output"}))
	}
	res.Artifact = a.handle()
	return res, nil
}

// setPolicy gives a command the policy of the options.
func (r *Registry) setPolicy(cmd *shell.Cmd, c *call, com command) {
	o := r.options.Shell
	cmd.Policy = o.Policy
	if o.PolicyFunc != nil {
		cmd.PolicyFunc = func(ctx context.Context) (*policy.Policy, error) {
			return o.PolicyFunc(ctx, PolicyCall{ID: c.id, Command: com.line, Dir: com.dir})
		}
	}
}

// deniedBy says whether an error of Start means that the command's policy was refused.
func deniedBy(err error) bool {
	switch shell.CodeOf(err) {
	case shell.CodePolicyConflict, shell.CodeNetworkGrantUnsupported:
		return true
	}
	return false
}

// notStarted is the error of a command that did not run. A code of the boundary is kept (R26, R148).
func (r *Registry) notStarted(c *call, com command, err error) error {
	f := Facts{Outcome: IOFailure, Input: com.words[0]}
	switch {
	case errors.Is(err, shell.ErrNotFound):
		f.Note = "there is no such program, or it may not be read"
	case errors.Is(err, shell.ErrNotExecutable):
		f.Note = "it is not a program"
	case deniedBy(err):
		f.Note = "its policy was refused"
	}
	e := r.fail(c, f, err)
	if code := shell.CodeOf(err); code != "" {
		e.Code = code
	}
	return e
}

// commandNotes are the lines about the end of a command: what was denied, and then, last, how it ended; nothing for a status
// of 0 (R204, R205, R207).
func (r *Registry) commandNotes(c *call, com command, cmd *shell.Cmd, denied []shell.Violation, waitErr, outErr error) []string {
	notes := r.denials(c, denied)
	if outErr != nil {
		notes = append(notes, r.note(c, Facts{Outcome: IOFailure, Input: "the rest of the output", Note: "it was not kept"}))
	}
	end := cmd.Completion
	switch {
	case end == nil || waitErr != nil && !end.TimedOut && shell.CodeOf(waitErr) != "":
		return append(notes, r.note(c, Facts{Outcome: IOFailure, Input: "the end of the command"}))
	case end.TimedOut:
		return append(notes, r.note(c, Facts{Outcome: TimedOut, Limit: com.seconds}))
	case end.Signal != "":
		return append(notes, r.note(c, Facts{Outcome: NonzeroExit, Reason: ReasonSignal, Detail: end.Signal}))
	case end.ExitCode != 0:
		return append(notes, r.note(c, Facts{Outcome: NonzeroExit, Reason: ReasonStatus, Limit: int64(end.ExitCode)}))
	}
	return notes
}

// mostDenials is how many denials of one command are told; a model makes nothing of the hundredth, and the host has them all.
const mostDenials = 20

// denials are the lines about what was denied (R207, R208).
func (r *Registry) denials(c *call, denied []shell.Violation) []string {
	var notes []string
	for i, v := range denied {
		if i == mostDenials {
			return append(notes, r.note(c, Facts{Outcome: SandboxViolation, Detail: fmt.Sprintf("%d more denials like these", len(denied)-i)}))
		}
		notes = append(notes, r.note(c, Facts{Outcome: SandboxViolation, Detail: v.Text(r.workspace.root)}))
	}
	return notes
}

// marked gives each line a mark. A command can print the same mark: what is sure to be ours is Result.Notes.
func marked(notes []string) []string {
	lines := make([]string, len(notes))
	for i, n := range notes {
		lines[i] = "[sallyport] " + n
	}
	return lines
}

// completed tells the listener of the end of a command.
func (r *Registry) completed(end Completion) {
	if r.options.Shell.OnCompletion == nil {
		return
	}
	defer func() { _ = recover() }()
	r.options.Shell.OnCompletion(end)
}

// sink takes the output of a command. When it cannot be kept any more, the command goes on all the same: it is not
// killed for what it prints (R194), and its result says what is missing.
type sink struct {
	mu  sync.Mutex
	to  *held
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_, s.err = s.to.Write(p)
	}
	return len(p), nil
}

func (s *sink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
