package policy

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrInvalid is the branch every *Error belongs to: errors.Is(err, ErrInvalid). An allowed path that is absent is also
// fs.ErrNotExist, by way of Unwrap.
var ErrInvalid = errors.New("invalid policy")

// Error says why a policy was refused: by Parse, Validate, Compile or MarshalJSON.
type Error struct {
	// Key is where, dotted: "filesystem.allowRead[2]". Empty means the document as a whole.
	Key string
	// Value is what stood there, whole; Error shortens it.
	Value string
	// Reason is a lower-case phrase without a final stop.
	Reason string
	// Nearest is the known key or name closest to an unknown one. Empty when nothing is close.
	Nearest string
	// Hint says what to write instead. Empty when Nearest says it.
	Hint string
	// Err is the cause, when something outside the policy failed, such as resolving a path.
	Err error
}

// maxShown keeps a message to one line when the value is not. In bytes.
const maxShown = 120

// Error is one lower-case line: where, what stood there, why, and the nearest known spelling.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("policy")
	if e.Key != "" {
		b.WriteString(": " + e.Key)
	}
	if e.Value != "" {
		b.WriteString(" " + strconv.Quote(shorten(e.Value)))
	}
	b.WriteString(": " + e.Reason)
	if e.Nearest != "" {
		b.WriteString("; did you mean " + strconv.Quote(e.Nearest) + "?")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Is makes every *Error match ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Unwrap gives the cause, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// shorten cuts a text to maxShown bytes, at a rune's edge.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
