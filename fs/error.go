package fs

import (
	"errors"
	"strconv"

	"sallyport/policy"
)

// The ways a file is not had. Compare with errors.Is.
var (
	// ErrPath: the path as it was written cannot be below the root.
	ErrPath = errors.New("path refused")
	// ErrNotFound: there is no such file, or it may not be read. The two are one on purpose: files cannot be probed
	// for (R287).
	ErrNotFound = errors.New("no such file, or it may not be read")
	// ErrIsDirectory: a directory where a file was asked for.
	ErrIsDirectory = errors.New("is a directory")
	// ErrNotRegular: a device, pipe or socket.
	ErrNotRegular = errors.New("is not a regular file")
	// ErrTooLarge: the file is longer than was asked for at most.
	ErrTooLarge = errors.New("is too large")
	// ErrNotDirectory: a file where a directory was asked for.
	ErrNotDirectory = errors.New("is not a directory")
	// ErrTooMany: the directory has more names than were asked for at most.
	ErrTooMany = errors.New("has too many names")
	// ErrOutside: a file was to be saved outside of the write root.
	ErrOutside = errors.New("is outside of the directory that files may be saved in")
	// ErrNotWritable: the directory to save in is not there, or it or the name may not be written. They are one, as with
	// ErrNotFound.
	ErrNotWritable = errors.New("there is no such directory to save in, or the file may not be written")
	// ErrIO: reading or writing went wrong.
	ErrIO = errors.New("could not be read or written")
)

// ErrDenied is in the tree of an Error when a rule refused. It is for the host: a model is told ErrNotFound or
// ErrNotWritable, whatever the cause.
var ErrDenied = errors.New("denied by the policy")

// Error is one file that was not had. Error() names only the path as the model wrote it, and can be shown to a model;
// the cause, with everything of the host, is behind Unwrap.
type Error struct {
	// Kind is one of the sentinels.
	Kind error
	// Path is the path as it was written.
	Path string
	// Reason is set for ErrPath.
	Reason Reason
	// Limit is set for ErrTooLarge, in bytes, and for ErrTooMany, in names.
	Limit int64
	// Decision is that of the rule that refused, with the real path in it; nil when none did.
	Decision *policy.Decision
	// Err is the cause.
	Err error
}

func denied(kind error, name string, decision policy.Decision) *Error {
	return &Error{Kind: kind, Path: name, Decision: &decision, Err: ErrDenied}
}

// Error says it in one line. The path is quoted, so that it cannot add lines.
func (e *Error) Error() string {
	p := strconv.QuoteToASCII(e.Path)
	switch e.Kind {
	case ErrPath:
		return p + ": " + remedies[e.Reason]
	case ErrTooLarge:
		return p + ": is larger than " + strconv.FormatInt(e.Limit, 10) + " bytes"
	case ErrTooMany:
		return p + ": has more than " + strconv.FormatInt(e.Limit, 10) + " names"
	}
	return p + ": " + e.Kind.Error()
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
