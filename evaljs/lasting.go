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
func (s *Session) evaluateLasting(ctx context.Context, source string, language Language) (compartment.Outcome, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done(): // it waited for its turn, and nothing of it ran
		return s.ended(ctx, source, compartment.Ending{Kind: compartment.KindCancelled}), nil
	}
	if err := s.alive(); err != nil {
		return compartment.Outcome{}, err
	}
	if s.last == nil {
		c, err := s.begin(ctx)
		if err != nil {
			return compartment.Outcome{}, err
		}
		s.last = c
	}
	o, p, err := s.evaluateIn(ctx, s.last, source, language)
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
		s.remember(p.declared)
		o.Session.Lost = shownNames(slices.Sorted(maps.Keys(s.names)))
		o.Next = strings.TrimSpace(o.Next + " The session is lost, with what it had declared; the next evaluation starts clean.")
		return o, s.forget()
	case compartment.SessionRolledBack:
		var lost []string
		for _, d := range p.declared {
			if !s.names[d.name] && !slices.Contains(lost, d.name) && len(lost) < maxNames {
				lost = append(lost, d.name)
			}
		}
		slices.Sort(lost)
		o.Session.Lost = shownNames(lost)
		o.Next = strings.TrimSpace(o.Next + " The session is as it was before this evaluation.")
	default:
		s.remember(p.declared)
	}
	return o, nil
}

// maxNames bounds the names of declarations that a session remembers, to tell which are gone.
const maxNames = 1000

// remember notes what was declared.
func (s *Session) remember(declared []declaration) {
	for _, d := range declared {
		if len(s.names) < maxNames {
			s.names[d.name] = true
		}
	}
}

// shownNames makes names fit to be shown: they are the guest's.
func shownNames(names []string) []string {
	for i, n := range names {
		names[i] = compartment.Shown(n, 80)
	}
	return names
}

// forget gives up the compartment of the session: the next evaluation makes another one.
func (s *Session) forget() error {
	c := s.last
	s.last = nil
	clear(s.names)
	s.end(c)
	return c.Close()
}
