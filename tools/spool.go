package tools

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sallyport/artifact"
)

// output is one artifact from its first byte on.
type output interface {
	io.Writer
	// end adds the last lines and closes it for writing.
	end(lines []string) error
	// size is how much there is by now.
	size() (bytes, lines int64)
	// query answers one question about it.
	query(ctx context.Context, answer answer, args queryArgs) (string, error)
	// open gives all of it, byte by byte.
	open() (io.ReadCloser, error)
	// release gives it up, of a call that came to nothing.
	release() error
}

// outputs makes the artifacts of one turn.
type outputs interface {
	create(id, label string, kind artifact.Kind) (output, error)
	addMedia(name string, from artifact.Source) (*artifact.Media, error)
	// release removes them all.
	release() error
}

// errStore is in the tree of every error of the place where artifacts are kept.
var errStore = errors.New("the artifact could not be kept")

// held is an artifact of a turn.
type held struct {
	output
	id   string
	kind artifact.Kind
}

// open begins the artifact of a call. It can be queried from the first byte on, and is gone with the turn.
func (c *call) open(kind artifact.Kind) (*held, error) {
	out, err := c.turn.outputs.create(c.id, c.tool.Name, kind)
	if err != nil {
		return nil, errors.Join(errStore, err)
	}
	a := &held{output: out, id: c.id, kind: kind}
	c.turn.keep(a)
	return a, nil
}

// handle is what is known of it.
func (a *held) handle() *Handle {
	h := &Handle{ID: a.id, Format: string(a.kind)}
	h.Bytes, h.Lines = a.size()
	for _, q := range queriesOf(a.kind) {
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
