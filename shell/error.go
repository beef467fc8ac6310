package shell

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Code identifies why the process boundary refused or broke. No code of this package is a code of the compartment
// package, so that an error alone tells which boundary spoke (requirements R2, R14-R23).
type Code string

// The codes, and when each is used.
const (
	// CodeInvalidConfig: a policy, option or argument that can never work; found before anything runs (R22).
	CodeInvalidConfig Code = "E_INVALID_SANDBOX_CONFIG"
	// CodeUnsupportedEnv: this platform has no process boundary of ours, which comes before any other check (R23), or
	// the policy asks for something that this boundary cannot enforce yet.
	CodeUnsupportedEnv Code = "E_SANDBOX_UNSUPPORTED_ENV"
	// CodeDependencyMissing: something the boundary needs is absent on this machine, and absence is what we know (R16).
	CodeDependencyMissing Code = "E_SANDBOX_DEPENDENCY_MISSING"
	// CodeNotInitialized: use after Close or Dispose, of a session or of the one that everything here rests on (R18).
	CodeNotInitialized Code = "E_SANDBOX_NOT_INITIALIZED"
	// CodePolicyConflict: a policy is wider than what was admitted: at admission, above the ceiling, or because what is in
	// force has become wider meanwhile (R14). errors.As finds the *policy.SubsetError with the axis, entry and reason.
	CodePolicyConflict Code = "E_SANDBOX_POLICY_CONFLICT"
	// CodeNarrowingUnsupported: the enforcer cannot narrow the axis that the message names (R19).
	CodeNarrowingUnsupported Code = "E_SANDBOX_NARROWING_UNSUPPORTED"
	// CodeNetworkGrantUnsupported: the network section of a command's own policy is not the session's, and the enforcer
	// cannot keep a network to one command (R20).
	CodeNetworkGrantUnsupported Code = "E_SANDBOX_NETWORK_GRANT_UNSUPPORTED"
	// CodeFailed: a layer could not be put up, the jail died, or a command could not be started (R17).
	CodeFailed Code = "E_SANDBOX_FAILED"
)

// Branches a caller needs, for errors.Is.
var (
	// ErrNotFound: the command does not exist inside the jail (exit status 127 of a shell).
	ErrNotFound = errors.New("command not found")
	// ErrNotExecutable: the command exists inside the jail but cannot be executed (exit status 126 of a shell).
	ErrNotExecutable = errors.New("command not executable")
	// ErrClosed: the sandbox was closed.
	ErrClosed = errors.New("sandbox is closed")
	// ErrDisposed: the session, or the one that it rests on, was disposed of.
	ErrDisposed = errors.New("session is disposed of")
)

// Error is every error of this package that is about the boundary itself. A command that ran and exited with a
// non-zero status is not an error: see [Completion].
type Error struct {
	// Code is the branch.
	Code Code
	// Layer is the layer that could not be put up ("mounts", "landlock", …), when it is about a layer.
	Layer string
	// Syscall and Errno are the call that failed and how, when the kernel refused.
	Syscall string
	Errno   syscall.Errno
	// Detail says what was being done, with the noun in hand.
	Detail string
	// Hints say what to do about it, most likely first.
	Hints []string
	// Err is the cause, for errors.Is and errors.As.
	Err error
}

// Error is one lower-case line: what was being done, the layer, the call and the errno.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Detail)
	if e.Syscall != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		fmt.Fprintf(&b, "%s: %s", e.Syscall, errnoText(e.Errno))
	}
	if e.Err != nil && !strings.Contains(b.String(), e.Err.Error()) {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause and, when the kernel refused, the errno.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	if e.Errno != 0 {
		errs = append(errs, e.Errno)
	}
	return errs
}

// Is makes errors.Is(err, &Error{Code: c}) true for every error with that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Detail == "" && t.Err == nil
}

// CodeOf is the code of the first *Error in err's tree, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
