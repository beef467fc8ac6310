package wasm

import (
	"context"
	"errors"
	"sync"

	"sallyport/compartment"
	"sallyport/compartment/wasm/internal/meter"
)

// room is one compartment: an instance and the lock that makes evaluations follow each other.
type room struct {
	engine   *Engine
	host     *compartment.Host
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
	in, err := r.engine.take(r.limit)
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
	in, err := r.engine.take(r.limit)
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
	in := r.in
	ev, err := r.begin(ctx, source)
	if err != nil {
		return compartment.Outcome{}, err
	}
	before := in.fuel()
	end := in.run(ev, source)
	ev.Quiesce()
	in.stopping.Store(false) // a late interrupt must not hit the next evaluation
	r.state.Lock()
	r.running = nil
	r.state.Unlock()
	fuel, peak := in.fuel()-before, int64(len(in.mem.bytes()))
	end.Session = r.conclude(end)
	o := ev.Finish(end)
	o.Used.Fuel = &compartment.Gauge{Used: fuel}
	o.Used.PeakBytes = &compartment.Gauge{Used: peak, Limit: int64(r.limit)}
	return o, nil
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

// conclude says what became of the session, and ends an instance that cannot go on.
func (r *room) conclude(end compartment.Ending) string {
	st := end.Kind.Status()
	if r.in.dead == nil && st != compartment.StatusStopped && st != compartment.StatusEngineLost {
		r.used = true
		return compartment.SessionKept
	}
	// A stop leaves the realm wherever it was, with promises that nobody will settle. It is not used again.
	_ = r.in.close() // its memory is gone either way
	r.in = nil
	return compartment.SessionRolledBack
}

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

// fuel is how much fuel the instance has used.
func (in *instance) fuel() int64 {
	left := int32(in.mod.ExportedGlobal(meter.FuelGlobal).Get())
	return int64(in.ticks+1)*quantum - int64(left)
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
	var err error
	if r.in != nil {
		err = r.engine.giveBack(r.in)
		r.in = nil
	}
	r.saved = nil
	return err
}
