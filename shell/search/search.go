package search

import (
	"context"
	"math"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"sallyport/fs"
	"sallyport/shell"
	"sallyport/shell/internal/seek"
)

// Engine is what does the work.
type Engine string

// The engines.
const (
	Ripgrep Engine = "ripgrep"
	Builtin Engine = "builtin"
)

// Options are the settings of a Searcher. The zero value works.
type Options struct {
	// Engine insists on one. Empty means ripgrep where a command of the sandbox finds it, and else our own.
	Engine Engine
	// Helper is the program that Builtin starts in the jail instead of the running one. It must import this package. Give what
	// the sandbox was given as shell.Options.Helper.
	Helper string
}

// Commands makes commands that are confined: a *shell.Sandbox or a *shell.Session.
type Commands interface {
	Command(ctx context.Context, name string, args ...string) *shell.Cmd
}

// Searcher searches in one directory under one policy. It is safe for concurrent use.
type Searcher struct {
	box     Commands
	dir     *fs.Dir
	options Options
	missing atomic.Bool // there is no ripgrep
}

// New makes a Searcher of a directory whose processes box confines. It takes hold of nothing: both are closed by whoever opened
// them. The directory should have the same rules, as a Workspace has: names that they deny are then not told either.
func New(box Commands, dir *fs.Dir, o Options) *Searcher {
	return &Searcher{box: box, dir: dir, options: o}
}

// Query is one search. The zero value is all files that are neither hidden nor ignored.
type Query struct {
	// Path is the directory or file to search, as a model writes it. Empty is the root.
	Path string
	// Pattern is what a line must match. Only Lines takes one. Literal takes it as a text, IgnoreCase without regard to case.
	Pattern             string
	Literal, IgnoreCase bool
	// Glob and IGlob say which files, IGlob without regard to case. Neither is asked when Path is a file.
	Glob, IGlob string
	// MaxDepth is how many levels below Path are looked into: 0 is that directory alone. Nil is all (R244).
	MaxDepth *int
	// Limit ends the search after so many matches or files. Zero is no limit (A9).
	Limit int
	// Hidden takes names that begin with a dot too, and NoIgnore what ignore files say to leave out.
	Hidden, NoIgnore bool
}

// Match is a line.
type Match struct {
	// Path is that of the file, relative to the root of the directory, with slashes. A name that is no UTF-8 is shown with
	// replacement characters.
	Path string
	// Line is its number, from 1.
	Line int
	// Text is the whole line (R240) without the line feed, as it is in the file, also where that is no UTF-8.
	Text string
}

// Result says how a search went. Each search ends with exactly one (R251).
type Result struct {
	// Items is how many were given to visit.
	Items int
	// More says that Limit ended it, and that there was at least one more. Otherwise the search is complete.
	More bool
	// Unreadable is how many files and directories could not be read, and Complaints the first 4 KiB of what was said about
	// them, for the host.
	Unreadable int
	Complaints string
	// Engine is what did the work.
	Engine Engine
	// Report is of the jail, and Violations are what the process was denied in it.
	Report     shell.Report
	Violations []shell.Violation
}

// Lines gives the lines that match to visit, as they are found. An error of visit ends the search and is returned as it is.
func (s *Searcher) Lines(ctx context.Context, q Query, visit func(Match) error) (Result, error) {
	return s.run(ctx, q, true, visit)
}

// Files gives the paths of files to visit, as they are found, relative to the root of the directory. A link is no file. A
// pattern is refused with ErrQuery (R246).
func (s *Searcher) Files(ctx context.Context, q Query, visit func(path string) error) (Result, error) {
	return s.run(ctx, q, false, func(m Match) error { return visit(m.Path) })
}

func (s *Searcher) run(ctx context.Context, q Query, lines bool, visit func(Match) error) (Result, error) {
	w := &work{s: s, q: q, visit: visit}
	if err := w.prepare(lines); err != nil {
		return Result{}, err
	}
	err := w.search(ctx)
	return w.result, err
}

// work is one search.
type work struct {
	s      *Searcher
	q      Query
	wire   seek.Query
	visit  func(Match) error
	result Result

	hostDir string // where the process works
	prefix  string // of it, below the root; "" is the root
	summary bool   // the process said that it has looked everywhere
}

// prepare checks the query before anything runs.
func (w *work) prepare(lines bool) error {
	q := w.q
	switch {
	case !lines && (q.Pattern != "" || q.Literal || q.IgnoreCase):
		return &Error{Kind: ErrQuery, Detail: "files are found by glob, not by pattern"}
	case q.Limit < 0, q.MaxDepth != nil && *q.MaxDepth < 0:
		return &Error{Kind: ErrQuery, Detail: "a limit or depth is negative"}
	}
	for _, glob := range []string{q.Glob, q.IGlob} {
		if glob == "" {
			continue
		}
		if why := seek.CheckGlob(glob); why != "" {
			return &Error{Kind: ErrGlob, Given: glob, Detail: why}
		}
	}
	w.wire = seek.Query{Lines: lines, MaxDepth: q.MaxDepth, Hidden: q.Hidden, NoIgnore: q.NoIgnore, Glob: q.Glob, IGlob: q.IGlob}
	if lines {
		var err error
		if w.wire.Pattern, err = seek.Pattern(q.Pattern, q.Literal, q.IgnoreCase); err != nil {
			return &Error{Kind: ErrPattern, Given: q.Pattern, Detail: err.Error()}
		}
	}
	if q.Limit > 0 && q.Limit < math.MaxInt {
		w.wire.MaxPerFile = q.Limit + 1 // one more than is given tells that there is more (R242)
	}
	return w.place()
}

// place finds out where the process is to work. The path is judged here, in the words of every other tool; what is swapped in
// afterwards meets the jail.
func (w *work) place() error {
	name := w.q.Path
	info, err := w.s.dir.Stat(name)
	if err != nil {
		return err
	}
	host, err := w.s.dir.HostPath(name)
	if err != nil {
		return err
	}
	clean, err := fs.Clean(name)
	if err != nil {
		return err
	}
	switch info.Type {
	case fs.TypeDirectory:
		w.hostDir, w.prefix = host, clean
	case fs.TypeFile:
		// Searched as the one file of its directory: named to ripgrep it would be searched although it is no text.
		w.hostDir, w.prefix, w.wire.Only = filepath.Dir(host), path.Dir(clean), path.Base(clean)
	default:
		return &fs.Error{Kind: fs.ErrNotRegular, Path: name}
	}
	if w.prefix == "." {
		w.prefix = ""
	}
	return nil
}

// give takes one that was found. Names of what may not be read are left out (R232): a directory tells them to every
// process that may list it.
func (w *work) give(m Match) error {
	rel := strings.TrimPrefix(m.Path, "./")
	if !w.s.dir.Readable(filepath.Join(w.hostDir, rel)) {
		return nil
	}
	if w.q.Limit > 0 && w.result.Items == w.q.Limit {
		w.result.More = true
		return errEnough
	}
	m.Path = strings.ToValidUTF8(path.Join(w.prefix, rel), "\ufffd")
	w.result.Items++
	return w.visit(m)
}
