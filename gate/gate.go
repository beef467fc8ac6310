// Package gate is the question that is asked before every tool call, reads included, and its answer.
//
// A gate is one function of the program that embeds us. It gets the call as it was made, and it answers. Nothing in
// this package, and nothing in this module, answers "yes" by itself: there is no default gate and no helper that
// approves (R177, R315). Whoever makes a tool makes the gate.
//
//	err := gate.Ask(ctx, ask, gate.Call{ID: "call-7", Tool: "open_file", Args: args, Workspace: "/w"})
//	if err != nil {
//		return err // refused, unavailable or aborted: the tool does not run
//	}
//
// Ask returns nil in one case only: the gate returned an approved verdict and no error while the context was alive.
// Everything else is an error, so a caller who forgets to look at the verdict cannot exist.
//
// # Errors
//
// Each is an *Error and one of:
//
//   - ErrRefused: the gate said no; Note holds its words.
//   - ErrUnavailable: there was no answer: no gate, an error (a time-out of the gate's own is one), a panic.
//   - ErrAborted: the question alone was withdrawn: the gate returned context.Canceled and the turn goes on.
//
// When the context of the turn itself ended, Ask returns the context's own cause, unwrapped (R185).
//
// # What it does not do
//
// A gate suspends the call for as long as it takes; Ask has no time-out of its own (R181). A gate that ignores its
// context keeps its goroutine until it returns; the call does not wait for it, and what it says then approves nothing.
package gate

import (
	"context"
	"encoding/json"
)

// Func is a gate. It is asked once for each call and must be safe for concurrent use. It should return when ctx ends.
// An error means "no answer", never an approval, whatever the verdict beside it says.
type Func func(ctx context.Context, c Call) (Verdict, error)

// Call is one tool call as it was made: before any path is translated and before any input or output (R178, R180).
// Its JSON form is what a gate program reads on its standard input.
type Call struct {
	// ID tells this call from every other one.
	ID string `json:"id"`
	// Tool is the name of the tool or power that is called.
	Tool string `json:"tool"`
	// Args are the arguments as one JSON object. A null stands for none.
	Args json.RawMessage `json:"args"`
	// Workspace is the directory the tools work in, as the host names it. It is for the gate's eyes, not for a model's.
	Workspace string `json:"workspace"`
	// Policy is what would hold for the call, were it approved.
	Policy Policy `json:"policy"`
}

// Policy says how strongly an approved call would be confined.
type Policy struct {
	// Tier is the name of the enforcement: "kernel", "evaluator" or "unconfined". Empty means that the caller did not
	// say.
	Tier string `json:"tier"`
}

// Verdict is the answer. The zero verdict refuses (R179).
type Verdict struct {
	// Approved is the only way to let the call go on.
	Approved bool `json:"approved"`
	// Note is shown to the model when the call is refused. It is ignored when the call is approved.
	Note string `json:"note,omitempty"`
}
