package shell

import (
	"context"

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
