package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// The bounds of one query. A path such as $..*..* gives far more than the document has.
const (
	// MaxResults is how many values may be selected at each step of a path.
	MaxResults = 1 << 20
	// MaxResultBytes is how much text the results may be.
	MaxResultBytes = 64 << 20
	// maxPath bounds a path, in bytes: the time to judge a filter grows with its length.
	maxPath = 1024
	// maxVisits is how many values may be looked at.
	maxVisits = 16 << 20
	// maxQueryTime is how long one query may take; it is looked at between values.
	maxQueryTime = 10 * time.Second
)

// query selects what a path leads to. The library parses the path and judges each filter; the steps are taken here, so
// that they are counted, can be cancelled, and come in the same order every time.
func (j *JSON) query(ctx context.Context, path string) ([]any, error) {
	if path == "" {
		path = "$"
	}
	q, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, root: j.root, path: path, end: time.Now().Add(maxQueryTime)}
	nodes := []any{j.root}
	for _, segment := range q.Query().Segments() {
		w.found = []any{}
		for _, node := range nodes {
			if err := w.step(segment, node); err != nil {
				return nil, err
			}
		}
		nodes = w.found
	}
	return j.bounded(ctx, nodes)
}

// parsePath parses a path that is cheap enough.
func parsePath(path string) (*jsonpath.Path, error) {
	what := fmt.Sprintf("path %.200q", path)
	if len(path) > maxPath {
		return nil, argument(what, fmt.Sprintf("is longer than %d bytes", maxPath))
	}
	if explosive(path) {
		return nil, &Error{Kind: ErrTooCostly, What: what, Detail: `neither "..", nor another filter, nor several selectors with commas may stand inside a filter`}
	}
	q, err := jsonpath.Parse(path)
	if err != nil {
		return nil, &Error{Kind: ErrArgument, What: what, Detail: strings.TrimPrefix(err.Error(), "jsonpath: "), Err: err}
	}
	return q, nil
}

// explosive finds, inside a filter, what looks at many values for each value that is filtered: another filter, "..", or
// several selectors in one pair of brackets, each of which doubles what the next sees. A filter is judged within one
// call of the library, which cannot be ended.
func explosive(path string) bool {
	var open []byte // the brackets that are open
	filter := 0     // how many were when the filter began; 0 outside
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '\'', '"':
			i = stringEnd(path, i)
		case '[', '(':
			open = append(open, c)
		case ']', ')':
			open = open[:max(0, len(open)-1)]
			if len(open) < filter {
				filter = 0
			}
		case '?':
			if filter > 0 {
				return true
			}
			filter = len(open)
		case ',':
			switch {
			case filter > 0 && len(open) == filter: // the next selector, beside the filter
				filter = 0
			case filter > 0 && len(open) > filter && open[len(open)-1] == '[':
				return true
			}
		case '.':
			if filter > 0 && strings.HasPrefix(path[i:], "..") {
				return true
			}
		}
	}
	return false
}

// stringEnd is where the quote is that closes the one at i.
func stringEnd(path string, i int) int {
	quote := path[i]
	for i++; i < len(path) && path[i] != quote; i++ {
		if path[i] == '\\' {
			i++
		}
	}
	return i
}

// walk takes the steps of one query.
type walk struct {
	ctx    context.Context
	root   any
	path   string
	end    time.Time
	found  []any
	visits int
}

// visit counts, and looks whether to go on.
func (w *walk) visit() error {
	w.visits++
	late := false
	if w.visits%64 == 0 {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		late = time.Now().After(w.end)
	}
	if late || w.visits > maxVisits || len(w.found) > MaxResults {
		return &Error{Kind: ErrTooCostly, What: fmt.Sprintf("path %.200q", w.path),
			Detail: fmt.Sprintf("more than %d results, or more than %s of work; use a narrower path", MaxResults, maxQueryTime)}
	}
	return nil
}

// step adds what one segment selects from a node. The recursion is as deep as the document, which the decoder bounds to
// 10,000.
func (w *walk) step(segment *spec.Segment, node any) error {
	if err := w.visit(); err != nil {
		return err
	}
	for _, selector := range segment.Selectors() {
		if err := w.selectFrom(selector, node); err != nil {
			return err
		}
	}
	if !segment.IsDescendant() {
		return nil
	}
	for _, child := range children(node) {
		if err := w.step(segment, child); err != nil {
			return err
		}
	}
	return nil
}

// selectFrom adds what one selector selects.
func (w *walk) selectFrom(selector spec.Selector, node any) error {
	filter, filters := selector.(*spec.FilterSelector)
	_, all := selector.(spec.WildcardSelector)
	if !filters && !all {
		w.found = append(w.found, selector.Select(node, w.root)...)
		return nil
	}
	for _, child := range children(node) {
		if err := w.visit(); err != nil {
			return err
		}
		if all || filter.Eval(child, w.root) {
			w.found = append(w.found, child)
		}
	}
	return nil
}

// children lists the elements of an array, or the members of an object in the order of their names.
func children(node any) []any {
	switch v := node.(type) {
	case []any:
		return v
	case map[string]any:
		all := make([]any, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, v[name])
		}
		return all
	}
	return nil
}

// bounded refuses results that would be too long to write out: nested values may be among them many times over.
func (j *JSON) bounded(ctx context.Context, nodes []any) ([]any, error) {
	left := int64(MaxResultBytes)
	for _, n := range nodes {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if left -= weigh(n, left); left < 0 {
			return nil, &Error{Kind: ErrTooCostly, What: j.id,
				Detail: fmt.Sprintf("the results are more than %d bytes; use a narrower path", MaxResultBytes)}
		}
	}
	return nodes, nil
}

// weigh is about how long a value is as text. It stops counting soon after the limit.
func weigh(v any, limit int64) int64 {
	n := int64(2)
	switch v := v.(type) {
	case string:
		n += int64(len(v))
	case json.Number:
		n += int64(len(v))
	case []any:
		for _, e := range v {
			if n += weigh(e, limit-n); n > limit {
				break
			}
		}
	case map[string]any:
		for k, e := range v {
			if n += int64(len(k)) + 3 + weigh(e, limit-n); n > limit {
				break
			}
		}
	default:
		n += 3
	}
	return n
}
