package artifact

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
)

// smallBytes is how long a text is that needs no file: making one takes up to a millisecond, and most outputs are short.
const smallBytes = 32 << 10

// smallFile is in memory until it is longer than smallBytes, and in a file without a name from then on.
type smallFile struct {
	dir string

	mu   sync.RWMutex
	mem  []byte
	f    file // nil while it is small
	over bool
}

// Write appends. When no file can be made, what was written before stays readable.
func (s *smallFile) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return 0, os.ErrClosed
	case s.f == nil && len(s.mem)+len(p) <= smallBytes:
		s.mem = append(s.mem, p...)
		return len(p), nil
	case s.f == nil:
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	return s.f.Write(p)
}

// spill makes the file, with all or nothing of what is in memory.
func (s *smallFile) spill() error {
	f, err := namelessFile(s.dir)
	if err != nil {
		return err
	}
	if _, err := f.Write(s.mem); err != nil {
		return errors.Join(err, f.Close())
	}
	s.f, s.mem = f, nil
	return nil
}

func (s *smallFile) ReadAt(p []byte, off int64) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.over:
		return 0, os.ErrClosed
	case s.f != nil:
		return s.f.ReadAt(p, off)
	case off >= int64(len(s.mem)):
		return 0, io.EOF
	}
	return bytes.NewReader(s.mem).ReadAt(p, off)
}

// Sync does nothing: it will not be there after a crash anyway.
func (s *smallFile) Sync() error { return nil }

func (s *smallFile) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return os.ErrClosed
	}
	s.over, s.mem = true, nil
	if s.f == nil {
		return nil
	}
	return s.f.Close()
}
