package shell

import (
	"context"
	"slices"
)

// A jail is set up before it is known what it is to run, so one can be kept ready: a command then costs little more than
// a fork and an exec. Each jail serves one command and is gone with it; nothing of a command is in any other's jail.

// warm is how many jails are kept ready.
func (o Options) warm() int {
	if o.Warm == 0 {
		return defaultWarm
	}
	return max(o.Warm, 0)
}

// defaultWarm is enough for commands that come one after another with anything in between.
const defaultWarm = 1

// current gives a jail that is ready, while it shows what the host has now, or sets one up. One that is stale tells that
// all are.
func (s *Sandbox) current(ctx context.Context) (*jailProcess, error) {
	plan, err := s.usePlan(ctx)
	if err != nil {
		return nil, err
	}
	fits := plan.current()
	s.mu.Lock()
	var stale []*jailProcess
	var found *jailProcess
	for found == nil && len(s.ready) > 0 {
		j := s.ready[0]
		s.ready = s.ready[1:]
		if fits && j.plan == plan && j.sound() {
			found = j
		} else {
			stale = append(stale, j)
		}
	}
	var coming chan *jailProcess
	if found == nil && len(s.expect) < s.making {
		coming = make(chan *jailProcess, 1)
		s.expect = append(s.expect, coming)
	}
	s.mu.Unlock()
	s.releasePlan(plan)
	discardAll(stale)
	if found != nil {
		return found, nil
	}
	if coming != nil {
		return s.await(ctx, coming)
	}
	return s.fresh(ctx)
}

// await waits for a jail that is being set up: it will be there before one that is begun now.
func (s *Sandbox) await(ctx context.Context, coming chan *jailProcess) (*jailProcess, error) {
	select {
	case j := <-coming:
		switch {
		case j == nil:
		case s.shows(ctx, j):
			return j, nil
		default:
			j.discard()
		}
		return s.fresh(ctx)
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(s.expect, coming)
	if i >= 0 {
		s.expect = slices.Delete(s.expect, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it came at the same moment
		if j := <-coming; j != nil {
			j.discard()
		}
	}
	return nil, &Error{Code: CodeFailed, Detail: "set up a jail", Err: ctx.Err()}
}

// shows says whether a jail that was begun earlier shows what the host has now.
func (s *Sandbox) shows(ctx context.Context, j *jailProcess) bool {
	plan, err := s.usePlan(ctx)
	if err != nil {
		return false
	}
	defer s.releasePlan(plan)
	return j.plan == plan && plan.current()
}

// prepare sets jails up until as many are ready as are to be, in the background. It is called when a command has started:
// the command comes first. When one cannot be set up, none is ready, and the next command tells why.
func (s *Sandbox) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && len(s.ready)+s.making < s.options.warm() {
		s.making++
		s.done.Go(s.prepareOne)
	}
}

func (s *Sandbox) prepareOne() {
	j, err := s.fresh(s.ctx)
	s.mu.Lock()
	s.making--
	switch {
	case len(s.expect) > 0:
		s.expect[0] <- j // nil after an error
		s.expect = s.expect[1:]
		j = nil
	case err == nil && !s.closed:
		s.ready = append(s.ready, j)
		j = nil
	}
	s.mu.Unlock()
	if j != nil {
		j.discard()
	}
}

func discardAll(jails []*jailProcess) {
	for _, j := range jails {
		j.kill()
	}
	for _, j := range jails {
		j.discard()
	}
}
