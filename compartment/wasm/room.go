package wasm

import (
	"context"
	"errors"
	"sync"

	"sallyport/compartment"
)

// room is one compartment: an instance and the lock that makes evaluations follow each other.
type room struct {
	engine   *Engine
	host     *compartment.Host
	base     *base
	limit    uint64
	failures *failures

	mu    sync.Mutex // held by the evaluation that runs
	in    *instance  // nil after a stop, until the next evaluation
	saved *delta     // the state before the evaluation; nil stands for a fresh realm
	used  bool       // an evaluation has run, so the instance is no fresh realm any more

	state   sync.Mutex // guards what Close needs while an evaluation runs
	closed  bool
	running *compartment.Evaluation
}

// stackBytes is how much of the guest's stack one call of its language takes: 256 KiB are about 1000 calls.
const stackBytes = 256

// fresh makes an instance with a realm nobody has used, and the powers.
func (r *room) fresh() (*instance, error) {
	in, err := r.engine.take(r.base, r.limit)
	if err != nil {
		return nil, err
	}
	r.adopt(in)
	in.grant()
	in.call(xSetStackSize, uint64(r.host.Limits().StackDepth*stackBytes))
	if in.dead != nil {
		return nil, errors.Join(engineError("hand in the powers", in.dead), in.close())
	}
	return in, nil
}

// again makes an instance in the state that was noted before the last evaluation.
func (r *room) again() (*instance, error) {
	in, err := r.engine.take(r.base, r.limit)
	if err != nil {
		return nil, err
	}
	r.adopt(in)
	if err := r.saved.load(in); err != nil {
		return nil, errors.Join(engineError("go back", err), in.close())
	}
	return in, nil
}

// adopt gives an instance what is this compartment's.
func (r *room) adopt(in *instance) {
	in.realm.host, in.realm.failures = r.host, r.failures
}

// Evaluate runs source as a script. See compartment.Compartment.
func (r *room) Evaluate(ctx context.Context, source string) (compartment.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ready(); err != nil {
		return compartment.Outcome{}, err
	}
	ev, err := r.begin(ctx, source)
	if err != nil {
		return compartment.Outcome{}, err
	}
	returned := false
	defer func() {
		if !returned { // a power ended the goroutine
			r.finish(ev, compartment.Ending{Kind: compartment.KindEnginePanic})
		}
	}()
	end, used := r.run(ev, source)
	returned = true
	o := r.finish(ev, end)
	o.Used.Fuel, o.Used.PeakBytes = used.Fuel, used.PeakBytes
	return o, nil
}

// finish ends the evaluation and says what became of the session.
func (r *room) finish(ev *compartment.Evaluation, end compartment.Ending) compartment.Outcome {
	ev.Quiesce()
	r.state.Lock()
	r.running = nil
	r.state.Unlock()
	if r.in == nil {
		end.Session = compartment.SessionRolledBack
	} else {
		r.in.stopping.Store(false) // a late interrupt must not hit the next evaluation
		end.Session, r.used = compartment.SessionKept, true
	}
	return ev.Finish(end)
}

// run runs the source on the instance. An instance that did not come to rest is closed: a stop leaves the realm wherever it was, with promises that nobody
// will settle. So it is when run does not return, because a power ended the goroutine.
func (r *room) run(ev *compartment.Evaluation, source string) (end compartment.Ending, used compartment.Used) {
	in := r.in
	r.in = nil
	defer func() {
		if r.in == nil {
			_ = in.close() // its memory is gone either way
		}
	}()
	before := in.fuel()
	end = in.run(ev, source)
	fuel := in.fuel() - before
	used.Fuel = &compartment.Gauge{Used: fuel}
	used.PeakBytes = &compartment.Gauge{Used: int64(min(uint64(len(in.mem.bytes())), r.limit)), Limit: int64(r.limit)}
	if st := end.Kind.Status(); in.dead == nil && st != compartment.StatusStopped && st != compartment.StatusEngineLost {
		in.trim(fuel)
		r.in = in
	}
	return end, used
}

// ready makes sure that there is an instance, and a way back from what it is about to do.
func (r *room) ready() (err error) {
	switch {
	case r.isClosed():
		return errRoomClosed
	case r.in == nil && r.saved == nil:
		r.in, err = r.fresh()
	case r.in == nil:
		r.in, err = r.again()
	case r.used:
		if r.saved == nil {
			r.saved = &delta{}
		}
		r.saved.save(r.in)
	}
	return err
}

var errRoomClosed = &compartment.Error{Code: compartment.CodeClosed, Reason: "the compartment was closed"}

// begin starts the clock, unless the compartment was closed.
func (r *room) begin(ctx context.Context, source string) (*compartment.Evaluation, error) {
	r.state.Lock()
	defer r.state.Unlock()
	if r.closed {
		return nil, errRoomClosed
	}
	in := r.in
	r.running = r.host.Begin(ctx, source, func() { in.stopping.Store(true) })
	return r.running, nil
}

// isClosed tells whether Close was called.
func (r *room) isClosed() bool {
	r.state.Lock()
	defer r.state.Unlock()
	return r.closed
}

// Close stops the evaluation that runs and waits for it.
func (r *room) Close() error {
	r.state.Lock()
	r.closed = true
	if r.running != nil {
		r.running.Stop(compartment.KindClosed)
	}
	r.state.Unlock()
	r.mu.Lock() // the evaluation has come to its end when this is had
	defer r.mu.Unlock()
	r.engine.delist(r)
	in := r.in
	r.in, r.saved = nil, nil
	if in == nil {
		return nil
	}
	return r.engine.giveBack(in)
}
