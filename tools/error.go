package tools

import (
	"errors"

	"sallyport/shell"
)

// Code names why a call was not done. The codes of the process boundary are among them: an error of package shell keeps
// its own (R26).
type Code = shell.Code

const (
	// CodeGateRequired: tools were to be made without a gate (R21, R176).
	CodeGateRequired Code = "E_SANDBOX_GATE_REQUIRED"
	// CodeRefused: the gate, the policy or the rules for paths said no (R15).
	CodeRefused Code = "E_SANDBOX_REFUSED"
	// CodePathEscape: a path leads out of the workspace. It is a cause: a model reads CodeRefused (R24).
	CodePathEscape Code = "E_SANDBOX_PATH_ESCAPE"
	// CodeInvalidArgs: the arguments are not what the tool takes, or there is no such tool. Nothing was asked and nothing done (R199).
	CodeInvalidArgs Code = "E_INVALID_TOOL_ARGS"
)

// The codes of the process boundary that tools use as well.
const (
	CodeInvalidConfig  = shell.CodeInvalidConfig
	CodeNotInitialized = shell.CodeNotInitialized
	CodeFailed         = shell.CodeFailed
)

// Error is a call that was not done. Its text is the narration and nothing else (R25, R281), and may be shown to a model.
type Error struct {
	Code Code
	// Outcome and Reason are the row of the table that was narrated. Outcome is empty for CodeInvalidArgs,
	// CodeInvalidConfig, CodeGateRequired and CodeNotInitialized: no handler ran.
	Outcome Outcome
	Reason  string
	// Tool is the tool that was called.
	Tool string
	// Text is the narration.
	Text string
	// Err is the cause, for the host's log; it may name things of the host.
	Err error
}

// Error is the narration.
func (e *Error) Error() string { return e.Text }

// Is makes errors.Is(err, &Error{Code: c}) true for every error with that code, and likewise for an Outcome.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && (t.Code == "" || t.Code == e.Code) && (t.Outcome == "" || t.Outcome == e.Outcome) && t.Code+Code(t.Outcome) != ""
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// handlerFailed is what a model reads before the narration. It is not configurable (R279).
const handlerFailed = "The tool handler threw an error during execution. "

// Render is what a model reads of an error of Call, exactly (R278): one fixed sentence and the narration. Of an error that
// is not itself an *Error only the sentence is shown, also when it wraps one: it may say anything about the host (R280).
// A call that reached no handler is told as it is.
func Render(err error) string {
	e, ok := err.(*Error) // the direct error alone: the text of one that wraps it is the host's
	switch {
	case !ok:
		return handlerFailed[:len(handlerFailed)-1]
	case e.Outcome == "":
		return e.Text
	}
	return handlerFailed + e.Text
}

// CodeOf is the code of the first *Error, or *shell.Error, in err's tree, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return shell.CodeOf(err)
}

// config is a fault in the options, found when the registry is made (R22).
func config(text string, err error) error {
	return &Error{Code: CodeInvalidConfig, Text: text, Err: err}
}
