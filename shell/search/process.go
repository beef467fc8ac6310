package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sallyport/shell"
)

// search runs the process, and is done when it is gone.
func (w *work) search(ctx context.Context) error {
	within, stop := context.WithCancel(ctx)
	defer stop()
	cmd, out, complaints, err := w.start(within)
	if err != nil {
		return err
	}
	w.result.Report = cmd.Report()
	err = w.read(out)
	if err != nil {
		stop() // the process is killed: whatever it still finds, nobody wants it
	}
	_, drained := io.Copy(io.Discard, out)
	waited := cmd.Wait()
	w.result.Violations = cmd.Violations()
	w.result.Complaints, w.result.Unreadable = complaints.kept.String(), complaints.lines
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Join(waited, drained) != nil:
		return errors.Join(waited, drained)
	}
	return w.judge(*cmd.Completion)
}

// start starts ripgrep, or our own searcher where there is none.
func (w *work) start(ctx context.Context) (*shell.Cmd, io.Reader, *complaints, error) {
	s := w.s
	if s.options.Engine != Builtin && !s.missing.Load() {
		cmd, out, complaints, err := w.started(s.box.Command(ctx, "rg", arguments(w.wire)[1:]...))
		if err == nil {
			w.result.Engine = Ripgrep
		}
		if s.options.Engine == Ripgrep || !errors.Is(err, shell.ErrNotFound) && !errors.Is(err, shell.ErrNotExecutable) {
			return cmd, out, complaints, err
		}
		s.missing.Store(true)
	}
	return w.startBuiltin(ctx)
}

// startBuiltin starts this program again. The jail need not show where its file is, so it is handed in as a descriptor: the jail
// lets it be executed, since its own first process is of it.
func (w *work) startBuiltin(ctx context.Context) (*shell.Cmd, io.Reader, *complaints, error) {
	program := w.s.options.Helper
	if program == "" {
		program = "/proc/self/exe"
	}
	file, err := os.Open(program)
	if err != nil {
		return nil, nil, nil, &Error{Kind: ErrFailed, Detail: "open the program that searches", Err: err}
	}
	defer file.Close()
	query, err := json.Marshal(w.wire)
	if err != nil {
		return nil, nil, nil, &Error{Kind: ErrFailed, Detail: "write the query", Err: err}
	}
	cmd := w.s.box.Command(ctx, "/proc/self/fd/3")
	cmd.Args = []string{marker, string(query)}
	cmd.ExtraFiles = []*os.File{file}
	w.result.Engine = Builtin
	return w.started(cmd)
}

func (w *work) started(cmd *shell.Cmd) (*shell.Cmd, io.Reader, *complaints, error) {
	c := &complaints{}
	cmd.Dir, cmd.Stderr = w.hostDir, c
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, out, c, cmd.Start()
}

// judge says what the end of the process means. That it could not read something is no failure of the search.
func (w *work) judge(c shell.Completion) error {
	said := w.result.Complaints
	if w.wire.Lines && w.summary || !w.wire.Lines && (c.ExitCode == 0 || c.ExitCode == 1 || c.ExitCode == 2 && !fatal(said)) {
		return nil
	}
	e := &Error{Kind: ErrFailed, Detail: fmt.Sprintf("the process ended with %d %s: %s", c.ExitCode, c.Signal, said)}
	switch {
	case c.ExitCode != 2:
	case strings.Contains(said, "error parsing glob"):
		e.Kind, e.Given = ErrGlob, w.q.Glob+w.q.IGlob
	case strings.Contains(strings.ToLower(said), "regex"):
		e.Kind, e.Given = ErrPattern, w.q.Pattern
	}
	if e.Kind != ErrFailed {
		e.Detail = strings.Join(strings.Fields(said), " ")
	}
	return e
}

// fatal says whether ripgrep refused its arguments, rather than a file.
func fatal(said string) bool { return strings.HasPrefix(said, "error") || said == "" }

// complaints keeps the beginning of what a process says to its standard error, and counts the lines.
type complaints struct {
	kept  bytes.Buffer
	lines int
}

const maxComplaints = 4 << 10

func (c *complaints) Write(b []byte) (int, error) {
	c.lines += bytes.Count(b, []byte{'\n'})
	c.kept.Write(b[:min(len(b), maxComplaints-c.kept.Len())])
	return len(b), nil
}
