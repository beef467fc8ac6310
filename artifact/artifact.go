package artifact

import (
	"fmt"
	"math"
)

// Kind says what an artifact is meant to be. It decides which queries a tool offers, and checks nothing.
type Kind string

// The kinds.
const (
	// KindText is text of any sort. It is what the empty kind means.
	KindText Kind = "text"
	// KindJSON is one JSON value.
	KindJSON Kind = "json"
	// KindMarkdown is a Markdown document.
	KindMarkdown Kind = "markdown"
	// KindItems is JSON lines: one JSON value a line.
	KindItems Kind = "jsonl"
)

// valid says whether k is one of the kinds.
func (k Kind) valid() bool {
	switch k {
	case KindText, KindJSON, KindMarkdown, KindItems:
		return true
	}
	return false
}

// DefaultLines is how many lines a head and a tail have when nothing else is asked for.
const DefaultLines = 10

// Artifact is a whole output, to be asked about. It is safe for use by several goroutines, and while it is written.
type Artifact struct {
	id, label string
	kind      Kind
	entry     string
	s         *spool
}

// ID is the handle.
func (a *Artifact) ID() string { return a.id }

// Kind is what the artifact is meant to be.
func (a *Artifact) Kind() Kind { return a.kind }

// Label is what the creator called it.
func (a *Artifact) Label() string { return a.label }

// Complete says whether the artifact is closed, and how many bytes are missing from it.
func (a *Artifact) Complete() (closed bool, missing int64) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.sealed, a.s.missing
}

// Head gives the first n lines. A negative n is ErrArgument.
func (a *Artifact) Head(n int64) (Text, error) {
	if n < 0 {
		return Text{}, argument(fmt.Sprintf("n %d", n), "must not be negative")
	}
	return a.cat(0, n)
}

// Tail gives the last n lines. A negative n is ErrArgument.
func (a *Artifact) Tail(n int64) (Text, error) {
	if n < 0 {
		return Text{}, argument(fmt.Sprintf("n %d", n), "must not be negative")
	}
	v, err := a.s.view()
	if err != nil {
		return Text{}, a.named(err)
	}
	t, err := v.lines(max(0, v.rows-n), v.rows)
	return t, a.named(err)
}

// ToEnd as the end of Cat means the end of the artifact.
const ToEnd int64 = math.MaxInt64

// Cat gives the lines of a half-open range, counted from 0: Cat(0, 2) is the first two. A range that reaches beyond the end
// is cut; one that is negative or the wrong way round is ErrArgument.
func (a *Artifact) Cat(start, end int64) (Text, error) {
	if start < 0 || end < start {
		return Text{}, argument(fmt.Sprintf("range %d to %d", start, end), "must not be negative, and must not end before it starts")
	}
	return a.cat(start, end)
}

func (a *Artifact) cat(start, end int64) (Text, error) {
	v, err := a.s.view()
	if err != nil {
		return Text{}, a.named(err)
	}
	t, err := v.lines(start, end)
	return t, a.named(err)
}

// ByteLength is the length in bytes, final lines included. It grows while the artifact is written.
func (a *Artifact) ByteLength() (int64, error) {
	v, err := a.s.view()
	return v.all, a.named(err)
}

// LineCount is the number of lines. A last line without a newline counts.
func (a *Artifact) LineCount() (int64, error) {
	v, err := a.s.view()
	return v.rows, a.named(err)
}

// named puts the handle into an error that names nothing yet.
func (a *Artifact) named(err error) error {
	if e, ok := err.(*Error); ok && e.What == "" {
		return &Error{Kind: e.Kind, What: a.id, Detail: e.Detail, Err: e.Err}
	}
	return err
}
