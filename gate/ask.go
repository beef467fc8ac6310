package gate

import (
	"context"
	"errors"
	"fmt"
)

// Ask puts the call to the gate and waits for the answer. It returns nil only when the gate approved the call and the
// context was still alive after it did. See the package comment for the errors.
//
// The gate runs on a goroutine of its own, so that a context that ends is answered at once, even by a gate that does
// not look at it.
func Ask(ctx context.Context, f Func, c Call) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f == nil {
		return &Error{Reason: ErrUnavailable, Tool: c.Tool, Err: errors.New("no gate was given")}
	}
	answers := make(chan answer, 1) // room for one, so that a gate that answers too late does not wait for ever
	go ask(ctx, f, c, answers)
	select {
	case a := <-answers:
		if ctx.Err() != nil { // an approval that came with the end of the turn approves nothing
			return context.Cause(ctx)
		}
		return a.judge(c.Tool)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answer is what came back from one run of a gate.
type answer struct {
	verdict Verdict
	err     error
}

// ask runs the gate and sends what comes of it. A panic, and a goroutine that is ended from inside the gate, are
// errors.
func ask(ctx context.Context, f Func, c Call, answers chan<- answer) {
	a := answer{err: errors.New("the gate ended without an answer")} // what stays when f leaves by runtime.Goexit
	defer func() {
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("the gate panicked: %v", p)}
		}
		answers <- a
	}()
	v, err := f(ctx, c)
	a = answer{verdict: v, err: err}
}

// judge turns the answer into nil or an *Error. An error wins over any verdict.
func (a answer) judge(tool string) error {
	switch {
	case errors.Is(a.err, context.Canceled):
		return &Error{Reason: ErrAborted, Tool: tool, Err: a.err}
	case a.err != nil:
		return &Error{Reason: ErrUnavailable, Tool: tool, Err: a.err}
	case !a.verdict.Approved:
		return &Error{Reason: ErrRefused, Tool: tool, Note: a.verdict.Note}
	}
	return nil
}
