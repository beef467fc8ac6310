package shell

import (
	"context"
	"os"

	"sallyport/policy"
)

// Enforcer puts policies in force for the sessions of a [Manager]. [NewEnforcer] makes this package's own, which is what a
// session uses unless another one is given. What an enforcer says it cannot do is a typed error of the session, and never
// done in part. Its methods may be called from several goroutines.
type Enforcer interface {
	// Capabilities say what it can do. They do not change.
	Capabilities() Capabilities
	// Preflight looks at the machine and changes nothing. An *Error with CodeUnsupportedEnv refuses before anything else is
	// looked at; any other error fails the construction.
	Preflight(ctx context.Context) (Preflight, error)
	// Adopt gives what something else has put in force in this process already, or nil. It starts and changes nothing. The
	// manager never calls Release on what it adopted.
	Adopt(ctx context.Context) (Enforcement, error)
	// Establish puts p in force. After an error nothing of it is left. An *Error with CodeDependencyMissing says that
	// something is absent on this machine, and that absence is what is known.
	Establish(ctx context.Context, p policy.Policy) (Enforcement, error)
}

// Capabilities are what an [Enforcer] can do.
type Capabilities struct {
	// PerCallNetwork: each command can have a network section of its own.
	PerCallNetwork bool
	// Narrowing: what is in force can be narrowed in place.
	Narrowing bool
	// Records: what is denied is recorded.
	Records bool
}

// Preflight is what an [Enforcer] found on the machine. The first two are conditions for AllowUnsandboxedFallback.
type Preflight struct {
	// NotInstalled: the enforcer itself is not there.
	NotInstalled bool
	// Missing are dependencies that are absent, as sentences. With any, construction fails.
	Missing []string
	// Warnings are told as an event, and change nothing.
	Warnings []string
	// Platform is what the rules about files depend on: the kernel's release, for this package's own.
	Platform string
	// Confinement is how this process is confined itself, as far as that can be found out.
	Confinement Confinement
}

// Enforcement is one policy in force. Values are compared, so they should be pointers.
type Enforcement interface {
	// Rules are what is in force now, as the place that enforces them has it: never what was asked for.
	Rules(ctx context.Context) (*policy.Rules, error)
	// Scope puts another policy in force beside this one, for the commands that are started through what it gives.
	Scope(ctx context.Context, p policy.Policy) (Enforcement, error)
	// Narrow puts p in force instead: for the files of the commands that start from now on, and for the network of the
	// running ones too. After an error what is in force may be narrower than before, and is not wider.
	Narrow(ctx context.Context, p policy.Policy) error
	// Start starts a command and returns when it runs. It takes from c what is exported, and ends the command with
	// everything that it started when ctx ends. An error that is an *Error is passed on as it is.
	Start(ctx context.Context, c *Cmd) (Process, error)
	// Release ends it. Every command has ended by then. Releasing twice does nothing.
	Release() error
}

// Process is a running command of an [Enforcement].
type Process interface {
	// Done is closed when the command and everything that it started is gone, whether or not Wait is called.
	Done() <-chan struct{}
	// Wait waits for that and until all output is written. It is called once. A non-zero exit is no error.
	Wait() (Completion, error)
	Signal(os.Signal) error
	Report() Report
	// Violations are complete when Wait has returned.
	Violations() []Violation
}
