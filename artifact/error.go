package artifact

import "errors"

// Code names a kind of error for logs and documents.
type Code string

// The codes. docs/errors.md has what to do about each.
const (
	CodeConfig         Code = "E_ARTIFACT_INVALID_CONFIG"
	CodeCollision      Code = "E_ARTIFACT_ID_COLLISION"
	CodeUnknown        Code = "E_ARTIFACT_UNKNOWN"
	CodeReleased       Code = "E_ARTIFACT_RELEASED"
	CodeArgument       Code = "E_ARTIFACT_INVALID_ARGUMENT"
	CodeFormat         Code = "E_ARTIFACT_WRONG_FORMAT"
	CodeCost           Code = "E_ARTIFACT_TOO_COSTLY"
	CodeIO             Code = "E_ARTIFACT_IO"
	CodeTorn           Code = "E_ARTIFACT_TORN"
	CodeNotDescribable Code = "E_READER_NOT_DESCRIBABLE"
)

// The ways it goes wrong. Compare with errors.Is.
var (
	// ErrConfig: the store cannot be opened with these options.
	ErrConfig = errors.New("the store cannot be opened")
	// ErrLocked: another store has the directory open. It is an ErrConfig too.
	ErrLocked = errors.New("another store has the directory open")
	// ErrCollision: the id is taken in this turn.
	ErrCollision = errors.New("the id is taken")
	// ErrUnknown: this turn has no such artifact, media or entry.
	ErrUnknown = errors.New("is not of this turn")
	// ErrReleased: the turn or the store is over.
	ErrReleased = errors.New("the turn is over")
	// ErrArgument: a pattern, path, number, flag or id that can never work.
	ErrArgument = errors.New("not a valid argument")
	// ErrNotJSON: the artifact is not JSON; it can still be read as text.
	ErrNotJSON = errors.New("is not valid JSON")
	// ErrNoMatch: a path leads to nothing, or to something of another type.
	ErrNoMatch = errors.New("nothing of that type is there")
	// ErrTooLarge: longer than can be read as JSON or Markdown; it can still be read as text.
	ErrTooLarge = errors.New("is too large")
	// ErrTooCostly: the query would take too long or too much memory.
	ErrTooCostly = errors.New("takes too much")
	// ErrIO: reading or writing went wrong.
	ErrIO = errors.New("could not be read or written")
	// ErrTorn: the entry's bytes are not those that were written.
	ErrTorn = errors.New("is not what was written")
	// ErrNotDescribable: media cannot be encoded before it was saved.
	ErrNotDescribable = errors.New("the media was never saved, and cannot be written into a history: save it with save_media first")
)

// codes tells the code of each sentinel.
var codes = map[error]Code{
	ErrConfig:         CodeConfig,
	ErrLocked:         CodeConfig,
	ErrCollision:      CodeCollision,
	ErrUnknown:        CodeUnknown,
	ErrReleased:       CodeReleased,
	ErrArgument:       CodeArgument,
	ErrNotJSON:        CodeFormat,
	ErrNoMatch:        CodeFormat,
	ErrTooLarge:       CodeFormat,
	ErrTooCostly:      CodeCost,
	ErrIO:             CodeIO,
	ErrTorn:           CodeTorn,
	ErrNotDescribable: CodeNotDescribable,
}

// Error is one thing that was not done.
type Error struct {
	// Kind is one of the sentinels.
	Kind error
	// What it was about, as the caller wrote it or as can be shown to anyone: an id, `pattern "("`, "line 3".
	What string
	// Detail says more, in words that can be shown to a model. It may be empty.
	Detail string
	// Err is the cause, for the host's log. It may name things of the host.
	Err error
}

// Error says it in one line.
func (e *Error) Error() string {
	s := e.Kind.Error()
	if e.What != "" {
		s = e.What + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Code is the code of the kind.
func (e *Error) Code() Code { return codes[e.Kind] }

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	all := []error{e.Kind}
	if e.Kind == ErrLocked {
		all = append(all, ErrConfig)
	}
	if e.Err != nil {
		all = append(all, e.Err)
	}
	return all
}

// argument is an ErrArgument.
func argument(what, detail string) error {
	return &Error{Kind: ErrArgument, What: what, Detail: detail}
}
