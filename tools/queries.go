package tools

import (
	"context"
	"errors"
	"slices"

	"sallyport/artifact"
)

// query is a tool that looks into artifacts (R269-R275). It is there only as long as the turn has an artifact that it fits.
type query struct {
	name, title, about string
	kinds              []artifact.Kind // that it fits; nil fits all
	fields             []field
	answer             answer
}

// queryTable are the queries of 1.6: the seven of any artifact, and the families of JSON and of Markdown.
func queryTable() []query {
	return slices.Concat(baseQueries(), jsonQueries(), markdownQueries())
}

// queryArgs are the arguments of all queries, each of which takes some.
type queryArgs struct {
	CallID     string `json:"callId"`
	N          int64  `json:"n"`
	Pattern    string `json:"pattern"`
	Flags      string `json:"flags"`
	Start      *int64 `json:"start"`
	End        *int64 `json:"end"`
	Encoding   string `json:"encoding"`
	Path       string `json:"path"`
	Expression string `json:"expression"`
	Key        string `json:"key"`
	Language   string `json:"language"`
	Heading    string `json:"heading"`
}

// answer answers one query.
type answer func(ctx context.Context, a *artifact.Artifact, args queryArgs) (string, error)

// queries makes the query tools of the turn: each takes the ids of the artifacts that it fits, and there is none without
// one.
func (t *turn) queries() []*tool {
	var made []*tool
	for _, q := range queryTable() {
		var ids []string
		for _, id := range t.order {
			if q.fits(t.artifacts[id].kind) {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			made = append(made, q.tool(ids))
		}
	}
	return made
}

func (q query) fits(kind artifact.Kind) bool { return q.kinds == nil || slices.Contains(q.kinds, kind) }

// queriesOf are the queries that fit a format.
func queriesOf(kind artifact.Kind) []query {
	return slices.DeleteFunc(queryTable(), func(q query) bool { return !q.fits(kind) })
}

// tool makes the tool of a query. The gate was asked for what it looks into, so it is not asked again.
func (q query) tool(ids []string) *tool {
	schema := object(append([]field{need("callId", oneOf("The id of the artifact.", ids))}, q.fields...)...)
	check, err := newChecker(q.name, schema)
	if err != nil {
		panic(err) // the table is ours, and a test makes every row of it
	}
	return &tool{
		Tool: Tool{Name: q.name, Title: q.title, Description: q.about, Schema: schema, Tier: Evaluator, ReadOnly: true},
		args: check, run: q.run,
	}
}

// run answers a query. What it gives is no artifact (R272).
func (q query) run(r *Registry, ctx context.Context, c *call) (Result, error) {
	var args queryArgs
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	a, ok := c.turn.artifact(args.CallID)
	if !ok { // the turn ended in between
		return Result{}, ErrTurnEnded
	}
	found, err := a.query(ctx, q.answer, args)
	if errors.Is(err, artifact.ErrNotJSON) || errors.Is(err, artifact.ErrNoMatch) { // nothing is there, and that is an answer
		return Result{Notes: []string{err.Error()}}, nil
	}
	if err != nil {
		return Result{}, r.unanswered(c, err)
	}
	if found == "" && args.Pattern != "" {
		return Result{Notes: []string{r.note(c, Facts{Outcome: NoMatches, Input: args.Pattern})}}, nil
	}
	return Result{Content: found, fence: newPrefix()}, nil
}

// unanswered narrates a query that came to nothing. The texts of package artifact can be shown to a model.
func (r *Registry) unanswered(c *call, err error) error {
	var e *artifact.Error
	switch {
	case !errors.As(err, &e):
		return err
	case errors.Is(e, artifact.ErrReleased), errors.Is(e, artifact.ErrUnknown):
		return ErrTurnEnded
	case errors.Is(e, artifact.ErrTooLarge), errors.Is(e, artifact.ErrTooCostly):
		return r.fail(c, Facts{Outcome: OverBudget, Input: c.tool.Name, Note: e.Error()}, err)
	case errors.Is(e, artifact.ErrArgument):
		return r.fail(c, Facts{Outcome: InvalidPattern, Input: e.What, Note: e.Detail}, err)
	}
	return r.fail(c, Facts{Outcome: IOFailure, Input: "the artifact"}, err)
}
