package tools

import (
	"context"
	"errors"
	"io"

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

func (s storedTurn) addMedia(name string, from artifact.Source) (*artifact.Media, error) {
	return s.turn.AddMedia(name, "", from)
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

func (s *stored) query(ctx context.Context, answer answer, args queryArgs) (string, error) {
	return answer(ctx, s.Artifact(), args)
}
