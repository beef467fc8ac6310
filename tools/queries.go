package tools

import (
	"context"
	"errors"
	"slices"

	"sallyport/artifact"

	"github.com/google/jsonschema-go/jsonschema"
)

// query is a tool that looks into artifacts (R269-R275). It is there only as long as the turn has an artifact that it fits.
type query struct {
	name, title, about string
	kinds              []artifact.Kind // that it fits; nil fits all
	fields             []field
}

// queryTable are the queries of 1.6: the seven of any artifact, and the families of JSON and of Markdown.
func queryTable() []query {
	return slices.Concat(baseQueries(), jsonQueries(), markdownQueries())
}

func baseQueries() []query {
	count := func(what string) *jsonschema.Schema {
		s := whole("How many lines; 10 without it.", 0)
		s.Default = []byte("10")
		s.Description = "How many lines from the " + what + "."
		return s
	}
	return []query{
		{name: "artifact_head", title: "First lines", about: "Gives the first lines of an artifact.", fields: []field{may("n", count("beginning"))}},
		{name: "artifact_tail", title: "Last lines", about: "Gives the last lines of an artifact.", fields: []field{may("n", count("end"))}},
		{name: "artifact_grep", title: "Search lines", about: "Gives the lines of an artifact that match a regular expression (RE2: no look-around, no back-references), with their numbers.",
			fields: []field{need("pattern", filled("The expression; each line is matched alone.")), may("flags", root("Of i, m, s and u."))}},
		{name: "artifact_cat", title: "Range of lines", about: "Gives the lines from start up to, and without, end, counted from 0; without both, all of the artifact.",
			fields: []field{may("start", whole("The first line.", 0)), may("end", whole("The line after the last.", 0))}},
		{name: "artifact_byte_length", title: "Length in bytes", about: "Says how many bytes an artifact has."},
		{name: "artifact_line_count", title: "Number of lines", about: "Says how many lines an artifact has."},
		{name: "artifact_estimate_tokens", title: "Estimate tokens", about: "Estimates how many tokens an artifact would take.",
			fields: []field{may("encoding", root("The name of an encoding."))}},
	}
}

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
		args: check, run: runQuery,
	}
}

// runQuery answers a query. What it gives is no artifact (R272).
func runQuery(r *Registry, ctx context.Context, c *call) (Result, error) {
	var args struct {
		CallID  string `json:"callId"`
		Pattern string `json:"pattern"`
	}
	if err := c.decode(&args); err != nil {
		return Result{}, err
	}
	a, ok := c.turn.artifact(args.CallID)
	if !ok { // the turn ended in between
		return Result{}, ErrTurnEnded
	}
	found, err := a.query(ctx, c.tool.Name, c.args.full)
	if errors.Is(err, artifact.ErrNotJSON) || errors.Is(err, artifact.ErrNoMatch) { // nothing is there, and that is an answer
		return Result{Notes: []string{err.Error() + "; the queries of text work"}}, nil
	}
	if err != nil {
		return Result{}, r.unanswered(c, err)
	}
	if found == "" && c.tool.Name == "artifact_grep" {
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
