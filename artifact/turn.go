package artifact

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"sync"
)

// Turn holds the handles of one turn of a conversation. It is safe for use by several goroutines.
type Turn struct {
	store *Store

	mu        sync.Mutex
	artifacts map[string]*Artifact
	order     []string
	media     map[string]*Media
	over      bool
}

// Spec is what is known of an artifact before it is written.
type Spec struct {
	// ID is the handle. Empty: a random one. Else it has letters, digits, "_" and "-", at most 64, and must be free in this turn.
	ID string
	// Kind is what it is meant to be. Empty: KindText.
	Kind Kind
	// Label is a name for people, such as the tool's. At most 200 bytes; it is kept with the entry.
	Label string
}

// idForm is what a caller's handle may look like.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check refuses what can never work.
func (s *Spec) check() error {
	if s.Kind == "" {
		s.Kind = KindText
	}
	switch {
	case !s.Kind.valid():
		return argument(fmt.Sprintf("kind %.40q", s.Kind), "is not known")
	case s.ID != "" && !idForm.MatchString(s.ID):
		return argument(fmt.Sprintf("id %.80q", s.ID), "an id has letters, digits, _ and -, at most 64")
	case len(s.Label) > 200:
		return argument("label", "is longer than 200 bytes")
	}
	return nil
}

// Create begins an artifact. It can be asked about at once. Errors are ErrArgument, ErrCollision, ErrReleased, and
// ErrIO when no file can be made.
func (t *Turn) Create(spec Spec) (*Writer, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	a := &Artifact{id: spec.ID, kind: spec.Kind, label: spec.Label}
	f, err := t.newFile(a)
	if err != nil {
		return nil, err
	}
	a.s = &spool{file: f, quota: t.store.quota}
	if err := t.add(a); err != nil {
		t.drop(a)
		return nil, err
	}
	return &Writer{a: a, store: t.store}, nil
}

// newFile makes the file of an artifact.
func (t *Turn) newFile(a *Artifact) (file, error) {
	if t.store.keep == nil {
		return &smallFile{dir: t.store.temp}, nil
	}
	a.entry = t.store.newID()
	f, err := t.store.keep.create(a.entry)
	if err != nil {
		return nil, &Error{Kind: ErrIO, What: "new artifact", Err: err}
	}
	return f, nil
}

// add makes an artifact known in the turn.
func (t *Turn) add(a *Artifact) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.id == "" {
		a.id = "a-" + t.store.newID()
	}
	switch {
	case t.over:
		return &Error{Kind: ErrReleased, What: a.id}
	case t.artifacts[a.id] != nil || t.media[a.id] != nil:
		return &Error{Kind: ErrCollision, What: a.id}
	}
	t.artifacts[a.id] = a
	t.order = append(t.order, a.id)
	return nil
}

// Artifact finds one of this turn; ErrUnknown when there is none, without saying whether another turn has it.
func (t *Turn) Artifact(id string) (*Artifact, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.artifacts[id]; a != nil {
		return a, nil
	}
	return nil, &Error{Kind: ErrUnknown, What: fmt.Sprintf("artifact %.80q", id)}
}

// IDs lists the handles of this turn's artifacts, oldest first.
func (t *Turn) IDs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.order)
}

// Adopt makes a kept entry readable in this turn, under a new handle. It reads the entry once, to check that it is what
// was written (ErrTorn), and to index it; a gigabyte takes about half a second.
func (t *Turn) Adopt(name string) (*Artifact, error) {
	keep := t.store.keep
	if keep == nil {
		return nil, unknownEntry(name)
	}
	f, m, err := keep.open(name)
	if err != nil {
		return nil, err
	}
	a := &Artifact{kind: m.Kind, label: m.Label, entry: name}
	a.s = &spool{file: f, quota: t.store.quota, sealed: true, kept: true, missing: m.Missing, tail: m.Tail}
	if err := a.s.load(m); err != nil {
		_ = f.Close()
		return nil, err
	}
	if err := t.add(a); err != nil {
		_ = f.Close()
		return nil, err
	}
	return a, nil
}

// load indexes a file that was written before, and compares it with what is known of it.
func (s *spool) load(m meta) error {
	buf := make([]byte, 1<<20)
	for s.index.size < m.Size {
		n, err := s.file.ReadAt(buf[:min(int64(len(buf)), m.Size-s.index.size)], s.index.size)
		if n == 0 {
			return &Error{Kind: ErrTorn, What: "entry", Detail: "it is too short", Err: err}
		}
		s.index.add(buf[:n])
		s.sum = crc32.Update(s.sum, castagnoli, buf[:n])
		s.last = buf[n-1]
	}
	if s.sum != m.Sum {
		return &Error{Kind: ErrTorn, What: "entry", Detail: "its checksum is another"}
	}
	return nil
}

// Release ends the turn: its handles are unknown from now on, readers under way get ErrReleased, and the bytes of what is
// not kept are gone. An artifact that is still being written is thrown away. It may be called twice.
func (t *Turn) Release() {
	t.mu.Lock()
	t.over = true
	all := t.artifacts
	t.artifacts, t.media, t.order = nil, nil, nil
	t.mu.Unlock()
	for _, a := range all {
		t.drop(a)
	}
	t.store.mu.Lock()
	delete(t.store.turns, t)
	t.store.mu.Unlock()
}

// drop closes an artifact, and gives its bytes back unless they are kept. Closing a file for reading has no error that
// anybody could act on.
func (t *Turn) drop(a *Artifact) {
	_ = a.s.release()
	a.s.commit.Lock()
	defer a.s.commit.Unlock()
	if a.s.kept {
		return
	}
	if t.store.keep != nil {
		t.store.keep.discard(a.entry)
	}
	t.store.quota.give(a.s.index.size) // nobody adds to it any more
}
