package tools

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrTurnEnded is the cause with which calls end that were still running when EndTurn or Close was called.
var ErrTurnEnded = errors.New("the turn has ended")

// turns keeps the current turn of a registry.
type turns struct {
	mu     sync.Mutex
	now    *turn
	closed bool
}

// turn is what lives as long as one turn of the agent: the calls that run, the artifacts and the media.
type turn struct {
	ctx     context.Context // ends when no new call may begin and those that run have to stop
	end     context.CancelCauseFunc
	running sync.WaitGroup
	outputs outputs

	mu        sync.Mutex
	artifacts map[string]*held
	order     []string // the ids of the artifacts, as they came
	media     map[string]*media
	edited    int64   // bytes that its edits take
	tools     []*tool // that query the artifacts and edit the media; nil when they have to be made
}

// newTurn begins a turn whose artifacts are made by out.
func newTurn(out outputs) *turn {
	ctx, end := context.WithCancelCause(context.Background())
	return &turn{ctx: ctx, end: end, outputs: out}
}

// begin takes part in the current turn. The caller calls running.Done of it.
func (r *Registry) begin() (*turn, error) {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	if r.turns.closed {
		return nil, &Error{Code: CodeNotInitialized, Text: "The tools were closed. Nothing was done; tell the user."}
	}
	r.turns.now.running.Add(1)
	return r.turns.now, nil
}

// join makes a context that ends with the turn as well.
func (t *turn) join(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	return ctx, func() { detach(); cancel(nil) }
}

// keep adds an artifact to the turn.
func (t *turn) keep(a *held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.artifacts == nil {
		t.artifacts = map[string]*held{}
	}
	t.artifacts[a.id], t.tools = a, nil
	t.order = append(t.order, a.id)
}

// drop takes an artifact back, of a call that came to nothing.
func (t *turn) drop(a *held) error {
	t.mu.Lock()
	delete(t.artifacts, a.id)
	t.order = slices.DeleteFunc(t.order, func(id string) bool { return id == a.id })
	t.tools = nil
	t.mu.Unlock()
	return a.release()
}

// artifact finds one by its id.
func (t *turn) artifact(id string) (*held, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.artifacts[id]
	return a, ok
}

// minted are the tools of the turn: each takes the ids of what it fits, and there is none without one (R270, R271).
func (t *turn) minted() []*tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil {
		t.tools = t.queries()
		if len(t.media) > 0 {
			t.tools = append(t.tools, t.editor())
		}
	}
	return t.tools
}

// EndTurn ends the turn and begins the next one: calls that run are stopped with everything that they started, and the
// artifacts and media of the turn are gone, with the tools that query them (R269-R271). It returns when all that is done.
func (r *Registry) EndTurn() error { return r.endTurn(false) }

// Close ends the turn, and the registry with it. Closing twice does nothing. What was handed in with the options stays
// open.
func (r *Registry) Close() error {
	err := r.endTurn(true)
	r.closing.Do(func() { err = errors.Join(err, r.release()) })
	return err
}

func (r *Registry) endTurn(last bool) error {
	r.turns.mu.Lock()
	if r.turns.closed {
		r.turns.mu.Unlock()
		return nil
	}
	t := r.turns.now
	next, err := r.newOutputs()
	if err != nil { // without a place for artifacts there is no next turn
		last = true
	}
	r.turns.now, r.turns.closed = newTurn(next), last
	r.turns.mu.Unlock()
	t.end(ErrTurnEnded)
	t.running.Wait()
	return errors.Join(err, t.release())
}

// release lets go of what the turn held.
func (t *turn) release() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, a := range t.artifacts {
		errs = append(errs, a.release())
	}
	t.artifacts, t.order, t.media, t.tools = nil, nil, nil, nil
	errs = append(errs, t.outputs.release())
	return errors.Join(errs...)
}
