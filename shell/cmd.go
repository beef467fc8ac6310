package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sallyport/policy"
)

// Cmd is one command, shaped like exec.Cmd: make it with [Sandbox.Command], set fields, then Start and Wait, or Run.
// It can be used once.
type Cmd struct {
	// Path is the name or path of the program. A name without a slash is looked up inside the jail, in the PATH that
	// the command will have.
	Path string
	// Args are the arguments, with the program's name first. They reach the program word by word as they are.
	Args []string
	// Env is laid over the sandbox's environment, last and literally; it does not replace it.
	Env []string
	// Dir is the working directory, absolute, as the command will see it. Empty means the caller's own.
	Dir string
	// Stdin is empty when nil. A terminal, pipe or device that is an *os.File is handed over as it is; a regular file
	// is copied through a pipe, because a descriptor of it would let the command change its mode, times and length; a
	// directory is refused.
	Stdin io.Reader
	// Stdout and Stderr go nowhere when nil. A terminal, pipe or device that is an *os.File is handed over as it is.
	// Anything else is written to by goroutines that Wait joins; when both are the same writer, one writes.
	Stdout, Stderr io.Writer
	// ExtraFiles become descriptors 3, 4, … of the command. A descriptor carries what it was opened for past every
	// rule of the policy, and with a regular file its mode, times and, when open for writing, its length: hand over
	// only what the command may have. Directories are refused.
	ExtraFiles []*os.File
	// WaitDelay bounds how long Wait goes on writing output after the command has ended. Zero means no bound: the
	// whole tree is dead by then, so only a slow writer takes time.
	WaitDelay time.Duration
	// Policy is for this command alone and replaces that of its session, whole. PolicyFunc is asked for one instead, once,
	// when Start has checked everything else that it can; nil from it means the session's. It must not dispose of the
	// session. Only commands of a [Session] may have them, and not both. See [Session.Command].
	Policy     *policy.Policy
	PolicyFunc func(context.Context) (*policy.Policy, error)
	// ID names the command in violations and events. Start makes one when it is empty.
	ID string
	// Completion says how the command ended. Wait sets it, and Start does when it refuses a command of a session.
	Completion *Completion

	ctx     context.Context
	box     *Sandbox
	stdio   stdio
	jail    *jailProcess
	records []Violation

	mu      sync.Mutex
	started bool
	waited  bool

	ended   chan struct{} // closed when the jail is gone; what follows is set then
	done    Completion
	jailErr error
	ctxErr  error // why it was killed, when its context did it
	closed  bool  // its sandbox was closed by then

	inSession
}

// Completion says how a command ended (R155, R156).
type Completion struct {
	// ExitCode is the status of the command's first process, or -1 when a signal ended it.
	ExitCode int
	// Failed is true unless the exit code is 0.
	Failed bool
	// Signal is the name of the signal that ended it ("SIGKILL"), or "".
	Signal string
	signal int
	// TimedOut and Cancelled say that the context's deadline or its cancellation ended it.
	TimedOut, Cancelled bool
	// Limit names the limit that ended it ("memory"), or "".
	Limit string
	// Denied says that a policy, or a rule of the session, refused the command before it ran.
	Denied bool
	// UserTime and SystemTime are the CPU time of the first process and the descendants it waited for.
	UserTime, SystemTime time.Duration
	// MaxRSSBytes is the largest resident set among them.
	MaxRSSBytes int64
}

// Status is the exit status as shells give it: the exit code, or 128 plus the number of the signal that ended it.
func (c Completion) Status() int {
	if c.signal > 0 {
		return 128 + c.signal
	}
	return c.ExitCode
}

// Command makes a command of this sandbox. When ctx ends, the command and everything it started are killed.
func (s *Sandbox) Command(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Path: name, Args: append([]string{name}, args...), ctx: ctx, box: s}
}

// Start starts the command and returns as soon as it runs. Errors are *Error: CodeNotInitialized after Close,
// CodeInvalidConfig for NUL bytes and bad directories or environments, and CodeFailed when the command or its jail
// could not be started; errors.Is tells ErrNotFound and ErrNotExecutable apart. After an error nothing runs.
func (c *Cmd) Start() error {
	if err := c.begin(); err != nil {
		return err
	}
	if c.session != nil {
		return c.startInSession()
	}
	if c.Policy != nil || c.PolicyFunc != nil {
		c.stdio.abort()
		return invalid("start "+c.Path, errors.New("only commands of a session can have a policy of their own"))
	}
	return c.startInJail()
}

// startInJail starts the command in a jail of its sandbox.
func (c *Cmd) startInJail() error {
	if err := c.launch(); err != nil {
		c.stdio.abort()
		return err
	}
	c.stdio.start()
	return nil
}

func (c *Cmd) launch() error {
	if err := c.ctx.Err(); err != nil {
		return &Error{Code: CodeFailed, Detail: "start " + c.Path, Err: err}
	}
	spec, err := c.spec()
	if err != nil {
		return err
	}
	if err := c.stdio.open(c); err != nil {
		return err
	}
	j, err := c.box.take(c.ctx)
	if err != nil {
		return err
	}
	j.told = c.told
	if err := j.run(c.ctx, spec, c.stdio.child); err != nil {
		j.discard()
		c.box.give(j)
		return c.box.explained(err, spec.dir)
	}
	c.mu.Lock()
	c.jail, c.ended = j, make(chan struct{})
	c.mu.Unlock()
	stop := context.AfterFunc(c.ctx, j.kill)
	// Setting the next jail up takes both processors of a small machine for some milliseconds; a short command ends first.
	soon := time.AfterFunc(shortCommand, c.box.prepare)
	go func() { // not in Wait: a sandbox can be closed although nobody waits for its commands
		c.done, c.jailErr = j.wait()
		c.ctxErr, c.closed = c.ctx.Err(), c.box.isClosed() // now: both may come later, and be no cause
		stop()
		early := soon.Stop()
		j.over.Store(true)
		close(c.ended)
		j.end()
		if early {
			c.box.prepare()
		}
		c.box.give(j)
	}()
	return nil
}

// shortCommand is how long a command may take before the jail for the next one is set up beside it.
const shortCommand = 5 * time.Millisecond

// explained adds the rule that hides a working directory, when one does.
func (s *Sandbox) explained(err error, dir string) error {
	var e *Error
	if !errors.As(err, &e) || e.Syscall != "chdir" {
		return err
	}
	if d := s.Rules().Read(dir); !d.Allowed {
		e.Hints = append([]string{d.Reason + "; to change that: " + d.Remedy}, e.Hints...)
	}
	return e
}

// begin takes the one use that a Cmd has.
func (c *Cmd) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return &Error{Code: CodeInvalidConfig, Detail: "start a command", Err: errors.New("it was started before")}
	}
	if c.box == nil && c.session == nil || c.ctx == nil {
		return &Error{Code: CodeInvalidConfig, Detail: "start a command", Err: errors.New("it was not made by Sandbox.Command")}
	}
	c.started = true
	if c.ID == "" {
		c.ID = rand.Text()
	}
	return nil
}

// spec checks what is to run and puts it together.
func (c *Cmd) spec() (commandSpec, error) {
	spec, err := c.words()
	if err != nil {
		return spec, err
	}
	env := copyOf(c.box.env)
	if err := env.overlay(c.Env); err != nil {
		return spec, invalid("start "+c.Path, err)
	}
	spec.env = env.list
	return spec, nil
}

// words checks what can be checked without a sandbox: the arguments and the working directory.
func (c *Cmd) words() (commandSpec, error) {
	spec := commandSpec{name: c.Path, argv: c.Args, dir: c.Dir}
	if len(spec.argv) == 0 {
		spec.argv = []string{c.Path}
	}
	for _, a := range append([]string{c.Path, c.Dir}, spec.argv...) {
		if strings.ContainsRune(a, 0) {
			return spec, &Error{Code: CodeInvalidConfig, Detail: "start a command", Err: errors.New("an argument holds a NUL")}
		}
	}
	if spec.dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return spec, invalid("start "+c.Path, err)
		}
		spec.dir = dir
	}
	if !filepath.IsAbs(spec.dir) {
		return spec, invalid("start "+c.Path, errors.New("the working directory is not an absolute path: "+spec.dir))
	}
	return spec, nil
}

// Wait waits until the command has ended, everything it started is gone, and its output is written. It sets
// Completion. A non-zero exit or a signal is no error: look at Completion. Wait returns the context's error when the
// context ended the command, an *Error with CodeNotInitialized when Close did and CodeFailed when the jail broke, and the first error of writing the output
// or reading Stdin.
func (c *Cmd) Wait() error {
	if c.session != nil {
		return c.waitInSession()
	}
	return c.waitInJail()
}

func (c *Cmd) waitInJail() error {
	c.mu.Lock()
	ready := c.jail != nil && !c.waited
	c.waited = c.waited || ready
	c.mu.Unlock()
	if !ready {
		return invalid("wait for a command", errors.New("it is not running"))
	}
	<-c.ended
	copyErr := c.stdio.finish(c.WaitDelay)
	done := c.done
	c.Completion = &done
	c.records = c.jail.records
	for i := range c.records {
		c.records[i].ID = c.ID
	}
	for limit, times := range c.jail.breaches {
		c.records = append(c.records, limitViolation(c, limit, times))
		c.told(c.records[len(c.records)-1])
	}
	if c.ctxErr != nil && c.jail.killed {
		done.TimedOut = errors.Is(c.ctxErr, context.DeadlineExceeded)
		done.Cancelled = !done.TimedOut
		return c.ctxErr
	}
	if c.jail.killed && c.closed {
		return &Error{Code: CodeNotInitialized, Detail: "the command was killed", Err: ErrClosed}
	}
	if c.jailErr != nil {
		return c.jailErr
	}
	return copyErr
}

// told hands a record to whoever wants it as it comes.
func (c *Cmd) told(v Violation) {
	v.ID = c.ID
	if c.box.options.OnViolation != nil {
		c.box.options.OnViolation(v)
	}
}

// limitViolation is the record of a limit that the command ran into.
func limitViolation(c *Cmd, limit string, times int) Violation {
	errno := "SIGKILL"
	if limit == "processes" {
		errno = "EAGAIN"
	}
	return Violation{
		Time: time.Now(), ID: c.ID, PID: c.jail.pid, Program: c.Path, Operation: "limit", Target: limit,
		Errno: errno, Rule: c.box.options.Limits.describe(limit), Remedy: "raise the limit, or have the command use less", Count: times,
	}
}

// Run is Start and Wait.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns what it wrote to standard output. As with Wait, a non-zero exit is no error.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, invalid("collect output", errors.New("the field Stdout is set already"))
	}
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

// CombinedOutput runs the command and returns what it wrote to standard output and standard error, in order.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, invalid("collect output", errors.New("the field Stdout or Stderr is set already"))
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// Signal sends a signal to the command's process group, as a terminal would. It does nothing when that has ended.
func (c *Cmd) Signal(sig os.Signal) error {
	if p := c.foreign(); p != nil {
		return p.Signal(sig)
	}
	j := c.running()
	if j == nil {
		return invalid("signal a command", errors.New("it is not running"))
	}
	return j.signal(sig)
}

// Report says what is in force for this command. It is empty before Start.
func (c *Cmd) Report() Report {
	if p := c.foreign(); p != nil {
		return p.Report()
	}
	j := c.running()
	if j == nil {
		return Report{}
	}
	return j.reported()
}

// running is the jail of a command that was started.
func (c *Cmd) running() *jailProcess {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jail
}

// Violations are the records of what this command was denied, complete when Wait has returned (R293, R299): reads, writes
// and creations, path sockets, connections, system calls that a program can mean honestly, and limits. An allowed
// operation never makes a record. At most a thousand different ones are kept; a last one of the limit "records" then says
// how many more there were. A command that was killed may have been denied a little more than it was recorded to be.
func (c *Cmd) Violations() []Violation {
	if p := c.foreign(); p != nil {
		return p.Violations()
	}
	return append([]Violation(nil), c.records...)
}
