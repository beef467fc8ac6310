package shell

import (
	"context"
	"encoding/json"
	"time"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// PlannedFor is what the jails of a sandbox would be made from. Nothing is started.
func PlannedFor(ctx context.Context, p policy.Policy, o Options) (jail.Plan, error) {
	rules, seen, err := compileHere(p)
	if err != nil {
		return jail.Plan{}, err
	}
	plan, err := makePlan(ctx, p, rules, seen, o)
	if err != nil {
		return jail.Plan{}, err
	}
	plan.end()
	return plan.wire, nil
}

// TimedStart sets one jail up and gives what the set-up's calls took, and how long it was until the calls had ended, and
// until the first process was ready.
func TimedStart(ctx context.Context, s *Sandbox) (steps []jail.Step, executed, ready time.Duration, err error) {
	plan, err := s.usePlan(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	defer s.releasePlan(plan)
	plan.setup.Time()
	begin := time.Now()
	j, err := plan.launch()
	if err != nil {
		return nil, 0, 0, err
	}
	executed = time.Since(begin)
	_, err = j.receive()
	ready = time.Since(begin)
	steps = plan.setup.Steps()
	j.discard()
	return steps, executed, ready, err
}

// Waiting is how many jails are ready.
func Waiting(s *Sandbox) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready)
}

// FirstProcess is the host's number of the first process of a command's jail.
func FirstProcess(c *Cmd) int { return c.jail.pid }

// Box is the sandbox of a session that owns what is in force.
func (s *Session) Box() *Sandbox { return s.est.enforced.(*sandboxed).current() }

// Rewrite changes the sealed plan of a session that owns what is in force, as only a fault of this package could.
func (s *Session) Rewrite(change func(*jail.Plan)) error {
	box := s.Box()
	box.mu.Lock()
	defer box.mu.Unlock()
	wire := box.plan.wire
	names := *wire.Names
	wire.Names = &names
	change(&wire)
	body, err := json.Marshal(wire)
	if err != nil {
		return err
	}
	old := box.plan.file
	if box.plan.file, err = memfd("sallyport-plan", body); err != nil {
		return err
	}
	box.readPlan = nil
	return old.Close()
}
