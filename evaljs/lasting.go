package evaljs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"sallyport/compartment"
)

// evaluateLasting runs the source in the compartment that the session keeps.
func (s *Session) evaluateLasting(ctx context.Context, source string) (compartment.Outcome, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.last == nil {
		c, err := s.begin(ctx)
		if err != nil {
			return compartment.Outcome{}, err
		}
		s.last = c
	}
	o, p, err := s.evaluateIn(ctx, s.last, source)
	if err != nil {
		if errors.Is(err, compartment.ErrLost) || errors.Is(err, compartment.ErrEngine) {
			err = errors.Join(err, s.forget())
		}
		return o, err
	}
	if o.Status == compartment.StatusSyntax {
		return o, nil // nothing ran
	}
	switch o.Session.State {
	case compartment.SessionLost:
		for _, d := range p.declared {
			s.names[d.name] = true
		}
		o.Session.Lost = slices.Sorted(maps.Keys(s.names))
		o.Next = strings.TrimSpace(o.Next + " The session is lost, with what it had declared; the next evaluation starts clean.")
		return o, s.forget()
	case compartment.SessionRolledBack:
		for _, d := range p.declared {
			if !s.names[d.name] && !slices.Contains(o.Session.Lost, d.name) {
				o.Session.Lost = append(o.Session.Lost, d.name)
			}
		}
		slices.Sort(o.Session.Lost)
		o.Next = strings.TrimSpace(o.Next + " The session is as it was before this evaluation.")
	default:
		for _, d := range p.declared {
			s.names[d.name] = true
		}
	}
	return o, nil
}

// forget gives up the compartment of the session: the next evaluation makes another one.
func (s *Session) forget() error {
	c := s.last
	s.last = nil
	clear(s.names)
	s.end(c)
	return c.Close()
}
