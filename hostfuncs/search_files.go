package hostfuncs

import (
	"context"
	"encoding/json"

	"sallyport/compartment"
)

// Searcher does the searches of SearchFiles: whoever can search in a confined process has one.
type Searcher struct {
	// Ask puts the search to a gate. It comes first, and nothing is done before it. An error is a refusal.
	Ask func(ctx context.Context, id string, args json.RawMessage) error
	// Search gives the matches in the order in which they are found, and whether there were more than limit.
	Search func(ctx context.Context, id string, s Search) (matches []Match, more bool, err error)
}

// Search is one search.
type Search struct {
	Pattern string
	// Path is the directory, as a model writes it; empty is the root.
	Path string
	// Limit is how many matches are wanted.
	Limit int
}

// Match is one line that matches. It is whole.
type Match struct {
	Path string
	Line int
	Text string
}

// mostMatches is how many matches one search gives to a program: each is four values, and 10,000 may cross in one
// call.
const mostMatches = 2000

// SearchFiles is the power searchFiles(pattern, path?, limit?): the lines of files below a directory that match a regular
// expression (RE2), each with its path and number. It gives at most limit of them, 1,000 when that is left out and never more than
// 2,000, and says whether there were more. What is refused is a refusal that the program can catch.
func SearchFiles(s Searcher) compartment.Power {
	text := []compartment.Type{compartment.TypeString}
	p := compartment.Power{
		Name:       "searchFiles",
		Summary:    "Searches the files of the workspace for a regular expression (RE2).",
		TypeScript: "searchFiles(pattern: string, path?: string, limit?: number): Promise<{ matches: { path: string, line: number, text: string }[], more: boolean }>",
		Params: []compartment.Param{
			{Name: "pattern", Types: text, MaxBytes: readFilePath},
			{Name: "path", Types: text, MaxBytes: readFilePath, Optional: true},
			{Name: "limit", Types: []compartment.Type{compartment.TypeNumber}, Integer: true, Min: 1, Max: mostMatches, Optional: true},
		},
		Returns:  compartment.Param{Types: []compartment.Type{compartment.TypeObject}},
		OnCancel: compartment.CancelDiscards, // a read has no effect to wonder about
		Gated:    true,
		Ask: func(ctx context.Context, c *compartment.Call) error {
			search := searchArgs(c)
			args, err := json.Marshal(map[string]any{"pattern": search.Pattern, "path": search.Path, "limit": search.Limit})
			if err != nil {
				return err
			}
			return s.Ask(ctx, c.ID, args)
		},
		Do: func(ctx context.Context, c *compartment.Call) (compartment.Value, error) {
			matches, more, err := s.Search(ctx, c.ID, searchArgs(c))
			if err != nil {
				return compartment.Value{}, err
			}
			found := make([]compartment.Value, len(matches))
			for i, m := range matches {
				found[i] = compartment.OfObject(compartment.Field{Name: "path", Value: compartment.OfString(m.Path)},
					compartment.Field{Name: "line", Value: compartment.OfInt(int64(m.Line))}, compartment.Field{Name: "text", Value: compartment.OfString(m.Text)})
			}
			return compartment.OfObject(compartment.Field{Name: "matches", Value: compartment.OfArray(found...)},
				compartment.Field{Name: "more", Value: compartment.OfBool(more)}), nil
		},
	}
	if s.Ask == nil {
		p.Ask = nil // a compartment refuses a gated power without a gate when it is opened
	}
	return p
}

// searchArgs are the arguments, with what stands for those that were left out.
func searchArgs(c *compartment.Call) Search {
	s := Search{Limit: 1000}
	s.Pattern, _ = c.Arg(0).AsString()
	s.Path, _ = c.Arg(1).AsString()
	if n, ok := c.Arg(2).AsNumber(); ok {
		s.Limit = int(n)
	}
	return s
}
