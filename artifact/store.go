package artifact

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Options says where a store keeps its bytes. The zero value is a store of its own that leaves nothing behind.
type Options struct {
	// Dir is a directory in which the store is kept. It is made, with mode 0700, when it is not there; one that is a symbolic
	// link, that belongs to somebody else or that others may enter is refused. Empty: files without a name.
	Dir string
	// Temp is where files without a name are made. Empty: os.TempDir(). It is not for use with Dir.
	Temp string
	// Quota is how many bytes the artifacts of the store may have in all. 0: as many as fit on the disk.
	Quota int64
}

// Store keeps artifacts. It is safe for use by several goroutines.
type Store struct {
	quota *quota
	keep  *keep // nil for files without a name
	temp  string

	mu    sync.Mutex
	turns map[*Turn]bool
	shut  bool
	newID func() string // tests make collisions with it
}

// Open opens a store. What another program left unfinished in a kept directory is removed. Errors are ErrConfig and
// ErrLocked.
func Open(o Options) (*Store, error) {
	s := &Store{quota: &quota{limit: o.Quota}, temp: o.Temp, turns: map[*Turn]bool{}, newID: randomID}
	switch {
	case o.Quota < 0:
		return nil, &Error{Kind: ErrConfig, What: "quota", Detail: "must not be negative"}
	case o.Dir != "" && o.Temp != "":
		return nil, &Error{Kind: ErrConfig, What: "temp", Detail: "a store that is kept in a directory needs no other"}
	case o.Dir != "":
		keep, used, err := openKeep(o.Dir)
		if err != nil {
			return nil, err
		}
		s.keep, s.quota.used = keep, used
		return s, nil
	}
	if s.temp == "" {
		s.temp = os.TempDir()
	}
	if err := tryTemp(s.temp); err != nil {
		return nil, &Error{Kind: ErrConfig, What: "temp", Detail: "no file can be made there", Err: err}
	}
	return s, nil
}

// tryTemp finds out at once, and not with the first output, that no file can be made.
func tryTemp(dir string) error {
	f, err := namelessFile(dir)
	if err != nil {
		return err
	}
	return f.Close()
}

// randomID is 130 bits that nobody can guess.
func randomID() string { return strings.ToLower(rand.Text()) }

// Turn begins a turn.
func (s *Store) Turn() (*Turn, error) {
	t := &Turn{store: s, artifacts: map[string]*Artifact{}, media: map[string]*Media{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, &Error{Kind: ErrReleased, What: "store", Detail: "it was closed"}
	}
	s.turns[t] = true
	return t, nil
}

// Used says how many bytes the store's artifacts have.
func (s *Store) Used() int64 {
	s.quota.mu.Lock()
	defer s.quota.mu.Unlock()
	return s.quota.used
}

// Close releases every turn and gives the directory free. What is kept stays.
func (s *Store) Close() error {
	s.mu.Lock()
	var turns []*Turn
	for t := range s.turns {
		turns = append(turns, t)
	}
	first := !s.shut
	s.shut = true
	s.mu.Unlock()
	for _, t := range turns {
		t.Release()
	}
	if s.keep == nil || !first {
		return nil
	}
	return s.keep.close()
}

// Entry is an artifact that is kept in the store's directory.
type Entry struct {
	// Name is the entry's name in this store, for Adopt and Remove.
	Name string
	// Label is what the creator called it.
	Label string
	Kind  Kind
	// Bytes is its length, final lines included.
	Bytes int64
	// Missing is how many bytes could not be stored.
	Missing int64
}

// Entries lists what is kept, by name. A store without a directory keeps nothing.
func (s *Store) Entries() []Entry {
	if s.keep == nil {
		return nil
	}
	return s.keep.list()
}

// Unfinished says how many entries Open removed because they were not finished or were damaged.
func (s *Store) Unfinished() int {
	if s.keep == nil {
		return 0
	}
	return s.keep.unfinished
}

// Remove removes an entry from the directory. A turn that adopted it can read it to the end of the turn.
func (s *Store) Remove(name string) error {
	if s.keep == nil {
		return unknownEntry(name)
	}
	size, err := s.keep.remove(name)
	if err == nil {
		s.quota.give(size)
	}
	return err
}

// unknownEntry is an ErrUnknown.
func unknownEntry(name string) error {
	return &Error{Kind: ErrUnknown, What: fmt.Sprintf("entry %.80q", name), Detail: "the store keeps no such entry"}
}
