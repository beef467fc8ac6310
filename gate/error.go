package gate

import "errors"

// The three ways a call is not approved. Compare with errors.Is.
var (
	// ErrRefused means that the gate said no.
	ErrRefused = errors.New("refused by the gate")
	// ErrUnavailable means that there was no answer. It is a refusal too, and worth another try.
	ErrUnavailable = errors.New("gate unavailable")
	// ErrAborted means that the question was withdrawn while the turn went on.
	ErrAborted = errors.New("gate aborted")
)

// Error says why a call was not approved.
type Error struct {
	// Reason is ErrRefused, ErrUnavailable or ErrAborted.
	Reason error
	// Tool is the name of the tool that was not run.
	Tool string
	// Note is what the gate said with its refusal, for the model to read. It may be empty.
	Note string
	// Err is why there was no answer; nil for a refusal. It is for the host's log and may name things of the host.
	Err error
}

// Error says it in one line: the tool, the reason, and the note or the cause.
func (e *Error) Error() string {
	s := e.Tool + ": " + e.Reason.Error()
	if e.Note != "" {
		s += ": " + e.Note
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the reason and the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}
