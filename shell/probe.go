package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"strings"
	"syscall"
)

// ExitError is the cause of a CodeFailed: a program that had to work ran, and failed.
type ExitError struct {
	Program    string
	Completion Completion
	// Stderr is what it wrote to standard error.
	Stderr string
}

// Error is one line, with the last line that the program wrote.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s exited with %d", e.Program, e.Completion.ExitCode)
	if e.Completion.Signal != "" {
		text = e.Program + " was ended by " + e.Completion.Signal
	}
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	if last := lines[len(lines)-1]; last != "" {
		text += ": " + plain(last)
	}
	return text
}

// probe runs true, once. What the boundary says is passed on as it is; an error that is not of the boundary's means that
// the program could not be started or its output not be read, and only then is something said to be missing. A program that
// ran and failed is never called a missing one, whatever it says: a kernel that refuses is no absence (R92-R102).
func (s *Session) probe(ctx context.Context) error {
	var stdout, stderr bytes.Buffer
	c := s.Command(ctx, "true")
	c.Dir, c.Stdout, c.Stderr = "/", &stdout, &stderr
	err := c.Run()
	if err != nil {
		return probeError(ctx, err)
	}
	if c.Completion == nil || c.Completion.Failed || c.Completion.ExitCode != 0 {
		failed := &ExitError{Program: c.Path, Stderr: stderr.String(), Completion: Completion{ExitCode: -1, Failed: true}}
		if c.Completion != nil {
			failed.Completion = *c.Completion
		}
		return &Error{Code: CodeFailed, Detail: "probe the sandbox", Err: failed}
	}
	return nil
}

// probeError classifies, and names the call and the errno where there is one.
func probeError(ctx context.Context, err error) error {
	var typed *Error
	if errors.As(err, &typed) {
		return err
	}
	if ctx.Err() != nil {
		return &Error{Code: CodeFailed, Detail: "probe the sandbox", Err: err}
	}
	e := &Error{Code: CodeDependencyMissing, Detail: "probe the sandbox: true could not be run", Err: err}
	var errno syscall.Errno
	var call *os.SyscallError
	var path *iofs.PathError
	if !errors.As(err, &errno) {
		return e
	}
	switch {
	case errors.As(err, &call):
		e.Syscall, e.Errno = call.Syscall, errno
	case errors.As(err, &path):
		e.Syscall, e.Errno = path.Op, errno
	}
	return e
}
