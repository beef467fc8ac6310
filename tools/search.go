package tools

import (
	"context"
	"errors"

	"sallyport/artifact"
	"sallyport/hostfuncs"
	"sallyport/shell"
)

// searcher searches in a confined process (R239).
type searcher interface {
	// search gives what it finds to visit, as it finds it, and stops when visit says errEnough. An invalid pattern is a
	// *patternError. What the process was denied comes back also beside an error (R249).
	search(ctx context.Context, s searchRequest, visit func(frame) error) (searched, error)
}

// searchRequest is one search: of lines, or, without a pattern, of names.
type searchRequest struct {
	id       string // of the call
	dir      string // on the host
	lines    bool
	pattern  string
	glob     string
	iglob    string
	maxDepth *int // nil is no bound, and no flag (R244)

	ignoreCase, literal, hidden, noIgnore, follow bool
}

// searched says how a search went.
type searched struct {
	violations []shell.Violation
	report     shell.Report
}

// errEnough ends a search that has found what it was to find.
var errEnough = errors.New("that is enough")

// patternError is a pattern that is none.
type patternError struct {
	pattern, why string
}

func (e *patternError) Error() string { return e.why }

// searchArgs are the arguments of the search pair.
type searchArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IGlob      string `json:"iglob"`
	MaxDepth   *int   `json:"max_depth"`
	Limit      *int64 `json:"limit"`
	IgnoreCase bool   `json:"ignore_case"`
	Literal    bool   `json:"literal"`
	Hidden     bool   `json:"hidden"`
	NoIgnore   bool   `json:"no_ignore"`
	Follow     bool   `json:"follow"`
}

// searching is search_files, or find_files.
func searching(lines bool) func(*Registry, context.Context, *call) (Result, error) {
	return func(r *Registry, ctx context.Context, c *call) (Result, error) {
		var args searchArgs
		if err := c.decode(&args); err != nil {
			return Result{}, err
		}
		request, err := r.searchRequest(c, args, lines)
		if err != nil {
			return Result{}, err
		}
		a, err := c.open(artifact.KindItems)
		if err != nil {
			return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, err)
		}
		return r.search(ctx, c, args, request, a)
	}
}

// searchRequest turns the arguments into a request; the directory is judged here.
func (r *Registry) searchRequest(c *call, args searchArgs, lines bool) (searchRequest, error) {
	dir, err := r.workspace.directory(args.Path)
	if err != nil {
		return searchRequest{}, r.unusable(c, args.Path, err)
	}
	return searchRequest{
		id: c.id, dir: dir, lines: lines, pattern: args.Pattern, glob: args.Glob, iglob: args.IGlob, maxDepth: args.MaxDepth,
		ignoreCase: args.IgnoreCase, literal: args.Literal, hidden: args.Hidden, noIgnore: args.NoIgnore, follow: args.Follow,
	}, nil
}

// search runs a search into an artifact. What limit cuts off is not looked for: one more than limit ends it (R242).
func (r *Registry) search(ctx context.Context, c *call, args searchArgs, request searchRequest, a *held) (Result, error) {
	out, stopped := newFrames(a), ""
	done, err := r.searcher.search(ctx, request, func(f frame) error {
		if args.Limit != nil && out.items >= *args.Limit {
			stopped = "limit"
			return errEnough
		}
		return out.item(f)
	})
	res := Result{Violations: done.violations, Report: done.report, Notes: r.denials(c, done.violations)}
	if err == nil {
		res.Notes = append(res.Notes, r.searchNotes(c, args, request, out.items, stopped)...)
		err = errors.Join(out.end(stopped), a.end(nil))
	}
	if err != nil {
		return Result{}, r.searchFailed(c, args, err, done, c.turn.drop(a))
	}
	res.Artifact = a.handle()
	return res, nil
}

// searchNotes say that nothing was found (R241), or that there may be more.
func (r *Registry) searchNotes(c *call, args searchArgs, request searchRequest, items int64, stopped string) []string {
	what := args.Glob
	if request.lines {
		what = args.Pattern
	}
	switch {
	case stopped != "":
		return []string{r.note(c, Facts{Outcome: ResultLimited, Limit: *args.Limit})}
	case items == 0:
		return []string{r.note(c, Facts{Outcome: NoMatches, Input: what})}
	}
	return nil
}

// searchFailed is the error of a search. What it was denied is looked at before how it ended (R249).
func (r *Registry) searchFailed(c *call, args searchArgs, err error, done searched, dropped error) error {
	var pattern *patternError
	cause := errors.Join(err, dropped)
	switch {
	case errors.As(err, &pattern):
		return r.fail(c, Facts{Outcome: InvalidPattern, Input: pattern.pattern, Note: pattern.why}, cause)
	case len(done.violations) > 0:
		return r.fail(c, Facts{Outcome: DeniedByPolicy, Input: args.Path}, cause)
	}
	e := r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, cause)
	if code := shell.CodeOf(err); code != "" {
		e.Code = code
	}
	return e
}

// matches is a search for a program.
func (r *Registry) matches(ctx context.Context, c *call, s hostfuncs.Search) (found []hostfuncs.Match, more bool, err error) {
	args := searchArgs{Pattern: s.Pattern, Path: s.Path}
	request, err := r.searchRequest(c, args, true)
	if err != nil {
		return nil, false, refusal(err)
	}
	done, err := r.searcher.search(ctx, request, func(f frame) error {
		if len(found) == s.Limit {
			more = true
			return errEnough
		}
		found = append(found, hostfuncs.Match{Path: f.Path, Line: f.Line, Text: *f.Text})
		return nil
	})
	if err != nil {
		return nil, false, refusal(r.searchFailed(c, args, err, done, nil))
	}
	return found, more, nil
}
