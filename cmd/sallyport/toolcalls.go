package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"sallyport/compartment"
	"sallyport/fs"
	"sallyport/shell"
	"sallyport/tools"
)

// toolCall is one call as it was asked for: the name, and the arguments as they were written.
type toolCall struct {
	name string
	args []byte
}

// callReader gives one call after the other; false when there is no more.
type callReader func() (toolCall, bool, error)

// maxArguments bounds what is read as arguments: more than a tool takes, so that it is the tool to say so.
const maxArguments = 16 << 20

// calls reads what is to be called.
func (f *toolFlags) calls(p *program, set *pflag.FlagSet) (callReader, error) {
	switch {
	case f.list && (f.session || set.NArg() > 0):
		return nil, usage("tool", "--list stands alone")
	case f.list:
		return nil, nil
	case f.session && set.NArg() > 0:
		return nil, usage("tool", fmt.Sprintf("unexpected argument %q; with --session the calls are on standard input", set.Arg(0)))
	case f.session:
		return sessionCalls(p.in), nil
	case set.NArg() == 0:
		return nil, usage("tool", "which tool? sallyport tool --list shows them")
	case set.NArg() > 2:
		return nil, usage("tool", fmt.Sprintf("unexpected argument %q; the arguments of a tool are one JSON object", set.Arg(2)))
	}
	call := toolCall{name: set.Arg(0), args: []byte(set.Arg(1))}
	if set.Arg(1) == "-" {
		var err error
		if call.args, err = io.ReadAll(io.LimitReader(p.in, maxArguments)); err != nil {
			return nil, fmt.Errorf("read the arguments from standard input: %w", err)
		}
	}
	once := true
	return func() (toolCall, bool, error) {
		first := once
		once = false
		return call, first, nil
	}, nil
}

// sessionCalls reads a call from each line: the name, a space, and the arguments.
func sessionCalls(in io.Reader) callReader {
	lines := bufio.NewReaderSize(in, 64<<10)
	return func() (toolCall, bool, error) {
		for {
			line, err := readLine(lines)
			if err != nil && !errors.Is(err, io.EOF) {
				return toolCall{}, false, fmt.Errorf("read standard input: %w", err)
			}
			text := strings.TrimSpace(string(line))
			if text == "" && err != nil {
				return toolCall{}, false, nil
			}
			if text != "" && text[0] != '#' {
				name, args, _ := strings.Cut(text, " ")
				return toolCall{name: name, args: []byte(args)}, true, nil
			}
		}
	}
}

// readLine reads a line of any length, of which no more is kept than can be arguments.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		if room := maxArguments - len(line); room > 0 {
			line = append(line, piece[:min(room, len(piece))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// serve makes the calls, one after the other. The status is that of the worst one.
func (s *toolSession) serve(ctx context.Context, p *program, f *toolFlags, next callReader) (status int, err error) {
	for {
		call, more, err := next()
		if err != nil || !more {
			return status, err
		}
		res, callErr := s.registry.Call(ctx, call.name, call.args)
		if ctx.Err() != nil {
			return statusTrouble, &trouble{text: "stopped by a signal; the call was ended with everything that it had started"}
		}
		if callErr != nil {
			status = statusNoResult
			p.sayCause(callErr)
		}
		show := s.showText
		switch {
		case f.json:
			show = s.showJSON
		case f.session:
			show = s.showModel
		}
		if err := show(p, res, callErr, f.session); err != nil {
			return status, err
		}
	}
}

// sayCause tells the person who started this program what lies behind a failure that a model is told nothing of: a gate that
// does not work, a full disk. It is only ever on standard error. What the policy refused has no cause to mend.
func (p *program) sayCause(err error) {
	var e *tools.Error
	if errors.As(err, &e) && e.Err != nil && (e.Outcome == tools.GateUnavailable || e.Outcome == tools.IOFailure) {
		says := e.Err.Error()
		var file *fs.Error // its own text is one for a model
		if errors.As(e.Err, &file) && file.Err != nil {
			says += ": " + file.Err.Error()
		}
		fmt.Fprintf(p.err, "sallyport: for you alone, the cause: %s\n", compartment.Escape(says))
	}
}

// showModel shows what a model reads.
func (s *toolSession) showModel(p *program, res tools.Result, callErr error, _ bool) error {
	if callErr != nil {
		return p.print(tools.Render(callErr) + "\n")
	}
	return p.print(res.Model())
}

// showText shows what a person wants of a single call: the output itself, and beside it what there is to say.
func (s *toolSession) showText(p *program, res tools.Result, callErr error, _ bool) error {
	if callErr != nil {
		p.say(callErr)
		return nil
	}
	if res.Artifact != nil {
		if err := s.copyArtifact(p.out, res.Artifact.ID); err != nil {
			return err
		}
	} else if err := p.print(res.Model()); err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintf(p.err, "note: %s\n", compartment.Escape(n))
	}
	return nil
}

func (s *toolSession) copyArtifact(to io.Writer, id string) error {
	from, err := s.registry.Open(id)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// toolResult is the object of tool --json. A call without a result has an error, and nothing else but its name.
type toolResult struct {
	ID         string             `json:"id"`
	Tool       string             `json:"tool"`
	Tier       tools.Tier         `json:"tier"`
	Text       string             `json:"text"`
	Model      string             `json:"model"` // what a model reads
	Artifact   *tools.Handle      `json:"artifact"`
	Media      *tools.MediaHandle `json:"media"`
	File       string             `json:"artifact_file,omitempty"` // of a single call: the artifact, whole
	Notes      []string           `json:"notes"`
	Violations []shell.Violation  `json:"violations"`
	Exit       *exit              `json:"exit,omitempty"`
	TimedOut   bool               `json:"timed_out"`
	Report     *shell.Report      `json:"report,omitempty"`
	Error      *toolError         `json:"error,omitempty"`
}

// toolError is a call that was not done.
type toolError struct {
	Code    tools.Code    `json:"code"`
	Outcome tools.Outcome `json:"outcome"`
	Text    string        `json:"text"`
}

// showJSON prints one object on one line. The artifact of a single call is in a file, which stays: the call is the last that this program
// knows of it.
func (s *toolSession) showJSON(p *program, res tools.Result, callErr error, session bool) error {
	out := toolResult{ID: res.ID, Tool: res.Tool, Tier: res.Tier, Text: res.Text + res.Content, Model: res.Model(), Artifact: res.Artifact, Media: res.Media,
		Notes: append([]string{}, res.Notes...), Violations: append([]shell.Violation{}, res.Violations...)}
	if e := res.Exit; e != nil {
		out.Exit, out.TimedOut = &exit{Code: e.Status(), Signal: e.Signal}, e.TimedOut
	}
	if res.Report.Tier != "" {
		out.Report = &res.Report
	}
	if callErr != nil {
		out.Model, out.Error = tools.Render(callErr)+"\n", &toolError{Code: tools.CodeOf(callErr), Text: callErr.Error()}
		var e *tools.Error
		if errors.As(callErr, &e) {
			out.Tool, out.Error.Outcome = e.Tool, e.Outcome
		}
	}
	if res.Artifact != nil && !session {
		var err error
		if out.File, err = s.spool(res.Artifact.ID); err != nil {
			return err
		}
	}
	return writeJSON(p.out, out)
}

// spool copies an artifact to a file of its own.
func (s *toolSession) spool(id string) (name string, err error) {
	file, err := os.CreateTemp("", "sallyport-artifact-*")
	if err != nil {
		return "", fmt.Errorf("a file for the artifact: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return file.Name(), s.copyArtifact(file, id)
}
