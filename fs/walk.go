package fs

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"syscall"
)

// WalkEnd says how a walk ended that was not broken off.
type WalkEnd struct {
	// DepthReached says that a directory was not looked into because it lies too deep (R235): deeper than was asked for, or than a
	// path of the system can say.
	DepthReached bool
	// Unreadable is how many directories could not be listed, although a rule would let them be read.
	Unreadable int
}

// Walk gives what is below the directory of that name to visit, sorted by name in each directory, a directory before what is in it, as it is found; the Name
// of an entry is its path relative to that directory (R237). depth is how many levels below the first one are looked into:
// 0 is the directory alone. Links are told and not followed (R238); what may not be read is left out, with all that is
// below it, and not looked at (R232, R234). The directory itself is judged first (R233).
//
// Walk holds the names of one directory a level. It ends with the context's error, or the first error of visit as it is.
func (d *Dir) Walk(ctx context.Context, name string, depth int, visit func(Entry) error) (WalkEnd, error) {
	clean, err := Clean(name)
	if err != nil {
		return WalkEnd{}, err
	}
	w := &walk{Dir: d, ctx: ctx, root: clean, name: name, visit: visit}
	err = w.directory("", depth)
	return w.end, err
}

type walk struct {
	*Dir
	ctx        context.Context
	root, name string
	visit      func(Entry) error
	end        WalkEnd
}

// directory lists one directory and what is below it. It is opened by its whole path, from the root, so that no descriptor
// is held while what is in it is walked: the tree may be deep.
func (w *walk) directory(rel string, depth int) error {
	entries, raw, err := w.list(rel)
	if err != nil && rel == "" {
		return err
	}
	if err != nil {
		// Removed or replaced meanwhile, or denied since: that is no fault of the rest. A path that the system finds too long
		// is none of these, and what lies below it was not looked at.
		switch {
		case errors.Is(err, syscall.ENAMETOOLONG):
			w.end.DepthReached = true
		case !errors.Is(err, ErrNotFound):
			w.end.Unreadable++
		}
		return nil
	}
	for i, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		below := raw[i]
		if rel != "" {
			below = rel + "/" + below
		}
		e.Name = strings.ToValidUTF8(below, "\ufffd")
		if err := w.visit(e); err != nil {
			return err
		}
		switch {
		case e.Type != TypeDirectory:
		case depth <= 0:
			w.end.DepthReached = true
		default:
			if err := w.directory(below, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// list gives what may be seen in a directory, and the names as they are.
func (w *walk) list(rel string) (entries []Entry, raw []string, err error) {
	f, real, err := w.openDir(path.Join(w.root, rel), w.name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	found, err := f.ReadDir(-1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, &Error{Kind: ErrIO, Path: w.name, Err: err}
	}
	entries, raw = w.visible(real, found)
	return entries, raw, nil
}
