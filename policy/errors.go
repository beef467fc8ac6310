package policy

import "errors"

// ErrInvalid is what every *Error is: errors.Is(err, ErrInvalid).
var ErrInvalid = errors.New("policy: invalid policy")

// Error is a policy that was refused.
type Error struct {
	Key     string
	Value   string
	Reason  string
	Nearest string
	Err     error
}

func (e *Error) Error() string        { return "policy: " + e.Key + ": " + e.Reason }
func (e *Error) Is(target error) bool { return target == ErrInvalid }
func (e *Error) Unwrap() error        { return e.Err }
