package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// output is one artifact from its first byte on.
type output interface {
	io.Writer
	// end adds the last lines and closes it for writing.
	end(lines []string) error
	// size is how much there is by now.
	size() (bytes, lines int64)
	// query answers one question about it: the name of the tool, and its arguments.
	query(ctx context.Context, tool string, args []byte) (string, error)
	// open gives all of it, byte by byte.
	open() (io.ReadCloser, error)
	// release removes it.
	release() error
}

// outputs makes artifacts.
type outputs interface {
	create(id string, f format) (output, error)
}

// format says which queries an artifact takes.
type format string

const (
	formatText     format = "text"
	formatJSON     format = "json"
	formatLines    format = "jsonl"
	formatMarkdown format = "markdown"
)

// errStore is in the tree of every error of the place where artifacts are kept.
var errStore = errors.New("the artifact could not be kept")

// artifact is an output of a turn.
type artifact struct {
	output
	id     string
	format format
}

// open begins the artifact of a call. It can be queried from the first byte on, and is gone with the turn.
func (c *call) open(r *Registry, f format) (*artifact, error) {
	out, err := r.outputs.create(c.id, f)
	if err != nil {
		return nil, errors.Join(errStore, err)
	}
	a := &artifact{output: out, id: c.id, format: f}
	c.turn.keep(a)
	return a, nil
}

// handle is what is known of it.
func (a *artifact) handle() *Handle {
	h := &Handle{ID: a.id, Format: string(a.format)}
	h.Bytes, h.Lines = a.size()
	for _, q := range queriesOf(a.format) {
		h.Queries = append(h.Queries, q.name)
	}
	return h
}

// Open gives the whole of an artifact of this turn, for a program that shows or keeps it. A model has the queries.
func (r *Registry) Open(id string) (io.ReadCloser, error) {
	r.turns.mu.Lock()
	now := r.turns.now
	r.turns.mu.Unlock()
	a, ok := now.artifact(id)
	if !ok {
		return nil, fmt.Errorf("artifact %q: %w", id, ErrTurnEnded)
	}
	return a.open()
}
