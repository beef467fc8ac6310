package shell

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"sallyport/policy"
)

// Sandbox runs commands under one policy. Every command gets a jail of its own. It is safe for concurrent use.
type Sandbox struct {
	rules   *policy.Rules
	options Options
	env     []string
	plan    *jailPlan
	report  Report

	mu     sync.Mutex // of what follows, and of rules
	closed bool
	ready  []*jailProcess        // set up, for the commands to come; the oldest first
	making int                   // jails that are being set up to be ready
	expect []chan *jailProcess   // commands that wait for one of those; each gets a jail, or nil
	live   map[*jailProcess]bool // in use
	done   sync.WaitGroup        // commands that have not ended, and jails that are being made ready
	ctx    context.Context       // ends with the sandbox
	cancel context.CancelFunc

	readPlan             *jailPlan // the plan from which readRules were read
	readLists, readRules *policy.Rules
}

// Open checks the policy and the options, finds out what exists of the names to protect, and sets a first jail up, so
// that a layer or limit that this machine cannot put up fails here and not at the first command. That jail serves the
// first command; [Options.Warm] says how many are kept ready for those that follow. Close the sandbox when done.
//
// Errors are *Error: CodeUnsupportedEnv on a platform without a process boundary, CodeInvalidConfig for a policy or
// option that cannot be enforced, CodeDependencyMissing and CodeFailed for a machine that cannot.
func Open(ctx context.Context, p policy.Policy, o Options) (*Sandbox, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &Error{Code: CodeFailed, Detail: "open a sandbox", Err: err}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	rules, seen, err := compileHere(p)
	if err != nil {
		return nil, err
	}
	env, err := o.environment(p)
	if err != nil {
		return nil, err
	}
	plan, err := makePlan(ctx, p, rules, seen, o)
	if err != nil {
		return nil, err
	}
	first, err := plan.start(ctx)
	if err != nil {
		plan.end()
		return nil, err
	}
	s := &Sandbox{rules: rules, options: o, env: env, plan: plan, report: first.report,
		ready: []*jailProcess{first}, live: map[*jailProcess]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// check refuses options that can never work (R22).
func (o Options) check() error {
	if o.Helper != "" && !filepath.IsAbs(o.Helper) {
		return &Error{Code: CodeInvalidConfig, Detail: "Options.Helper is not an absolute path: " + o.Helper}
	}
	negative := map[string]bool{
		"Options.TmpBytes":             o.TmpBytes < 0,
		"Options.Limits.MemoryBytes":   o.Limits.MemoryBytes < 0,
		"Options.Limits.Processes":     o.Limits.Processes < 0,
		"Options.Limits.CPUTime":       o.Limits.CPUTime < 0,
		"Options.Limits.FileSizeBytes": o.Limits.FileSizeBytes < 0,
		"Options.Limits.Descriptors":   o.Limits.Descriptors < 0,
		"Options.Limits.WriteBytes":    o.Limits.WriteBytes < 0,
		"Options.Limits.Connections":   o.Limits.Connections < 0,
		"Options.Limits.NetworkBytes":  o.Limits.NetworkBytes < 0,
		"Options.Limits.NetworkIdle":   o.Limits.NetworkIdle < 0,
	}
	for name, bad := range negative {
		if bad {
			return &Error{Code: CodeInvalidConfig, Detail: name + " is negative"}
		}
	}
	return nil
}

// Rules are the compiled rules in force: what Read, Write and Connect of the policy decide, and why.
func (s *Sandbox) Rules() *policy.Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules
}

// Report says what was in force in the jail that Open set up. Every command has its own: see [Cmd.Report].
func (s *Sandbox) Report() Report { return s.report }

// Close kills every command that still runs, with everything it started, waits until they are gone, and releases
// what the sandbox holds. Commands after it fail with CodeNotInitialized. Closing twice does nothing (R80-R82).
func (s *Sandbox) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	ready := s.ready
	s.ready = nil
	for j := range s.live {
		j.kill()
	}
	s.mu.Unlock()
	s.cancel()
	discardAll(ready)
	s.done.Wait()
	if first {
		s.plan.end()
	}
	return nil
}

// take gives a jail: one that is ready, while what it shows is still what the host has, or a new one.
func (s *Sandbox) take(ctx context.Context) (*jailProcess, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed()
	}
	s.done.Add(1)
	s.mu.Unlock()
	j, err := s.current(ctx)
	if err != nil {
		s.done.Done()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		j.discard()
		s.done.Done()
		return nil, errClosed()
	}
	s.live[j] = true
	return j, nil
}

// fresh sets a jail up.
func (s *Sandbox) fresh(ctx context.Context) (*jailProcess, error) {
	plan, err := s.usePlan(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.releasePlan(plan) }()
	for range maxRenewals {
		j, err := plan.start(ctx)
		if err != nil {
			return nil, err
		}
		// A mount that came between the plan and the jail's copy of the tree may show what is denied under another name.
		next, err := s.usePlan(ctx)
		if err != nil {
			j.discard()
			return nil, err
		}
		old := plan
		plan = next
		s.releasePlan(old)
		if next == old {
			return j, nil
		}
		j.discard()
	}
	return nil, &Error{Code: CodeFailed, Detail: fmt.Sprintf("set up a jail: the host's mount table has changed %d times meanwhile", maxRenewals)}
}

// maxRenewals bounds how often a jail is made again because the host's mount table has changed meanwhile.
const maxRenewals = 20

// usePlan is the plan for the mount table that the host has now.
func (s *Sandbox) usePlan(ctx context.Context) (*jailPlan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	plan, err := s.plan.renewed(ctx)
	if err != nil {
		return nil, err
	}
	if old := s.plan; plan != old {
		s.plan = plan
		if old.users == 0 {
			old.close()
		}
	}
	plan.users++
	return plan, nil
}

func (s *Sandbox) releasePlan(p *jailPlan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.users--
	if p != s.plan && p.users == 0 {
		p.close()
	}
}

// give takes a jail out of the list when its command has ended.
func (s *Sandbox) give(j *jailProcess) {
	s.mu.Lock()
	delete(s.live, j)
	s.mu.Unlock()
	s.done.Done()
}

func (s *Sandbox) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func errClosed() *Error {
	return &Error{Code: CodeNotInitialized, Detail: "run a command", Err: ErrClosed}
}
