package compartment

import "context"

// Engine makes compartments. The engines are in the sub-packages; everything else in this package is the same for all
// of them. An Engine is safe for concurrent use.
type Engine interface {
	// Name is the engine's name: "goja", "wasm".
	Name() string
	// Promises says what the engine holds the guest to. What it does not promise, no setting makes it do.
	Promises() Promises
	// Open makes a fresh compartment: its own realm, hardened, with the powers of the configuration and nothing else.
	// It refuses a configuration that is not valid, or that asks for what the engine does not promise, with an *Error
	// whose code is CodeConfig.
	Open(ctx context.Context, c Config) (Compartment, error)
}

// Promises are the limits an engine enforces whatever the guest does. A false is said out loud: the limit is then
// either refused when it is asked for (memory) or holds for guest code only, not inside a single built-in (time).
type Promises struct {
	// Capabilities: guest code reaches its own realm and the powers handed in, nothing else.
	Capabilities bool `json:"capabilities"`
	// Time: a guest is stopped at its time limit wherever it is. False: only between its own instructions.
	Time bool `json:"time"`
	// Memory: a guest cannot take more than its limit, and cannot take the process down by asking.
	Memory bool `json:"memory"`
	// Stack: recursion of any kind ends in an error of the guest and never in the host's stack.
	Stack bool `json:"stack"`
}

// Config is all that decides what a compartment can do. It is a value; nothing fails until Open.
type Config struct {
	// Powers are the functions the guest gets, by name. Empty means that it can compute and nothing else.
	Powers []Power
	// Limits bound every evaluation. Zero fields take the defaults.
	Limits Limits
	// Modules are the sources that guest code can import(), by specifier (R260). They are the host's own code, vetted by it, and run as guest code
	// in the realm: they reach what the guest reaches. A specifier is taken as it is written; there is no path, and no module
	// beside these. An engine that has no modules refuses a configuration with any.
	Modules map[string]string
}

// Compartment is one realm. It holds one global object that guest code can change; no other compartment sees it.
// Its methods are safe for concurrent use; evaluations are run one at a time.
type Compartment interface {
	// Evaluate runs source as a script and reports how that ended. What the guest does wrong, and every limit it meets,
	// is in the Outcome. An error means that the boundary itself could not do its work, and is an *Error: nothing is
	// known of the guest then. The end of ctx stops the guest and is an Outcome (KindCancelled).
	//
	// Top-level declarations stay for the next evaluation of the same compartment.
	Evaluate(ctx context.Context, source string) (Outcome, error)
	// Close ends the compartment and waits for its own goroutines. Powers that are still running are cancelled, and
	// waited for only as their cancel policy says. It is safe to call it twice.
	Close() error
}
