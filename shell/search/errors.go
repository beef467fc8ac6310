package search

import (
	"errors"
	"strconv"
)

// The ways a search cannot be made. Compare with errors.Is.
var (
	// ErrPattern: the pattern is none (R250).
	ErrPattern = errors.New("not a pattern")
	// ErrGlob: the glob is none.
	ErrGlob = errors.New("not a glob")
	// ErrQuery: the query contradicts itself.
	ErrQuery = errors.New("not a search")
	// ErrFailed: the process that searched broke.
	ErrFailed = errors.New("the search broke")
)

// Error is one search that could not be made, or broke.
type Error struct {
	// Kind is one of the sentinels.
	Kind error
	// Given is the pattern or glob, as it was written.
	Given string
	// Detail says what is wrong; for ErrFailed it is for the host, and may hold its paths.
	Detail string
	// Err is the cause, if there is one.
	Err error
}

// Error says it in one line.
func (e *Error) Error() string {
	text := e.Kind.Error()
	if e.Given != "" {
		text = strconv.QuoteToASCII(e.Given) + ": " + text
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// errEnough ends a search whose limit is reached.
var errEnough = errors.New("enough")
