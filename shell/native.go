package shell

import (
	"context"
	"os"
	"slices"
	"sync"

	"sallyport/policy"
)

// NewEnforcer makes this package's own enforcer: every policy in force is a [Sandbox] opened with o. It can do everything
// that [Capabilities] names. Options are checked when a session is opened.
func NewEnforcer(o Options) Enforcer { return native{o} }

type native struct{ options Options }

func (native) Capabilities() Capabilities {
	return Capabilities{PerCallNetwork: true, Narrowing: true, Records: true}
}

// Preflight finds out what surrounds this process. What a jail needs is found out by setting one up, in Establish.
func (native) Preflight(context.Context) (Preflight, error) {
	if err := supported(); err != nil {
		return Preflight{}, err
	}
	platform, warnings := platformText()
	return Preflight{Platform: platform, Warnings: warnings, Confinement: HostConfinement()}, nil
}

// Adopt finds nothing: what confines this process already cannot say by which lists. Preflight tells of it.
func (native) Adopt(context.Context) (Enforcement, error) { return nil, nil }

func (n native) Establish(ctx context.Context, p policy.Policy) (Enforcement, error) {
	box, err := Open(ctx, p, n.options)
	if err != nil {
		return nil, err
	}
	return &sandboxed{options: n.options, box: box}, nil
}

// sandboxed is a policy in force as a Sandbox. A narrowed one is a new Sandbox; those before it live on for as long as
// their commands do.
type sandboxed struct {
	options Options

	mu      sync.Mutex
	box     *Sandbox
	retired []*Sandbox
}

func (e *sandboxed) current() *Sandbox {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.box
}

// Rules are read back from the sealed plan that every jail is made from.
func (e *sandboxed) Rules(context.Context) (*policy.Rules, error) { return e.current().inForce() }

func (e *sandboxed) Scope(ctx context.Context, p policy.Policy) (Enforcement, error) {
	return native{e.options}.Establish(ctx, p)
}

// forOne is for the policy of a single command: no jail is kept ready for a second one.
func (e *sandboxed) forOne() *sandboxed {
	o := e.options
	o.Warm = -1
	return &sandboxed{options: o, box: e.current()}
}

// Narrow opens a sandbox for p, has the running commands' network narrowed, and then takes the new one into use.
func (e *sandboxed) Narrow(ctx context.Context, p policy.Policy) error {
	next, err := Open(ctx, p, e.options)
	if err != nil {
		return err
	}
	if err := e.narrowRunning(next.Rules()); err != nil {
		return joined(err, next.Close())
	}
	e.mu.Lock()
	e.retired = append(e.retired, e.box)
	e.box = next
	e.mu.Unlock()
	return e.sweep()
}

// narrowRunning narrows the network of the commands that run.
func (e *sandboxed) narrowRunning(next *policy.Rules) error {
	e.mu.Lock()
	all := append(slices.Clone(e.retired), e.box)
	e.mu.Unlock()
	for _, box := range all {
		if err := box.narrowNetwork(next); err != nil {
			return err
		}
	}
	return nil
}

// sweep closes the retired sandboxes whose commands have ended.
func (e *sandboxed) sweep() error {
	var idle []*Sandbox
	e.mu.Lock()
	e.retired = slices.DeleteFunc(e.retired, func(b *Sandbox) bool {
		if b.busy() {
			return false
		}
		idle = append(idle, b)
		return true
	})
	e.mu.Unlock()
	return closeSandboxes(idle)
}

func closeSandboxes(boxes []*Sandbox) error {
	var first error
	for _, b := range boxes {
		if err := b.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (e *sandboxed) Start(ctx context.Context, c *Cmd) (Process, error) {
	if err := e.sweep(); err != nil {
		return nil, err
	}
	c.ctx, c.box = ctx, e.current()
	if err := c.startInJail(); err != nil {
		return nil, err
	}
	return jailed{c}, nil
}

func (e *sandboxed) Release() error {
	e.mu.Lock()
	all := append(e.retired, e.box)
	e.retired = nil
	e.mu.Unlock()
	return closeSandboxes(all)
}

// jailed is a command in a jail, seen as a Process.
type jailed struct{ c *Cmd }

func (p jailed) Done() <-chan struct{} { return p.c.ended }

func (p jailed) Wait() (Completion, error) {
	err := p.c.waitInJail()
	if p.c.Completion == nil {
		return Completion{}, err
	}
	return *p.c.Completion, err
}

func (p jailed) Signal(sig os.Signal) error { return p.c.Signal(sig) }
func (p jailed) Report() Report             { return p.c.Report() }
func (p jailed) Violations() []Violation    { return p.c.Violations() }

// busy says whether a command of the sandbox runs, or is about to. A jail whose command has ended is no such thing.
func (s *Sandbox) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for j := range s.live {
		if !j.over.Load() {
			return true
		}
	}
	return false
}

// inForce are the rules that the next command's jail will have, read from what it is made from.
func (s *Sandbox) inForce() (*policy.Rules, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	listed := s.plan.listed()
	if s.readPlan == s.plan && s.readLists == listed && s.readRules != nil {
		return s.readRules, nil // a plan is sealed, and rules never change: they say what they said
	}
	rules, err := s.plan.rulesWritten()
	if err == nil && listed != nil {
		rules = listed.WithFilesOf(rules) // files as the jails have them, hosts as the gateways do
	}
	if err != nil {
		return nil, &Error{Code: CodePolicyConflict, Detail: "read back the rules that are in force", Err: err}
	}
	s.readPlan, s.readLists, s.readRules = s.plan, listed, rules
	return rules, nil
}
