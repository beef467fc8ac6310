package compartment

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Host is the half of a compartment that is the same for every engine: the checked configuration, and the evaluations
// made from it. Engines use it; a program that embeds us does not need it.
type Host struct {
	code    DynamicCode
	limits  Limits
	powers  []Power
	modules map[string]string
}

// NewHost checks the configuration and fills in the defaults.
func NewHost(c Config) (*Host, error) {
	l, err := c.Limits.Resolve()
	if err != nil {
		return nil, err
	}
	if err := c.DynamicCode.validate(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	powers := append([]Power(nil), c.Powers...)
	for _, p := range powers {
		if err := p.validate(); err != nil {
			return nil, err
		}
		if seen[p.Name] || seen[root(p.Name)] || p.Name == root(p.Name) && seen[p.Name+"."] {
			return nil, &Error{Code: CodeConfig, Field: "powers." + p.Name, Reason: "the name is given twice"}
		}
		seen[p.Name] = true
		if p.Name != root(p.Name) {
			seen[root(p.Name)+"."] = true
		}
	}
	modules := maps.Clone(c.Modules) // what the caller changes later was not looked at
	if err := checkModules(modules); err != nil {
		return nil, err
	}
	return &Host{limits: l, powers: powers, code: c.DynamicCode, modules: modules}, nil
}

// root is the part of a power's name before the point.
func root(name string) string {
	for i := range name {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return name
}

// Limits are the limits with the defaults filled in.
func (h *Host) Limits() Limits { return h.limits }

// Powers are the powers in the order they were given. The slice must not be changed.
func (h *Host) Powers() []Power { return h.powers }

// DynamicCode is what becomes of code that is made from text.
func (h *Host) DynamicCode() DynamicCode { return h.code }

// Failure is an error that the boundary makes for the guest. The engine remembers which of the guest's error objects
// stands for it, so that it is known again by identity, and never by its text, when the guest does not catch it.
type Failure struct {
	Kind Kind
	// Name is the constructor of the guest's error: "TypeError", "RangeError" or "Error".
	Name string
	// Code is the word the guest reads in the error's code property.
	Code string
	// Text is the message.
	Text string
	// Err is for the host's log.
	Err error
}

// fail makes a Failure with its code taken from the kind.
func fail(k Kind, name, text string, err error) *Failure {
	return &Failure{Kind: k, Name: name, Code: string(k[len(k.Status())+1:]), Text: text, Err: err}
}

// FailureOf makes the Failure of a kind for an engine.
func FailureOf(k Kind, name, text string) *Failure { return fail(k, name, text, nil) }

// Evaluation is one run of guest code as the host sees it: the time, the calls, the console. Its methods are safe for
// concurrent use, but for Finish and Quiesce, which belong to whoever called Begin.
type Evaluation struct {
	host   *Host
	ctx    context.Context
	cancel context.CancelCauseFunc
	start  time.Time
	source string

	interrupted chan struct{} // closed when interrupt has returned
	detach      func() bool
	quiet       bool

	mu      sync.Mutex // guards all down to effects; an engine that was given up may still come back and ask
	over    bool
	calls   map[string]*tally
	total   int
	running int
	waiting []*pending
	live    map[int]*pending // calls that were started and whose promise is not settled
	next    int
	early   []Settled  // came while the guest waited for a synchronous call
	events  chan event // made with the first call; most evaluations make none
	effects []*Effect
	ids     ids
	logger  func(level, text string)

	wound chan struct{} // closed when nobody takes events any more; made with events

	logMu   sync.Mutex
	closed  bool
	console Console
}

// tally counts the calls of one power.
type tally struct{ made, running int }

// stop is the cause of the end of an evaluation's context.
type stop struct{ kind Kind }

func (s *stop) Error() string { return string(s.kind) }

// Begin starts the clock of an evaluation. interrupt is called once, from another goroutine, when the evaluation has
// to stop: because its time is over, ctx ended, or Stop was called. Finish must be called.
func (h *Host) Begin(ctx context.Context, source string, interrupt func()) *Evaluation {
	ctx, cancel := context.WithCancelCause(ctx)
	e := &Evaluation{host: h, start: time.Now(), source: source, interrupted: make(chan struct{})}
	e.ctx = timed{ctx, e.start.Add(h.limits.Time)}
	timer := time.AfterFunc(h.limits.Time, func() { cancel(&stop{KindTime}) })
	e.cancel = func(cause error) { cancel(cause); timer.Stop() }
	e.detach = context.AfterFunc(e.ctx, func() {
		defer close(e.interrupted)
		interrupt()
	})
	return e
}

// timed is the context of an evaluation: one that is cancelled, with its cause, at the deadline that it tells. A context with a timer of its own would be a
// second one inside of the first, which took a tenth of a small evaluation, and its end could not be told from that of the caller's deadline.
type timed struct {
	context.Context
	end time.Time
}

// Deadline is the evaluation's, or the caller's when that is earlier.
func (t timed) Deadline() (time.Time, bool) {
	if d, ok := t.Context.Deadline(); ok && d.Before(t.end) {
		return d, true
	}
	return t.end, true
}

// Stop ends the evaluation for the given reason. The first reason stays. Safe from any goroutine.
func (e *Evaluation) Stop(k Kind) { e.cancel(&stop{k}) }

// Stopped tells whether the evaluation has to end, and why. Engines look at it in every loop of their own.
func (e *Evaluation) Stopped() (Kind, bool) {
	if e.ctx.Err() == nil {
		return "", false
	}
	if s, ok := context.Cause(e.ctx).(*stop); ok {
		return s.kind, true
	}
	return KindCancelled, true
}

// Done is closed when the evaluation has to end.
func (e *Evaluation) Done() <-chan struct{} { return e.ctx.Done() }

// Quiesce detaches the interrupt and waits until it cannot be called any more. After it the engine can be used again.
func (e *Evaluation) Quiesce() {
	if !e.quiet && !e.detach() {
		<-e.interrupted
	}
	e.quiet = true
}

// Log adds an entry to the console, clipped to the limit and escaped. Safe for concurrent use; what comes after the
// end is dropped.
func (e *Evaluation) Log(level, text string) {
	e.logMu.Lock()
	defer e.logMu.Unlock()
	c, l := &e.console, e.host.limits
	switch {
	case e.closed:
		return
	case len(c.Entries) >= l.ConsoleEntries:
		c.DroppedEntries++
		c.DroppedBytes += int64(len(text))
		return
	}
	entry := Entry{Level: level, Text: Shown(text, l.ConsoleEntryBytes)}
	if len(text) > l.ConsoleEntryBytes {
		entry.Clipped = true
		c.DroppedBytes += int64(len(text) - l.ConsoleEntryBytes)
	}
	c.Entries = append(c.Entries, entry)
}
