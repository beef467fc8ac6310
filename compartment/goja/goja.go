// Package goja runs compartments on goja, a JavaScript engine that lives inside the Go process.
//
//	engine := goja.NewWithoutMemoryLimit()
//	c, err := engine.Open(ctx, compartment.Config{Powers: powers})
//
// It promises capabilities: a guest reaches its own realm, which the same script hardens as in every engine, and the powers it was given. Guest code is
// stopped at its time limit wherever it runs instructions of its own, and cannot catch that.
//
// # Costs
//
// A compartment with its first evaluation takes about 2 ms of a processor and holds 1 MB, most of it for making and freezing the 570 objects of the
// language one by one; the first in a process takes 10 ms more, for the walk that the others follow (harden.go). A warm evaluation takes 10 µs.
//
// # What holds besides
//
// A guest that asks for much must not end the process. So built-ins that do not stop by themselves, or make much at once, are looked at before they
// run, and refuse (refused/too_large, a RangeError that the guest can catch) what is beyond what programs do: texts of more than 16 million characters,
// lists of more than 16 million elements, 64 MB of one buffer, 2000 levels of nesting in JSON and in lists that are made text, BigInts that are shifted by more than a million
// (guards.go, sums.go, nesting.go, constructors.go, bigint.go). The source, and text that eval and the function constructors get, is measured before the parser
// sees it (scan.go). While a guest runs, the heap of the process is watched, and the guest is stopped (stopped/memory) when 512 MB more are alive than
// when it had begun, whoever made them (memory.go).
//
// # What it does not promise
//
// Memory. The guest's values are Go values in the heap of the host. There is no limit on them: the watch is late, counts what others allocate meanwhile, and a
// process that has less than two gigabytes to spare may end before it stops anything. That is why the constructor is called what it is called. A memory
// limit in the configuration is refused.
//
// Time inside one built-in. goja looks for a stop between instructions of the guest. These go on after a stop. Evaluate returns at its limit all the same
// (engine_lost/still_running), and what was begun goes on in a goroutine of the process until it is through, or takes the memory it needs; nothing can end it:
//
//   - regular expressions that look ahead or refer back: they are matched by a library that backtracks, and looks at no clock. Others take time in proportion to the text.
//   - products of huge BigInts, and templates and sums of long texts: operators, like the shift, but such as are everywhere. A template of a thousand long texts asks for more memory at once
//     than there is, and the process ends.
//   - built-ins on lists of millions, within the bounds above: sorting, copying, spreading, the names of a typed array or a long text, what a pattern finds in a long text.
//   - a proxy that lies about its length, differently each time it is asked; and a source made to mislead the scan, which takes the parser long.
//
// The stack of native recursion. Calls are counted (1000 deep), and so is what nests in a source, in JSON and in lists. A chain of prototypes is gone through on the
// stack of the host; what keeps it short is that its objects are in memory: half a gigabyte of them takes less than the gigabyte of stack that Go allows.
//
// # How it differs
//
// After a stop the session is lost: there is no image to go back to. Where await stands at the top level, var and functions stay for the next evaluation; let, const and class do not. With
// compartment.OwnGlobal, a direct eval sees the compartment's global and no variables around it, and a shift or a power by a computed count is refused in code made of text.
// A list inside of itself is empty text, where the language recurses. Recursion without end is stopped (stopped/depth) and takes the session along, where the language has a RangeError
// that can be caught. Faults of goja's own end a session (engine_lost/panic): "\u{10ffff}" in a text, a list that its own comparison makes shorter. Local texts of dates are
// written in another way. What goja lacks of the language: async generators, for await, iterator helpers, some flags of patterns, Object.groupBy, Promise.withResolvers,
// Array.fromAsync, using; and a buffer's maxByteLength is not looked at.
//
// Use compartment/wasm for code that may be hostile. This engine is for code that may be wrong.
package goja

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sallyport/compartment"
)

// engine is the goja engine. It has no state: nothing is shared between compartments but compiled code.
type engine struct{}

// NewWithoutMemoryLimit makes the engine. Its name says what it lacks: a guest can use up the memory of the process.
func NewWithoutMemoryLimit() compartment.Engine { return engine{} }

// Name is "goja".
func (engine) Name() string { return "goja" }

// Promises are capabilities alone. Time holds for guest code, but not inside one built-in, so it is not promised.
func (engine) Promises() compartment.Promises { return compartment.Promises{Capabilities: true} }

// Open makes a compartment. A memory limit is refused: there is none here.
func (engine) Open(ctx context.Context, c compartment.Config) (compartment.Compartment, error) {
	if ctx.Err() != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: "open a compartment", Err: context.Cause(ctx)}
	}
	if c.Limits.MemoryBytes != 0 {
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "limits.memory_bytes",
			Reason: "the goja engine cannot limit memory", Hint: "leave it out, or use the wasm engine"}
	}
	if len(c.Modules) > 0 {
		return nil, &compartment.Error{Code: compartment.CodeConfig, Field: "modules",
			Reason: "the goja engine has no modules", Hint: "leave them out, or use the wasm engine"}
	}
	host, err := compartment.NewHost(c)
	if err != nil {
		return nil, err
	}
	r, err := newRealm(host)
	if err != nil {
		return nil, err
	}
	return &room{host: host, realm: r}, nil
}

// room is one compartment: a realm and the lock that makes evaluations follow each other.
type room struct {
	host *compartment.Host

	mu    sync.Mutex // held by the evaluation that runs
	realm *realm     // nil when it was lost

	state   sync.Mutex // guards what Close needs while an evaluation runs
	closed  bool
	running *compartment.Evaluation
}

// Evaluate runs source as a script. See compartment.Compartment.
func (r *room) Evaluate(ctx context.Context, source string) (compartment.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.realm == nil {
		return compartment.Outcome{}, &compartment.Error{Code: compartment.CodeLost, Reason: "the realm ended with an earlier evaluation",
			Hint: "open a new compartment"}
	}
	ev, err := r.begin(ctx, source)
	if err != nil {
		return compartment.Outcome{}, err
	}
	return r.conclude(ev, r.run(ev, source)), nil
}

// conclude makes the realm ready for the next evaluation, or gives it up.
func (r *room) conclude(ev *compartment.Evaluation, end compartment.Ending) compartment.Outcome {
	ev.Quiesce()
	r.state.Lock()
	r.running = nil
	r.state.Unlock()
	end.Session = compartment.SessionKept
	switch end.Kind.Status() {
	case compartment.StatusStopped, compartment.StatusEngineLost:
		// A stop leaves the realm wherever it was. There is no image to go back to.
		r.realm, end.Session = nil, compartment.SessionLost
	default:
		r.realm.vm.ClearInterrupt() // a stop that came too late must not hit the next evaluation
	}
	return ev.Finish(end)
}

// patience is how long the engine may take to answer a stop. It answers within microseconds, unless it is inside one
// built-in that goes on and on.
const patience = 200 * time.Millisecond

// run runs the source on a goroutine of its own, which owns the realm while it runs. When the engine does not answer
// a stop, the caller gets its answer all the same, and the goroutine is left to itself: nobody can end it. It finds
// the interrupt when it comes back.
func (r *room) run(ev *compartment.Evaluation, source string) compartment.Ending {
	done := make(chan compartment.Ending, 1)
	watch := newMemoryWatch(ev)
	defer watch.Stop()
	realm := r.realm
	realm.watch = watch
	go func() {
		end := compartment.Ending{Kind: compartment.KindEnginePanic, Err: errors.New("goja: the goroutine was ended")}
		defer func() { done <- end }()
		end = realm.run(ev, source)
	}()
	for running := true; running; {
		select {
		case end := <-done:
			return end
		case <-ev.Done():
			running = false
		case <-watch.C:
			watch.look()
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case end := <-done:
		return end
	case <-timer.C:
		kind, _ := ev.Stopped()
		return compartment.Ending{Kind: compartment.KindStillRunning, Err: fmt.Errorf("goja did not answer the stop (%s); a goroutine goes on", kind)}
	}
}

// begin starts the clock, unless the compartment was closed.
func (r *room) begin(ctx context.Context, source string) (*compartment.Evaluation, error) {
	r.state.Lock()
	defer r.state.Unlock()
	if r.closed {
		return nil, &compartment.Error{Code: compartment.CodeClosed, Reason: "the compartment was closed"}
	}
	vm := r.realm.vm
	r.running = r.host.Begin(ctx, source, func() { vm.Interrupt(errStop) })
	return r.running, nil
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
	return nil
}

// stopSignal is the value of every interrupt. It says nothing: the evaluation knows why.
type stopSignal struct{}

func (stopSignal) Error() string { return "stopped" }

var errStop error = stopSignal{}
