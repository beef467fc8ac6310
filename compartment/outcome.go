package compartment

import (
	"encoding/json"
	"time"
)

// Status is how an evaluation ended. The engine and the host decide it, never the text of anything a guest made.
type Status string

// The statuses.
const (
	StatusOK          Status = "ok"           // there is a value
	StatusException   Status = "exception"    // the guest threw something and did not catch it
	StatusSyntax      Status = "syntax"       // the source is not a program; nothing ran
	StatusRefused     Status = "refused"      // the boundary said no and the guest did not catch it
	StatusStopped     Status = "stopped"      // a limit or the caller ended it; a guest cannot catch that
	StatusHostFailure Status = "host_failure" // a power could not do its work
	StatusEngineLost  Status = "engine_lost"  // the engine broke; the realm is gone
)

// Kind says more exactly which way it was; it is the status, a slash, and a word. Empty for StatusOK.
type Kind string

// The kinds.
const (
	KindThrown    Kind = "exception/thrown"    // thrown by the program itself
	KindRejected  Kind = "exception/rejected"  // the result was a promise, and it was rejected
	KindUnhandled Kind = "exception/unhandled" // thrown by code the evaluation was waiting for

	KindParse Kind = "syntax/parse"

	KindSourceSize   Kind = "refused/source_size"   // the source is longer than limits.source_bytes
	KindSourceDepth  Kind = "refused/source_depth"  // the source nests deeper than a parser can be trusted with
	KindDynamicCode  Kind = "refused/dynamic_code"  // eval and the function constructors
	KindNoModules    Kind = "refused/modules"       // import
	KindWithheld     Kind = "refused/not_granted"   // a thing that only a power gives: the clock, chance
	KindTooLarge     Kind = "refused/too_large"     // one operation that asks for more than it may
	KindNeverSettles Kind = "refused/never_settles" // the result is a promise that nothing can settle
	KindArguments    Kind = "refused/arguments"     // a power was called with what it does not take
	KindCalls        Kind = "refused/calls"         // one power was called more often than it may be
	KindRevoked      Kind = "refused/revoked"       // the power was taken back
	KindGate         Kind = "refused/gate"          // the gate said no, or did not answer
	KindByPower      Kind = "refused/by_power"      // the power itself said no

	KindTime      Kind = "stopped/time"
	KindMemory    Kind = "stopped/memory"
	KindDepth     Kind = "stopped/depth"
	KindOutput    Kind = "stopped/output"
	KindHostCalls Kind = "stopped/calls"
	KindCancelled Kind = "stopped/cancelled"
	KindClosed    Kind = "stopped/closed" // Close was called while it ran

	KindPowerError  Kind = "host_failure/error"
	KindPowerPanic  Kind = "host_failure/panic"
	KindPowerTime   Kind = "host_failure/time"   // one call took longer than it may
	KindPowerResult Kind = "host_failure/result" // a result of another shape than declared

	KindEnginePanic  Kind = "engine_lost/panic"
	KindStillRunning Kind = "engine_lost/still_running" // it did not answer a stop; what it runs goes on by itself
)

// Status is the part of the kind before the slash.
func (k Kind) Status() Status {
	for i := range k {
		if k[i] == '/' {
			return Status(k[:i])
		}
	}
	return StatusOK
}

// Outcome is what became of one evaluation. Text that the guest had a hand in is in Where, Value, Data, Console and in
// the arguments of Effects, escaped and clipped, and nowhere else.
type Outcome struct {
	Status Status `json:"status"`
	Kind   Kind   `json:"kind"`
	// Where is the place in the guest's own lines; nil when there is none.
	Where *Where `json:"where"`
	// Effects are the calls of powers: read them before trying again.
	Effects Effects `json:"effects"`
	Session Session `json:"session"`
	// Value shows the result, or what was thrown.
	Value Rendering `json:"value"`
	// Data is the result as strict JSON, when there is JSON that says exactly that; null otherwise, and Value.Partial
	// is set (R257).
	Data    json.RawMessage `json:"data"`
	Console Console         `json:"console"`
	Used    Used            `json:"used"`
	// Next is one sentence about what to do, when the boundary knows. It holds no guest text.
	Next string `json:"next"`

	// Cause is why a power or the engine failed, for the host's log. It is not in the JSON.
	Cause error `json:"-"`
}

// Where is a place in the source, counted from 1. Columns count UTF-16 units, as JavaScript tools do.
type Where struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	// Source is the line, and Caret the text that points at the column when it is written under it.
	Source string `json:"source"`
	Caret  string `json:"caret"`
	// Frames are the innermost calls, at most five.
	Frames []Frame `json:"frames"`
}

// Frame is one call.
type Frame struct {
	Function string `json:"function"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// Rendering shows a value.
type Rendering struct {
	// Type is the type of the value, by the engine's own knowledge of it.
	Type string `json:"type"`
	// Text shows it, as JavaScript would write it.
	Text string `json:"text"`
	// Partial: Text and Data do not say all of it, or there is no JSON for it.
	Partial bool `json:"partial"`
	// Omitted counts the parts that were left out, at any depth.
	Omitted int64 `json:"omitted"`
	// Exception is set when the value was thrown, and for syntax errors.
	Exception *Exception `json:"exception,omitempty"`
}

// Exception is a thrown error in the guest's words.
type Exception struct {
	Name    string   `json:"name"`
	Message string   `json:"message"`
	Causes  []string `json:"causes,omitempty"`
	// Code is the boundary's own word when the error was made by the boundary. A guest cannot set it.
	Code string `json:"code,omitempty"`
}

// Effects lists the calls of powers that reached the host.
type Effects struct {
	// Done are the calls whose end is known.
	Done []Effect `json:"done"`
	// Unknown are calls that were cut off: they may or may not have been carried out.
	Unknown []Effect `json:"unknown"`
}

// Effect is one call.
type Effect struct {
	ID    string `json:"id"`
	Power string `json:"power"`
	// Args are the copied arguments, as JSON by name.
	Args json.RawMessage `json:"args"`
	// Result is "ok", "refused", "failed", "discarded" or "unknown".
	Result string `json:"result"`
}

// Session says what is left of the compartment for the next evaluation.
type Session struct {
	// State is "kept", "rolled_back", "lost", or "none" for an evaluation that had a compartment of its own.
	State string `json:"state"`
	// Lost names the top-level declarations that are gone.
	Lost []string `json:"lost,omitempty"`
}

// The states of a session.
const (
	SessionNone       = "none"
	SessionKept       = "kept"
	SessionRolledBack = "rolled_back"
	SessionLost       = "lost"
)

// Console is what the guest logged. It is kept also when the evaluation failed (R256).
type Console struct {
	Entries []Entry `json:"entries"`
	// DroppedEntries and DroppedBytes count what the limits cut off.
	DroppedEntries int64 `json:"dropped_entries"`
	DroppedBytes   int64 `json:"dropped_bytes"`
	// UnhandledRejections counts promises that were rejected and that nobody looked at.
	UnhandledRejections int `json:"unhandled_rejections"`
}

// Entry is one call of the console.
type Entry struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	// Clipped: the text was longer than an entry may be; a mark at its end says how long.
	Clipped bool `json:"clipped,omitempty"`
}

// Used is what the evaluation took, each with its limit.
type Used struct {
	Wall        Gauge            `json:"wall_ms"`
	Fuel        *Gauge           `json:"fuel,omitempty"`
	PeakBytes   *Gauge           `json:"peak_bytes,omitempty"`
	SourceBytes Gauge            `json:"source_bytes"`
	HostCalls   Gauge            `json:"host_calls"`
	Calls       map[string]Gauge `json:"calls"`
}

// Gauge is an amount and what was allowed; a Limit of 0 is none.
type Gauge struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// millis is d in milliseconds, rounded up so that something is never nothing.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
