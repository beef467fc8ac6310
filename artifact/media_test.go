package artifact

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// content of a media value, read from the first byte.
func bytesOf(t *testing.T, m *Media) string {
	t.Helper()
	r, err := m.Open()
	require.NoError(t, err)
	p, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(p)
}

// TestMedia: bytes that can be read again, by an id of the turn (R221, R225).
func TestMedia(t *testing.T) {
	turn := newTurn(t, Options{})
	m, err := turn.AddMedia("a.png", "", Bytes([]byte("\x89PNG\r\n\x1a\n....")))
	require.NoError(t, err)
	require.Equal(t, "image/png", m.MIME())
	require.Equal(t, "a.png", m.Name())
	require.Regexp(t, `^m-[a-z2-7]{26}$`, m.ID())
	require.Equal(t, bytesOf(t, m), bytesOf(t, m))
	n, err := m.Size()
	require.NoError(t, err)
	require.Equal(t, int64(12), n)
	same, err := turn.Media(m.ID())
	require.NoError(t, err)
	require.Same(t, m, same)
	require.Empty(t, turn.IDs(), "media is no artifact: no query attaches")
	_, err = turn.Artifact(m.ID())
	require.ErrorIs(t, err, ErrUnknown)

	other, err := turn.store.Turn()
	require.NoError(t, err)
	_, err = other.Media(m.ID())
	require.ErrorIs(t, err, ErrUnknown)
	turn.store.newID = func() string { return "same" }
	_, err = turn.AddMedia("b", "text/plain", Bytes(nil))
	require.NoError(t, err)
	_, err = turn.AddMedia("c", "text/plain", Bytes(nil))
	require.ErrorIs(t, err, ErrCollision)
	turn.Release()
	_, err = turn.AddMedia("d", "text/plain", Bytes(nil))
	require.ErrorIs(t, err, ErrReleased)
}

// TestStagedNotDescribable: no encoder takes media that was not saved, not even inside of something, and the error names
// what to do (R223, R322).
func TestStagedNotDescribable(t *testing.T) {
	turn := newTurn(t, Options{})
	m, err := turn.AddMedia("a.txt", "", Bytes([]byte("secret")))
	require.NoError(t, err)
	history := map[string]any{"messages": []any{map[string]any{"content": m}}}
	for _, v := range []any{m, *m, history, []Media{*m}, struct{ M *Media }{m}, &Media{}} {
		out, err := json.Marshal(v)
		require.ErrorIs(t, err, ErrNotDescribable, "%T", v)
		require.ErrorContains(t, err, "save_media")
		require.Empty(t, out)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, CodeNotDescribable, e.Code())
	}
	require.Error(t, gob.NewEncoder(io.Discard).Encode(m))
	m.MarkSaved("out/a.txt")
	out, err := json.Marshal(history)
	require.NoError(t, err)
	require.Contains(t, string(out), "saved as out/a.txt")
	require.NotContains(t, string(out), "secret")
}

// TestStagedReader: a file is opened anew for each reading and each size, and judged anew (R224).
func TestStagedReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	denied := errors.New("denied")
	var deny error
	turn := newTurn(t, Options{})
	m, err := turn.AddMedia("f", "", File(func() (iofs.File, error) {
		if deny != nil {
			return nil, deny
		}
		return os.Open(path)
	}))
	require.NoError(t, err)
	require.Equal(t, "text/plain; charset=utf-8", m.MIME())
	require.Equal(t, "one", bytesOf(t, m))
	require.NoError(t, os.WriteFile(path, []byte("three"), 0o600))
	n, err := m.Size()
	require.NoError(t, err)
	require.Equal(t, int64(5), n)
	turn.Release()
	require.Equal(t, "three", bytesOf(t, m), "a reader may outlive its turn")

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	for _, err := range []error{second(m.Open()), second(m.Size())} {
		require.ErrorIs(t, err, ErrIO)
		require.NotContains(t, err.Error(), path)
	}
	deny = denied
	require.ErrorIs(t, second(m.Open()), denied)
	require.ErrorIs(t, second(m.Size()), denied)
}

// counted is a file that tells when it is closed.
type counted struct {
	iofs.File
	open *int
}

func (c counted) Close() error { *c.open--; return c.File.Close() }

// TestNoFDLeak: 10,000 stagings, sizes and readings, of files and of what is none, leave nothing open (D11).
func TestNoFDLeak(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 5000), 0o600))
	turn := newTurn(t, Options{})
	open, opened := 0, 0
	opener := func(path string) Source {
		return File(func() (iofs.File, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			open, opened = open+1, opened+1
			return counted{f, &open}, nil
		})
	}
	for i := range 10_000 {
		m, err := turn.AddMedia(fmt.Sprint(i), "", opener(path))
		require.NoError(t, err)
		_, err = m.Size()
		require.NoError(t, err)
		_, err = turn.AddMedia("d", "", opener(dir))
		require.ErrorIs(t, err, ErrIO)
		require.Zero(t, open)
	}
	require.Equal(t, 30_000, opened)
}

// TestArtifactFDs: long artifacts give their descriptors back with the turn.
func TestArtifactFDs(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc here to count descriptors in")
	}
	turn := newTurn(t, Options{})
	before := descriptors(t)
	for range 50 {
		w := create(t, turn, Spec{})
		_, err := w.Write(make([]byte, 2*smallBytes))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	require.Equal(t, before+50, descriptors(t))
	turn.Release()
	require.Equal(t, before, descriptors(t))
}
