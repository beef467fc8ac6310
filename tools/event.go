package tools

import (
	"context"
	"time"

	"sallyport/gate"
)

// EventKind says what an event tells.
type EventKind string

const (
	// GatePending: a gate is asked and has not answered yet. It is told at once, and again while it lasts: a turn that
	// hangs has a reason in the log (R182, R324).
	GatePending EventKind = "gate-pending"
	// GateAnswered: the gate approved, refused, or gave no answer.
	GateAnswered EventKind = "gate-answered"
	// CallEnded: a call came to its end, whatever end that is. Every call that reached its schema check has one.
	CallEnded EventKind = "call-ended"
)

// Event is told to Options.OnEvent. It holds no argument, no output and no path (R298).
type Event struct {
	Kind EventKind `json:"kind"`
	Time time.Time `json:"time"`
	// ID is the call's, and Parent that of the evaluation that made it; empty for a call of the model itself.
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Tool   string `json:"tool"`
	// Waited is how long the gate has been asked by now, or how long the call took.
	Waited time.Duration `json:"waited"`
	// Approved is the answer of the gate.
	Approved bool `json:"approved,omitempty"`
	// Code and Outcome are those of the error that ended the question or the call; empty when it went well.
	Code    Code    `json:"code,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
}

// emit tells one event of a call. A listener that panics has no say in what becomes of the call.
func (r *Registry) emit(c *call, kind EventKind, since time.Time, err error) {
	if r.options.OnEvent == nil {
		return
	}
	now := time.Now()
	e := Event{Kind: kind, Time: now, ID: c.id, Parent: c.parent, Tool: c.tool.Name, Waited: now.Sub(since), Code: CodeOf(err)}
	e.Approved = kind == GateAnswered && err == nil
	if typed, ok := err.(*Error); ok {
		e.Outcome = typed.Outcome
	}
	defer func() { _ = recover() }()
	r.options.OnEvent(e)
}

// reminders are the moments, counted from the question, at which a gate that has not answered is told again; after the
// last one it is told every time that much later.
var reminders = []struct {
	After time.Duration
	Why   string
}{
	{10 * time.Second, "a program has answered by then, and a person has read"},
	{time.Minute, "a person who is there has answered"},
	{10 * time.Minute, "nobody is there"},
	{time.Hour, "and from here on each hour, so that a log of days can be read"},
}

// ask puts a call to the gate, and tells of it while it waits.
func (r *Registry) ask(ctx context.Context, c *call) error {
	since := time.Now()
	r.emit(c, GatePending, since, nil)
	stop := r.remind(c, since)
	err := gate.Ask(ctx, r.options.Gate, gate.Call{
		ID: c.id, Tool: c.tool.Name, Args: c.args.made, Workspace: r.options.Workspace, Policy: gate.Policy{Tier: string(c.tool.Tier)},
	})
	stop()
	err = r.unapproved(c, err)
	r.emit(c, GateAnswered, since, err)
	return err
}

// remind tells of a question again and again until the function that it returns is called. That waits: nothing is told
// of a question that was answered.
func (r *Registry) remind(c *call, since time.Time) (stop func()) {
	if r.options.OnEvent == nil {
		return func() {}
	}
	answered, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for at, i := reminders[0].After, 0; ; i++ {
			select {
			case <-answered:
				return
			case <-time.After(time.Until(since.Add(at))):
			}
			r.emit(c, GatePending, since, nil)
			if i+1 < len(reminders) {
				at = reminders[i+1].After
			} else {
				at += reminders[len(reminders)-1].After
			}
		}
	}()
	return func() { close(answered); <-ended }
}
