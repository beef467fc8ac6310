package compartment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pending is one call of an asynchronous power.
type pending struct {
	ticket int
	power  *Power
	call   *Call // nil for one that was refused at once
	effect *Effect

	own Call // what call points to: one piece of memory for both
}

// event is what a call's goroutine tells the owner: that the promise can be settled, or that the power returned.
type event struct {
	of       *pending
	value    Value
	failure  *Failure
	returned bool // the power's function is no longer running, its place is free
}

// Settled is a call that came to its end: the engine settles the promise of that ticket.
type Settled struct {
	Ticket  int
	Value   Value
	Failure *Failure // nil when it went well
}

// Call begins a call of the asynchronous power at index i of Powers, and returns its ticket. What refuses it comes
// out of Wait, like every other end. When the evaluation's own budget of calls is used up it stops the evaluation.
func (e *Evaluation) Call(i int, args []Value) (ticket int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.host.powers[i]
	e.next++
	c := &pending{ticket: e.next, power: p}
	if f := e.admit(c, args); f != nil {
		e.early = append(e.early, Settled{Ticket: c.ticket, Failure: f})
		return c.ticket
	}
	e.expect(c)
	e.waiting = append(e.waiting, c)
	e.launch()
	return c.ticket
}

// CallSync makes a call of the synchronous power at index i and waits for its end, or for the evaluation's.
func (e *Evaluation) CallSync(i int, args []Value) (Value, *Failure) {
	p := &e.host.powers[i]
	c, f := e.beginSync(p, args)
	if f != nil {
		return Value{}, f
	}
	if p.Local {
		ev := e.do(e.ctx, c)
		return ev.value, ev.failure
	}
	for {
		select {
		case ev := <-e.events:
			if s, ok := e.takeFor(c, ev); ok {
				return s.Value, s.Failure
			}
		case <-e.ctx.Done():
			k, _ := e.Stopped()
			return Value{}, fail(k, "Error", "stopped", nil)
		}
	}
}

// expect notes a call whose end will come as an event.
func (e *Evaluation) expect(c *pending) {
	if e.events == nil {
		e.live, e.wound = map[int]*pending{}, make(chan struct{})
		e.events = make(chan event, 2*(e.host.limits.ConcurrentCalls+1))
	}
	e.live[c.ticket] = c
}

// beginSync admits a synchronous call and starts it, unless it is Local. It does not wait for a place: the guest,
// which could have taken it, is waiting.
func (e *Evaluation) beginSync(p *Power, args []Value) (*pending, *Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &pending{power: p}
	if f := e.admit(c, args); f != nil {
		return nil, f
	}
	e.next++
	c.ticket = e.next
	if p.Local {
		return c, nil
	}
	e.expect(c)
	e.running++
	e.calls[p.Name].running++
	e.begin(c, e.events)
	return c, nil
}

// takeFor books an event while the guest waits for c. What it says of other calls is kept for Wait.
func (e *Evaluation) takeFor(c *pending, ev event) (Settled, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.take(ev)
	if ok && ev.of != c {
		e.early = append(e.early, s)
		return Settled{}, false
	}
	return s, ok
}

// admit checks a call before anything of it reaches the host: the copies, the power's own limits, its revocation.
func (e *Evaluation) admit(c *pending, args []Value) *Failure {
	p := c.power
	if e.over || e.ctx.Err() != nil {
		return fail(KindCancelled, "Error", "the evaluation has ended", nil)
	}
	t := e.calls[p.Name]
	if t == nil {
		if e.calls == nil {
			e.calls = map[string]*tally{}
		}
		t = &tally{}
		e.calls[p.Name] = t
	}
	if !p.Local {
		if e.total++; e.total > e.host.limits.HostCalls {
			e.total--
			e.Stop(KindHostCalls)
			return fail(KindHostCalls, "Error", "stopped", nil)
		}
	}
	t.made++
	if p.Limits.Calls > 0 && t.made > p.Limits.Calls {
		return fail(KindCalls, "Error", fmt.Sprintf("%s may be called %d times in one evaluation", p.Name, p.Limits.Calls), nil)
	}
	if p.Revoked != nil && p.Revoked() {
		return fail(KindRevoked, "Error", p.Name+" was taken back by the operator", nil)
	}
	checked, why := p.checkArgs(args, least(p.Limits.ArgBytes, e.host.limits.CallBytes))
	if why != "" {
		return fail(KindArguments, "TypeError", why, nil)
	}
	c.own = Call{ID: e.ids.next(), Power: p.Name, Args: checked, params: p.Params, log: e.log()}
	c.call = &c.own
	return nil
}

// log is Log as a value, made once.
func (e *Evaluation) log() func(level, text string) {
	if e.logger == nil {
		e.logger = e.Log
	}
	return e.logger
}

// launch starts as many of the waiting calls as there is room for. The first that fits goes first.
func (e *Evaluation) launch() {
	keep := e.waiting[:0]
	for _, c := range e.waiting {
		t := e.calls[c.power.Name]
		if e.running >= e.host.limits.ConcurrentCalls || c.power.Limits.AtOnce > 0 && t.running >= c.power.Limits.AtOnce {
			keep = append(keep, c)
			continue
		}
		e.running++
		t.running++
		e.begin(c, e.events)
	}
	clear(e.waiting[len(keep):])
	e.waiting = keep
}

// begin runs one call on a goroutine of its own. Two events come of it: one that settles the promise, at the latest
// when the call's time is over, and one when the power's function returned. Once the evaluation has wound up nobody
// takes them, and they are dropped: a power that returns after everything else has ended waits for nobody.
func (e *Evaluation) begin(c *pending, to chan<- event) {
	c.effect = &Effect{ID: c.call.ID, Power: c.power.Name, Args: c.call.argsJSON(shownArg), Result: "unknown"}
	e.effects = append(e.effects, c.effect)
	ctx := e.ctx
	if c.power.OnCancel == CancelFinishes {
		ctx = context.WithoutCancel(ctx)
	}
	go func() {
		var once sync.Once
		send := func(ev event) {
			select {
			case to <- ev:
			case <-e.wound:
			}
		}
		settle := func(ev event) { once.Do(func() { send(ev) }) }
		defer func() { // also when the power, or its gate, ends the goroutine
			settle(event{of: c, failure: vanished(c.power)})
			send(event{of: c, returned: true})
		}()
		if f := e.ask(c.power, c.call); f != nil {
			settle(event{of: c, failure: f})
			return
		}
		e.timed(ctx, c, settle)
	}()
}

// vanished is the failure of a power that came to no end of its own.
func vanished(p *Power) *Failure {
	return fail(KindPowerPanic, "Error", p.Name+" could not do it", fmt.Errorf("%s: the power ended its goroutine", p.Name))
}

// timed runs the power and settles the call when it returns or when its time is over, whichever is first.
func (e *Evaluation) timed(ctx context.Context, c *pending, settle func(event)) {
	limit := e.host.limits.CallTime
	if c.power.Limits.Time > 0 {
		limit = min(limit, c.power.Limits.Time)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tooLong := func() bool { // if not, the evaluation ended; Finish says what becomes of the call
		return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	}
	tooLate := func() *Failure {
		return fail(KindPowerTime, "Error", fmt.Sprintf("%s took longer than %s", c.power.Name, limit), context.DeadlineExceeded)
	}
	late := context.AfterFunc(ctx, func() {
		if tooLong() {
			settle(event{of: c, failure: tooLate()})
		}
	})
	ev := e.do(ctx, c)
	late()
	if f := ev.failure; f != nil && f.Kind == KindPowerError && errors.Is(f.Err, context.DeadlineExceeded) && tooLong() {
		ev.failure = tooLate() // the power saw the end of its time before we did
	}
	settle(ev)
}

// ask puts the call to the power's gate.
//
// Its context is the evaluation's, also for a call that is to finish: nothing has been begun yet.
func (e *Evaluation) ask(p *Power, call *Call) (f *Failure) {
	if p.Ask == nil {
		return nil
	}
	defer func() {
		if x := recover(); x != nil {
			f = fail(KindGate, "Error", p.Name+" was not approved", fmt.Errorf("ask %s: panic: %v", p.Name, x))
		}
	}()
	err := p.Ask(e.ctx, call)
	if err == nil {
		return nil
	}
	f = fail(KindGate, "Error", p.Name+" was not approved", err)
	if r, ok := asRefusal(err); ok {
		f.Code, f.Text = r.Code, r.Text
	}
	return f
}

// do runs the power's function and turns what comes of it into an event. A panic is contained here.
func (e *Evaluation) do(ctx context.Context, c *pending) (ev event) {
	p := c.power
	defer func() {
		if x := recover(); x != nil {
			ev = event{of: c, failure: fail(KindPowerPanic, "Error", p.Name+" could not do it", fmt.Errorf("%s: panic: %v", p.Name, x))}
		}
	}()
	v, err := p.Do(ctx, c.call)
	if r, ok := asRefusal(err); ok {
		f := fail(KindByPower, "Error", r.Text, err)
		f.Code = r.Code
		return event{of: c, failure: f}
	}
	if err != nil {
		return event{of: c, failure: fail(KindPowerError, "Error", p.Name+" could not do it", fmt.Errorf("%s: %w", p.Name, err))}
	}
	if why := e.checkResult(p, v); why != "" {
		return event{of: c, failure: fail(KindPowerResult, "Error", p.Name+" could not do it", errors.New(why))}
	}
	return event{of: c, value: v}
}

// checkResult says what is wrong with what a power returned.
func (e *Evaluation) checkResult(p *Power, v Value) string {
	if why := p.Returns.check(v, "the result"); why != "" {
		return p.Name + ": " + why
	}
	if max := least(p.Limits.ResultBytes, e.host.limits.CallBytes); v.size() > max {
		return fmt.Sprintf("%s: the result is %d bytes, at most %d may cross", p.Name, v.size(), max)
	}
	return ""
}

// Waiting tells whether a call is under way whose promise can still be settled.
func (e *Evaluation) Waiting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.live)+len(e.early) > 0
}

// Wait waits for the next call to come to its end. It returns false when the evaluation has to end, or nothing is
// under way.
func (e *Evaluation) Wait() (Settled, bool) {
	for e.Waiting() {
		if s, ok := e.takeEarly(); ok {
			return s, true
		}
		select {
		case ev := <-e.events:
			e.mu.Lock()
			s, ok := e.take(ev)
			e.mu.Unlock()
			if ok {
				return s, true
			}
		case <-e.ctx.Done():
			return Settled{}, false
		}
	}
	return Settled{}, false
}

// takeEarly is the oldest of the ends that came before anybody waited for them.
func (e *Evaluation) takeEarly() (Settled, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.early) == 0 || e.ctx.Err() != nil {
		return Settled{}, false
	}
	s := e.early[0]
	e.early = e.early[1:]
	return s, true
}

// take books one event. The lock is held. It returns false for one that settles nothing.
func (e *Evaluation) take(ev event) (Settled, bool) {
	if ev.returned {
		e.running--
		e.calls[ev.of.power.Name].running--
		if e.ctx.Err() == nil {
			e.launch()
		}
		return Settled{}, false
	}
	e.conclude(ev)
	return Settled{Ticket: ev.of.ticket, Value: ev.value, Failure: ev.failure}, true
}

// conclude writes down how a call ended.
func (e *Evaluation) conclude(ev event) {
	delete(e.live, ev.of.ticket)
	switch f := ev.failure; {
	case f == nil:
		ev.of.effect.Result = "ok"
	case f.Kind.Status() == StatusRefused:
		ev.of.effect.Result = "refused"
	case f.Kind == KindPowerError || ev.of.power.OnCancel == CancelDiscards:
		ev.of.effect.Result = "failed"
	default: // it panicked or was too late, and it was not a mere read: nobody knows how far it came
		ev.of.effect.Result = "unknown"
	}
}

// grace is how long the end of an evaluation waits for calls whose context has just ended, so that what they did is
// known. It is part of the 250 ms in which a stopped evaluation has to be over.
const grace = 100 * time.Millisecond

// windUp brings the calls that are under way to their end, each as its power's cancel policy says. It is called when
// the guest runs no more; the evaluation's context has ended. Calls that had not been started are dropped: nothing of
// them reached the host.
func (e *Evaluation) windUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	e.over = true
	e.waiting = nil
	if e.events == nil {
		return // there was no call to wait for
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	patience := timer.C
	for {
		must, may := e.started()
		if must == 0 && (may == 0 || patience == nil) {
			break
		}
		select {
		case ev := <-e.events:
			e.take(ev)
		case <-patience:
			patience = nil
		}
	}
	for _, c := range e.live {
		if c.effect != nil && c.power.OnCancel == CancelDiscards {
			c.effect.Result = "discarded"
		}
	}
	close(e.wound)
}

// started counts the calls that run: those that must be waited for, and those that may be.
func (e *Evaluation) started() (must, may int) {
	for _, c := range e.live {
		switch {
		case c.effect == nil:
		case c.power.OnCancel == CancelFinishes:
			must++
		default:
			may++
		}
	}
	return must, may
}

// least is the smaller of a power's own limit, when it has one, and the compartment's.
func least(own, all int) int {
	if own > 0 {
		return min(own, all)
	}
	return all
}
