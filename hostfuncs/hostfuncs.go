// Package hostfuncs holds the powers a host can hand to a compartment, one file each.
//
// A power is plain data and one Go function (compartment.Power). None is on by default; what is not handed in does
// not exist for the guest.
//
//	dir, err := fs.OpenDir("/home/ann/project")
//	...
//	read := hostfuncs.Gated(hostfuncs.ReadFile(dir), ask, hostfuncs.Scope{Workspace: "/home/ann/project"})
//	session, err := evaljs.New(evaljs.Options{Engine: engine, Powers: []compartment.Power{read}})
//
// There are:
//
//	Console        log, info, debug, warn, error     no effect outside the evaluation
//	ReadFile       readFile(path)                    one text file below a directory
//	ListDirectory  listDirectory(path)               the names in a directory below it
//	Clock          clock()                           the time, rounded, never going back
//	Random         random(), randomBytes(count)      chance
//	Timers         sleep(ms)                         waiting
//	Fetch          fetch(url, options)               HTTP requests to hosts on a list
//	Scratch        scratch.get, set, delete, keys    notes that outlive an evaluation, up to a number of bytes
//	SearchFiles    searchFiles(pattern, path, limit) lines of files, by a search that is handed in
//	CallTool       callTool(name, args)              other tools, by functions that are handed in
//
// All but the console answer with a promise and count as calls of the host. SearchFiles and CallTool are made with their gate;
// the others have none until Gated gives them one.
//
// A power that was made here can be narrowed by setting its fields (p.Limits.Calls = 10) and by Gated and Revocable.
//
// The text a guest reads when a power refuses names nothing of the host and does not tell a file that is not there
// from one that may not be read.
package hostfuncs

import (
	"context"
	"errors"
	"sync/atomic"

	"sallyport/compartment"
	"sallyport/gate"
)

// Scope is what a gate is told about the place a power acts in.
type Scope struct {
	// Workspace is the directory, as the host names it. It is shown to the gate and never to the guest.
	Workspace string
	// Tier is how strongly the call is confined; empty stands for "evaluator", which is what powers have.
	Tier string
}

// Gated returns p with a gate: each call is put to it before anything is done, with the power's name and the copied
// arguments (R175, R180). Anything but an approval is a refusal that the guest can catch. A power that already has a
// gate asks both, the new one first.
func Gated(p compartment.Power, ask gate.Func, s Scope) compartment.Power {
	inner := p.Ask
	if s.Tier == "" {
		s.Tier = "evaluator"
	}
	p.Gated = true
	p.Ask = func(ctx context.Context, c *compartment.Call) error {
		err := gate.Ask(ctx, ask, gate.Call{ID: c.ID, Tool: c.Power, Args: c.JSON(), Workspace: s.Workspace, Policy: gate.Policy{Tier: s.Tier}})
		if err != nil {
			return gateRefusal(c.Power, err)
		}
		if inner != nil {
			return inner(ctx, c)
		}
		return nil
	}
	return p
}

// gateRefusal is what the guest reads of a gate's answer: its note, when it gave one, and never the error of a gate
// that did not answer.
func gateRefusal(power string, err error) error {
	var g *gate.Error
	switch {
	case !errors.As(err, &g):
		return &compartment.Refusal{Code: "gate_aborted", Text: power + " was not approved: the evaluation ended first", Err: err}
	case g.Reason == gate.ErrRefused && g.Note != "":
		return &compartment.Refusal{Code: "gate_refused", Text: power + " was refused: " + g.Note, Err: err}
	case g.Reason == gate.ErrRefused:
		return &compartment.Refusal{Code: "gate_refused", Text: power + " was refused", Err: err}
	case g.Reason == gate.ErrAborted:
		return &compartment.Refusal{Code: "gate_aborted", Text: power + " was not approved: the question was withdrawn", Err: err}
	}
	return &compartment.Refusal{Code: "gate_unavailable", Text: power + " was not approved: nobody answered", Err: err}
}

// Revocable returns p and a function that takes it back, in every compartment that has it, for good. A call that is
// under way is not touched; the next one is refused. The function is safe to call from anywhere, and twice.
func Revocable(p compartment.Power) (compartment.Power, func()) {
	var revoked atomic.Bool
	inner := p.Revoked
	p.Revoked = func() bool { return revoked.Load() || inner != nil && inner() }
	return p, func() { revoked.Store(true) }
}
