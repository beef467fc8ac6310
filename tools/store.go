package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/artifact"
)

// storedTurn keeps the artifacts of one turn in a store.
type storedTurn struct{ turn *artifact.Turn }

func (s storedTurn) create(id, label string, kind artifact.Kind) (output, error) {
	w, err := s.turn.Create(artifact.Spec{ID: id, Kind: kind, Label: label})
	if err != nil {
		return nil, err
	}
	return &stored{Writer: w}, nil
}

func (s storedTurn) release() error { s.turn.Release(); return nil }

// stored is an artifact of a store.
type stored struct{ *artifact.Writer }

func (s *stored) end(lines []string) error {
	var errs []error
	for _, l := range lines {
		errs = append(errs, s.Final(l))
	}
	return errors.Join(append(errs, s.Close())...)
}

func (s *stored) size() (bytes, lines int64) {
	a := s.Artifact()
	bytes, err := a.ByteLength()
	if err != nil {
		return 0, 0 // the turn is over, and nobody asks
	}
	if lines, err = a.LineCount(); err != nil {
		return 0, 0
	}
	return bytes, lines
}

// release leaves the bytes to the end of the turn; nobody has the id.
func (s *stored) release() error { return nil }

func (s *stored) open() (io.ReadCloser, error) {
	all, err := s.Artifact().Cat(0, artifact.ToEnd)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(all.Reader()), nil
}

// queryArgs are the arguments of all queries.
type queryArgs struct {
	N        int64  `json:"n"`
	Pattern  string `json:"pattern"`
	Flags    string `json:"flags"`
	Start    *int64 `json:"start"`
	End      *int64 `json:"end"`
	Encoding string `json:"encoding"`
	Path     string `json:"path"`
}

func (s *stored) query(ctx context.Context, name string, raw []byte) (string, error) {
	var args queryArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	answer, ok := answers[name]
	if !ok {
		return "", fmt.Errorf("%s: %w", name, errors.ErrUnsupported)
	}
	return answer(ctx, s.Artifact(), args)
}

// answers are the functions behind the queries of queryTable.
var answers = map[string]func(context.Context, *artifact.Artifact, queryArgs) (string, error){
	"artifact_head": func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
		return textOf(a.Head(args.N))
	},
	"artifact_tail": func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
		return textOf(a.Tail(args.N))
	},
	"artifact_cat": func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
		start, end := int64(0), artifact.ToEnd
		if args.Start != nil {
			start = *args.Start
		}
		if args.End != nil {
			end = *args.End
		}
		return textOf(a.Cat(start, end))
	},
	"artifact_grep": grep,
	"artifact_byte_length": func(_ context.Context, a *artifact.Artifact, _ queryArgs) (string, error) {
		return numberOf(a.ByteLength())
	},
	"artifact_line_count": func(_ context.Context, a *artifact.Artifact, _ queryArgs) (string, error) {
		return numberOf(a.LineCount())
	},
	"artifact_estimate_tokens": func(_ context.Context, a *artifact.Artifact, args queryArgs) (string, error) {
		return numberOf(a.EstimateTokens(args.Encoding))
	},
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
