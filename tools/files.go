package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"sallyport/artifact"
	"sallyport/fs"
)

// pathArgs are the arguments of the tools that take a path alone.
type pathArgs struct {
	Path string `json:"path"`
}

// opening opens a file, whole, as an artifact of a format (R217, R218).
func opening(kind artifact.Kind) func(*Registry, context.Context, *call) (Result, error) {
	return func(r *Registry, ctx context.Context, c *call) (Result, error) {
		var args pathArgs
		if err := c.decode(&args); err != nil {
			return Result{}, err
		}
		file, err := r.workspace.Open(args.Path)
		if err != nil {
			return Result{}, r.unusable(c, args.Path, err)
		}
		defer file.Close()
		a, err := c.open(kind)
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
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	f, ok := factsOf(err, input)
	if !ok {
		f = Facts{Outcome: IOFailure, Input: input}
	}
	f.Root = r.workspace.WriteRoot()
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
	line  []byte
	items int64
}

func newFrames(w io.Writer) *frames { return &frames{to: bufio.NewWriterSize(w, 64<<10)} }

// item writes one thing that was found. It is written by hand: there are millions of them, and an encoder looks at each field anew.
func (f *frames) item(one frame) error {
	f.items++
	b := appendText(append(f.line[:0], `{"kind":"item","path":`...), one.Path)
	if one.EntryKind != "" {
		b = appendText(append(b, `,"entryKind":`...), one.EntryKind)
	}
	if one.Line > 0 {
		b = strconv.AppendInt(append(b, `,"line":`...), int64(one.Line), 10)
	}
	if one.Text != nil {
		b = appendText(append(b, `,"text":`...), *one.Text)
	}
	f.line = append(b, '}', '\n')
	_, err := f.to.Write(f.line)
	return err
}

// appendText appends a string as JSON. What is not UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			var quoted bytes.Buffer
			e := json.NewEncoder(&quoted)
			e.SetEscapeHTML(false) // "<" is for people to read, and for patterns to match
			_ = e.Encode(s)        // a string always has JSON
			return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// end writes the last frame.
func (f *frames) end(stopped string) error {
	complete := stopped == ""
	last, err := json.Marshal(frame{Kind: "end", Complete: &complete, Stopped: stopped})
	if err != nil {
		return err
	}
	_, err = f.to.Write(append(last, '\n'))
	return errors.Join(err, f.to.Flush())
}

// entryKinds are what a listing tells of: files and directories. Links, which no tool follows, and what is no file at all are left out.
var entryKinds = map[fs.EntryType]string{fs.TypeFile: "file", fs.TypeDirectory: "dir"}

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
	a, err := c.open(artifact.KindItems)
	if err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, err)
	}
	out := newFrames(a)
	walked, err := r.workspace.Walk(ctx, args.Path, args.MaxDepth, func(e fs.Entry) error {
		kind, ok := entryKinds[e.Type]
		if !ok {
			return nil
		}
		return out.item(frame{Path: e.Name, EntryKind: kind})
	})
	stopped, notes := "", []string(nil)
	if walked.DepthReached {
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
