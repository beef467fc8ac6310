package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync/atomic"

	"github.com/gabriel-vasile/mimetype"
)

// Source is where the bytes of a media value come from. Open begins at the first byte each time.
type Source interface {
	// Open opens the bytes for reading. The caller closes.
	Open() (io.ReadCloser, error)
	// Size is the length in bytes, asked anew each time.
	Size() (int64, error)
}

// Bytes is a source in memory. It keeps p; the caller no longer changes it.
func Bytes(p []byte) Source { return memory(p) }

type memory []byte

func (m memory) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m)), nil }
func (m memory) Size() (int64, error)         { return int64(len(m)), nil }

// File is a source that stays where it is: open is called for every reading, and every asking for the size, so that it
// can decide again each time whether the file may be read. What it opens must be a regular file (ErrIO else).
func File(open func() (iofs.File, error)) Source { return fileSource{open} }

type fileSource struct{ open func() (iofs.File, error) }

func (s fileSource) Open() (io.ReadCloser, error) {
	f, _, err := s.regular()
	return f, err
}

func (s fileSource) Size() (int64, error) {
	f, size, err := s.regular()
	if err != nil {
		return 0, err
	}
	return size, f.Close()
}

// regular opens the file and looks at what it is; it leaves nothing open when it is not regular.
func (s fileSource) regular() (iofs.File, int64, error) {
	f, err := s.open()
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, &Error{Kind: ErrIO, What: "media", Err: err}
	}
	return f, info.Size(), nil
}

// peekBytes is how much of a file its type is told from.
const peekBytes = 3072

// sniff tells the MIME type from the first bytes, and leaves nothing open.
func sniff(src Source) (string, error) {
	r, err := src.Open()
	if err != nil {
		return "", err
	}
	head := make([]byte, peekBytes)
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	return mimetype.Detect(head[:n]).String(), nil
}

// Media is bytes with a type, of one turn. It cannot be encoded until MarkSaved was called.
type Media struct {
	id, name, mime string
	src            Source
	saved          *atomic.Pointer[string] // a pointer, so that a copy of the value is no way around MarshalText
}

// AddMedia makes a media value of this turn, under an id that cannot be guessed. The name is what a model calls it. An empty
// MIME type is told from the first bytes. Errors are ErrReleased, ErrCollision and those of the source.
func (t *Turn) AddMedia(name, mime string, src Source) (*Media, error) {
	if mime == "" {
		var err error
		if mime, err = sniff(src); err != nil {
			return nil, err
		}
	}
	m := &Media{id: "m-" + t.store.newID(), name: name, mime: mime, src: src, saved: new(atomic.Pointer[string])}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return nil, &Error{Kind: ErrReleased, What: m.id}
	case t.media[m.id] != nil || t.artifacts[m.id] != nil:
		return nil, &Error{Kind: ErrCollision, What: m.id}
	}
	t.media[m.id] = m
	return m, nil
}

// Media finds a media value of this turn; ErrUnknown when there is none.
func (t *Turn) Media(id string) (*Media, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.media[id]; m != nil {
		return m, nil
	}
	return nil, &Error{Kind: ErrUnknown, What: fmt.Sprintf("media %.80q", id)}
}

// ID is the handle.
func (m *Media) ID() string { return m.id }

// Name is what a model calls it.
func (m *Media) Name() string { return m.name }

// MIME is its type.
func (m *Media) MIME() string { return m.mime }

// Open reads it from the first byte. The caller closes.
func (m *Media) Open() (io.ReadCloser, error) { return m.src.Open() }

// Size is its length in bytes, as it is now.
func (m *Media) Size() (int64, error) { return m.src.Size() }

// MarkSaved notes that the bytes were saved at a path, as a model writes it. From then on it can be encoded.
func (m *Media) MarkSaved(path string) {
	m.saved.Store(&path)
}

// MarshalText is a reference to where the media was saved. One that never was is ErrNotDescribable, for every encoder
// that asks: JSON, XML, gob and those that follow them.
func (m Media) MarshalText() ([]byte, error) {
	if m.saved == nil || m.saved.Load() == nil {
		return nil, &Error{Kind: ErrNotDescribable, What: m.id}
	}
	return fmt.Appendf(nil, "media %s (%s), saved as %s", m.id, m.mime, *m.saved.Load()), nil
}
