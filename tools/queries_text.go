package tools

import (
	"context"
	"fmt"
	"strings"

	"sallyport/artifact"
)

// baseQueries are those of any artifact (R269).
func baseQueries() []query {
	lines := func(where string) field {
		s := whole("How many lines from the "+where+".", 0)
		s.Default = []byte("10")
		return may("n", s)
	}
	encodings := oneOf("The encoding to count in.", append([]string{""}, artifact.Encodings()...))
	encodings.Default = []byte(`""`)
	return []query{
		{name: "artifact_head", title: "First lines", about: "Gives the first lines of an artifact.", fields: []field{lines("beginning")},
			answer: func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
				return textOf(a.Head(args.N))
			}},
		{name: "artifact_tail", title: "Last lines", about: "Gives the last lines of an artifact.", fields: []field{lines("end")},
			answer: func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
				return textOf(a.Tail(args.N))
			}},
		{name: "artifact_grep", title: "Search lines", answer: grep,
			about:  "Gives the lines of an artifact that match a regular expression (RE2: no look-around, no back-references), with their numbers.",
			fields: []field{need("pattern", filled("The expression; each line is matched alone.")), may("flags", root("Of i, m, s and u; i ignores case."))}},
		{name: "artifact_cat", title: "Range of lines", answer: cat,
			about:  "Gives the lines from start up to, and without, end, counted from 0; without both, all of the artifact.",
			fields: []field{may("start", whole("The first line.", 0)), may("end", whole("The line after the last.", 0))}},
		{name: "artifact_byte_length", title: "Length in bytes", about: "Says how many bytes an artifact has.",
			answer: func(_ context.Context, a *artifact.Artifact, _ queryArgs) (string, error) {
				return numberOf(a.ByteLength())
			}},
		{name: "artifact_line_count", title: "Number of lines", about: "Says how many lines an artifact has.",
			answer: func(_ context.Context, a *artifact.Artifact, _ queryArgs) (string, error) {
				return numberOf(a.LineCount())
			}},
		{name: "artifact_estimate_tokens", title: "Estimate tokens", about: "Estimates how many tokens an artifact would take.",
			fields: []field{may("encoding", encodings)},
			answer: func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
				return numberOf(a.EstimateTokens(args.Encoding))
			}},
	}
}

func cat(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
	start, end := int64(0), artifact.ToEnd
	if args.Start != nil {
		start = *args.Start
	}
	if args.End != nil {
		end = *args.End
	}
	return textOf(a.Cat(start, end))
}

// grep gives the lines that match, each with its number before it.
func grep(ctx context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
	var found strings.Builder
	err := a.Grep(ctx, args.Pattern, args.Flags, func(m artifact.Match) error {
		fmt.Fprintf(&found, "%d:", m.Number)
		if _, err := m.Line.WriteTo(&found); err != nil {
			return err
		}
		return found.WriteByte('\n')
	})
	return found.String(), err
}

// textOf is a piece of an artifact, byte by byte.
func textOf(t artifact.Text, err error) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := t.Bytes()
	return string(b), err
}

func numberOf(n int64, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d\n", n), nil
}
