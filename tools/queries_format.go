package tools

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"sallyport/artifact"
)

const pathQuery = "JSONPath (RFC 9535), such as $.a[0].b or $..name; empty is the whole document."

// jsonQueries look into JSON, and into the values of JSON lines as one array (R275).
func jsonQueries() []query {
	at := may("path", root(pathQuery))
	of := func(ask func(context.Context, *artifact.JSON, queryArgs) (any, error)) answer {
		return func(ctx context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
			j, err := a.JSON(ctx)
			if err != nil {
				return "", err
			}
			return shown(ask(ctx, j, args))
		}
	}
	table := []query{
		{name: "artifact_json_type", title: "Type of JSON", about: "Names the type of what a path leads to.", fields: []field{at},
			answer: of(func(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) {
				return j.Type(ctx, args.Path)
			})},
		{name: "artifact_json_keys", title: "Keys of JSON", about: "Lists the keys of the object that a path leads to.", fields: []field{at},
			answer: of(func(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) {
				return j.Keys(ctx, args.Path)
			})},
		{name: "artifact_json_length", title: "Length of JSON", about: "Counts the elements, keys or characters of what a path leads to.", fields: []field{at},
			answer: of(func(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) {
				return j.Length(ctx, args.Path)
			})},
		{name: "artifact_json_get", title: "Get from JSON", about: "Gives every value that a path leads to.", fields: []field{at},
			answer: of(func(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) { return j.Get(ctx, args.Path) })},
		{name: "artifact_json_filter", title: "Filter JSON", about: "Gives the elements of an array for which an expression holds.",
			fields: []field{at, need("expression", filled("A filter of JSONPath, such as @.size > 10."))},
			answer: of(func(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) {
				return j.Filter(ctx, args.Path, args.Expression)
			})},
		{name: "artifact_json_slice", title: "Slice of JSON", about: "Gives the elements of an array from start up to, and without, end, counted from 0.",
			fields: []field{at, may("start", whole("The first element.", 0)), may("end", whole("The element after the last.", 0))}, answer: of(slice)},
		{name: "artifact_json_pluck", title: "Pluck from JSON", about: "Gives one key of each element of an array.",
			fields: []field{at, need("key", filled("The key."))},
			answer: of(func(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) {
				return j.Pluck(ctx, args.Path, args.Key)
			})},
	}
	return fitting(table, artifact.KindJSON, artifact.KindItems)
}

func slice(ctx context.Context, j *artifact.JSON, args queryArgs) (any, error) {
	start, end := int64(0), int64(math.MaxInt64)
	if args.Start != nil {
		start = *args.Start
	}
	if args.End != nil {
		end = *args.End
	}
	return j.Slice(ctx, args.Path, start, end)
}

// markdownQueries look into Markdown (R275).
func markdownQueries() []query {
	of := func(ask func(*artifact.Markdown, queryArgs) (any, error)) answer {
		return func(ctx context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
			m, err := a.Markdown(ctx)
			if err != nil {
				return "", err
			}
			return shown(ask(m, args))
		}
	}
	table := []query{
		{name: "artifact_md_frontmatter", title: "Frontmatter", about: "Gives the YAML before a document, as JSON.",
			answer: of(func(m *artifact.Markdown, _ queryArgs) (any, error) { return m.Frontmatter() })},
		{name: "artifact_md_headings", title: "Headings", about: "Lists the headings of a document.",
			answer: of(func(m *artifact.Markdown, _ queryArgs) (any, error) { return m.Headings(), nil })},
		{name: "artifact_md_code_blocks", title: "Code blocks", about: "Lists the blocks of code of a document.",
			fields: []field{may("language", root("Only those of this language."))},
			answer: of(func(m *artifact.Markdown, args queryArgs) (any, error) { return m.CodeBlocks(args.Language), nil })},
		{name: "artifact_md_sections", title: "Sections", about: "Gives the sections of a document, with their text.",
			fields: []field{may("heading", root("Only those with this heading."))},
			answer: of(func(m *artifact.Markdown, args queryArgs) (any, error) { return m.Sections(args.Heading) })},
		{name: "artifact_md_links", title: "Links", about: "Lists the links of a document.",
			answer: of(func(m *artifact.Markdown, _ queryArgs) (any, error) { return m.Links(), nil })},
		{name: "artifact_md_images", title: "Images", about: "Lists the images of a document.",
			answer: of(func(m *artifact.Markdown, _ queryArgs) (any, error) { return m.Images(), nil })},
		{name: "artifact_md_text", title: "Plain text", about: "Gives the text of a document without its marks.",
			answer: func(ctx context.Context, a *artifact.Artifact, _ queryArgs) (string, error) {
				m, err := a.Markdown(ctx)
				if err != nil {
					return "", err
				}
				return m.Text(), nil
			}},
		{name: "artifact_md_ast", title: "Structure", about: "Gives the structure of a document as a tree.",
			answer: of(func(m *artifact.Markdown, _ queryArgs) (any, error) { return m.AST(), nil })},
	}
	return fitting(table, artifact.KindMarkdown)
}

// fitting says which kinds the queries of a table fit.
func fitting(table []query, kinds ...artifact.Kind) []query {
	for i := range table {
		table[i].kinds = kinds
	}
	return table
}

// shown writes what was found as JSON on one line.
func shown(found any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(found)
	return b.String(), err
}
