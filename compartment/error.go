package compartment

import (
	"fmt"
	"strings"
)

// Code names a fault of the code boundary. No code of the process boundary is in this set, and none of these is in that
// one: every one here starts with E_CODE_, so the code alone tells which boundary failed (R2).
type Code string

// The codes.
const (
	// CodeConfig: a limit, a power or an engine's option is not valid. Found when the compartment is opened (R22).
	CodeConfig Code = "E_CODE_INVALID_CONFIG"
	// CodeClosed: the compartment or session was used after Close.
	CodeClosed Code = "E_CODE_CLOSED"
	// CodeLost: the engine ended in an earlier evaluation and the realm went with it. Open a new one.
	CodeLost Code = "E_CODE_REALM_LOST"
	// CodeEngine: the engine could not be brought up, or broke in a way that is no doing of the guest.
	CodeEngine Code = "E_CODE_ENGINE"
)

// Sentinels for errors.Is; each matches every *Error of its code.
var (
	ErrConfig = &Error{Code: CodeConfig}
	ErrClosed = &Error{Code: CodeClosed}
	ErrLost   = &Error{Code: CodeLost}
	ErrEngine = &Error{Code: CodeEngine}
)

// Error is a fault of the boundary, not of the guest: what a guest does wrong is an Outcome.
type Error struct {
	Code Code
	// Field is what is wrong with the configuration: "limits.host_calls", "powers.readFile.on_cancel".
	Field string
	// Value and Bound are what was asked and what is allowed, as text. Empty when the field alone says it.
	Value, Bound string
	// Reason says what happened, in a few words.
	Reason string
	// Hint says what to do about it. It may be empty.
	Hint string
	// Err is the cause, for the host's log.
	Err error
}

// Error says it in one line that names the field, the value and the bound (R258).
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	if e.Field != "" {
		parts = append(parts, e.Field)
	}
	switch {
	case e.Value != "" && e.Bound != "":
		parts = append(parts, fmt.Sprintf("%s is not allowed, want %s", e.Value, e.Bound))
	case e.Bound != "":
		parts = append(parts, "want "+e.Bound)
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if len(parts) == 0 {
		return string(e.Code)
	}
	return strings.Join(parts, ": ")
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether target is the sentinel of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Field == "" && t.Reason == "" && t.Err == nil
}
