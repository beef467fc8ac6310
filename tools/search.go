package tools

import (
	"context"
	"errors"

	"sallyport/artifact"
	"sallyport/fs"
	"sallyport/hostfuncs"
	"sallyport/shell"
	"sallyport/shell/search"
)

// searchArgs are the arguments of the search pair.
type searchArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IGlob      string `json:"iglob"`
	MaxDepth   *int   `json:"max_depth"`
	Limit      int    `json:"limit"`
	IgnoreCase bool   `json:"ignore_case"`
	Literal    bool   `json:"literal"`
	Hidden     bool   `json:"hidden"`
	NoIgnore   bool   `json:"no_ignore"`
}

func (a searchArgs) query() search.Query {
	return search.Query{Path: a.Path, Pattern: a.Pattern, Literal: a.Literal, IgnoreCase: a.IgnoreCase, Glob: a.Glob, IGlob: a.IGlob,
		MaxDepth: a.MaxDepth, Limit: a.Limit, Hidden: a.Hidden, NoIgnore: a.NoIgnore}
}

// newSearcher makes the searcher of the workspace (R239).
func (r *Registry) newSearcher() *search.Searcher {
	return search.New(r.options.Commands, r.workspace.Dir, search.Options{})
}

// searchFiles is search_files.
func searchFiles(r *Registry, ctx context.Context, c *call) (Result, error) {
	return r.search(ctx, c, func(q search.Query, out *frames) (search.Result, error) {
		return r.searcher.Lines(ctx, q, func(m search.Match) error { return out.item(frame{Path: m.Path, Line: m.Line, Text: &m.Text}) })
	})
}

// findFiles is find_files.
func findFiles(r *Registry, ctx context.Context, c *call) (Result, error) {
	return r.search(ctx, c, func(q search.Query, out *frames) (search.Result, error) {
		return r.searcher.Files(ctx, q, func(path string) error { return out.item(frame{Path: path}) })
	})
}

// search runs a search into an artifact; what is found is there as it is found. Violations are for the host alone: a search meets everything
// that is denied, and telling of it would list what a listing leaves out (R232).
func (r *Registry) search(ctx context.Context, c *call, run func(search.Query, *frames) (search.Result, error)) (Result, error) {
	var args searchArgs
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	a, err := c.open(artifact.KindItems)
	if err != nil {
		return Result{}, r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, err)
	}
	out := newFrames(a)
	found, err := run(args.query(), out)
	stopped := ""
	if found.More {
		stopped = "limit"
	}
	if err == nil {
		err = errors.Join(out.end(stopped), a.end(nil))
	}
	if err != nil {
		return Result{}, r.searchFailed(c, args, found, errors.Join(err, c.turn.drop(a)))
	}
	return Result{Artifact: a.handle(), Notes: r.searchNotes(c, args, found), Violations: found.Violations, Report: found.Report}, nil
}

// searchNotes say that nothing was found (R241), or that there may be more (R242).
func (r *Registry) searchNotes(c *call, args searchArgs, found search.Result) []string {
	what := args.Pattern
	if what == "" {
		what = args.Glob
	}
	switch {
	case found.More:
		return []string{r.note(c, Facts{Outcome: ResultLimited, Limit: int64(args.Limit)})}
	case found.Items == 0:
		return []string{r.note(c, Facts{Outcome: NoMatches, Input: what})}
	}
	return nil
}

// searchFailed is the error of a search. What it was denied is looked at before how it ended (R249).
func (r *Registry) searchFailed(c *call, args searchArgs, found search.Result, cause error) error {
	var bad *search.Error
	var path *fs.Error
	switch {
	case errors.As(cause, &bad) && !errors.Is(bad, search.ErrFailed):
		return r.fail(c, Facts{Outcome: InvalidPattern, Input: bad.Given, Note: bad.Detail}, cause) // R250
	case errors.As(cause, &path):
		return r.unusable(c, args.Path, cause)
	case len(found.Violations) > 0:
		return r.fail(c, Facts{Outcome: DeniedByPolicy, Input: args.Path}, cause)
	}
	e := r.fail(c, Facts{Outcome: IOFailure, Input: args.Path}, cause)
	if code := shell.CodeOf(cause); code != "" {
		e.Code = code
	}
	return e
}

// matches is a search for a program.
func (r *Registry) matches(ctx context.Context, c *call, s hostfuncs.Search) (matches []hostfuncs.Match, more bool, err error) {
	args := searchArgs{Pattern: s.Pattern, Path: s.Path, Limit: s.Limit}
	found, err := r.searcher.Lines(ctx, args.query(), func(m search.Match) error {
		matches = append(matches, hostfuncs.Match{Path: m.Path, Line: m.Line, Text: m.Text})
		return nil
	})
	if err != nil {
		return nil, false, refusal(r.searchFailed(c, args, found, err))
	}
	return matches, found.More, nil
}
