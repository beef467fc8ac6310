package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sallyport/fs"
)

// pathArgs are the arguments of the tools that take a path alone.
type pathArgs struct {
	Path string `json:"path"`
}

// opening opens a file, whole, as an artifact of a format (R217, R218).
func opening(f format) func(*Registry, context.Context, *call) (Result, error) {
	return func(r *Registry, ctx context.Context, c *call) (Result, error) {
		var args pathArgs
		if err := c.decode(&args); err != nil {
			return Result{}, err
		}
		file, err := r.workspace.open(args.Path)
		if err != nil {
			return Result{}, r.unusable(c, args.Path, err)
		}
		defer file.Close()
		a, err := c.open(r, f)
		if err != nil {
			return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, err)
		}
		if err := errors.Join(copyAll(ctx, a, file), a.end(nil)); err != nil {
			return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, errors.Join(err, c.turn.drop(a)))
		}
		return Result{Artifact: a.handle()}, nil
	}
}

// copyAll copies until the end of the file or of ctx.
func copyAll(ctx context.Context, to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, reader{ctx, from}, make([]byte, 256<<10))
	return err
}

// reader is a reader that ends with ctx.
type reader struct {
	ctx  context.Context
	from io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(p)
}

// unusable narrates an error about a path of the caller's.
func (r *Registry) unusable(c *call, input string, err error) error {
	f, ok := factsOf(err, input)
	if !ok {
		f = Facts{Outcome: IOFailure, Input: input}
	}
	if f.Outcome == PathRejected {
		var e *fs.Error
		errors.As(err, &e)
		err = &Error{Code: CodePathEscape, Outcome: PathRejected, Reason: f.Reason, Tool: c.tool.Name, Text: e.Error(), Err: err} // R24
	}
	return r.fail(c, f, err)
}

// frame is a line of a listing, or of what a search found. The last one says whether that was all.
type frame struct {
	Kind string `json:"kind"` // "item", or "end" for the last
	Path string `json:"path,omitempty"`
	// EntryKind is "file" or "dir".
	EntryKind string  `json:"entryKind,omitempty"`
	Line      int     `json:"line,omitempty"`
	Text      *string `json:"text,omitempty"`
	// Complete is there in the last frame, and Stopped says why it is not: "limit" or "depth".
	Complete *bool  `json:"complete,omitempty"`
	Stopped  string `json:"stopped,omitempty"`
}

// frames writes frames to an artifact, one a line.
type frames struct {
	to    *bufio.Writer
	lines *json.Encoder
	items int64
}

func newFrames(w io.Writer) *frames {
	f := &frames{to: bufio.NewWriterSize(w, 64<<10)}
	f.lines = json.NewEncoder(f.to)
	f.lines.SetEscapeHTML(false)
	return f
}

func (f *frames) item(one frame) error {
	one.Kind = "item"
	f.items++
	return f.lines.Encode(one)
}

// end writes the last frame.
func (f *frames) end(stopped string) error {
	complete := stopped == ""
	return errors.Join(f.lines.Encode(frame{Kind: "end", Complete: &complete, Stopped: stopped}), f.to.Flush())
}

// listDirectory is list_directory.
func listDirectory(r *Registry, ctx context.Context, c *call) (Result, error) {
	var args struct {
		pathArgs
		MaxDepth int `json:"max_depth"`
	}
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	if _, err := r.workspace.directory(args.Path); err != nil { // judged before there is an artifact (R233)
		return Result{}, r.unusable(c, args.Path, err)
	}
	a, err := c.open(r, formatLines)
	if err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, err)
	}
	out := newFrames(a)
	deeper, err := r.workspace.list(args.Path, args.MaxDepth, func(e entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return out.item(frame{Path: e.Path, EntryKind: map[bool]string{true: "dir", false: "file"}[e.Dir]})
	})
	stopped, notes := "", []string(nil)
	if deeper {
		stopped, notes = "depth", []string{r.note(c, Facts{Outcome: ScopeLimited, Input: args.Path, Limit: int64(args.MaxDepth)})}
	}
	if err == nil {
		err = errors.Join(out.end(stopped), a.end(nil))
	}
	if err != nil { // a listing without its last frame is none (R236)
		return Result{}, r.unusable(c, args.Path, errors.Join(err, c.turn.drop(a)))
	}
	return Result{Artifact: a.handle(), Notes: notes}, nil
}

// narrated makes what a tool returned the one error of the call. What is no *Error yet is a failure of ours, and its text is for the host.
func (r *Registry) narrated(c *call, err error) error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return r.fail(c, Facts{Outcome: IOFailure, Input: fmt.Sprintf("call %s", c.id)}, err)
}
