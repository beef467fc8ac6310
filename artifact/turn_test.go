package artifact

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHandles: ids are random, only of their turn, and end with it (R270); one that is taken is a collision.
func TestHandles(t *testing.T) {
	store, err := Open(Options{Temp: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	one, err := store.Turn()
	require.NoError(t, err)
	two, err := store.Turn()
	require.NoError(t, err)
	require.Empty(t, one.IDs())
	a := closedIn(t, one, KindText, "secret")
	b := closedIn(t, one, KindText, "more")
	require.Equal(t, []string{a.ID(), b.ID()}, one.IDs())
	require.Regexp(t, `^a-[a-z2-7]{26}$`, a.ID())
	_, err = two.Artifact(a.ID())
	require.ErrorIs(t, err, ErrUnknown)

	_, err = one.Create(Spec{ID: a.ID()})
	require.ErrorIs(t, err, ErrCollision)
	require.Equal(t, CodeCollision, err.(*Error).Code())
	_, err = two.Create(Spec{ID: "call_7"})
	require.NoError(t, err)
	store.newID = func() string { return "same" }
	closedIn(t, one, KindText, "first")
	_, err = one.Create(Spec{})
	require.ErrorIs(t, err, ErrCollision)
	for _, bad := range []Spec{{ID: "a b"}, {ID: "../x"}, {ID: strings.Repeat("x", 65)}, {Kind: "html"}, {Label: strings.Repeat("x", 201)}} {
		_, err = one.Create(bad)
		require.ErrorIs(t, err, ErrArgument, "%+v", bad)
	}

	text, err := a.Head(1)
	require.NoError(t, err)
	one.Release()
	one.Release()
	for _, err := range []error{
		second(one.Artifact(a.ID())), second(one.Media("m")),
	} {
		require.ErrorIs(t, err, ErrUnknown)
	}
	for _, err := range []error{
		second(a.Head(1)), second(a.Tail(1)), second(a.Cat(0, 1)), second(a.ByteLength()), second(a.LineCount()),
		second(a.EstimateTokens("")), second(a.JSON(t.Context())), second(a.Markdown(t.Context())), second(text.Bytes()),
		second(one.Create(Spec{})), second(text.WriteTo(io.Discard)), a.Grep(t.Context(), "x", "", nil),
	} {
		require.ErrorIs(t, err, ErrReleased)
		require.NotContains(t, err.Error(), os.TempDir())
	}
}

// TestReleaseUnderWay: a turn that ends while it is written and read ends both, typed.
func TestReleaseUnderWay(t *testing.T) {
	turn := newTurn(t, Options{})
	w := create(t, turn, Spec{})
	var all sync.WaitGroup
	begun := make(chan struct{})
	all.Go(func() {
		for i := 0; ; i++ {
			if _, err := w.Write(make([]byte, 40_000)); err != nil {
				if !errors.Is(err, ErrReleased) {
					t.Error(err)
				}
				return
			}
			if i == 10 {
				close(begun)
			}
		}
	})
	all.Go(func() {
		for {
			if text, err := w.Artifact().Tail(5); err == nil {
				_, err = text.Bytes()
				if err != nil && !errors.Is(err, ErrReleased) {
					t.Error(err)
				}
			} else {
				return
			}
		}
	})
	<-begun
	turn.Release()
	all.Wait()
	require.Zero(t, turn.store.Used())
}

// TestNothingIsLeft: a store without a directory has no name on the disk at any time, so a killed program leaves nothing.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	store, err := Open(Options{Temp: dir})
	require.NoError(t, err)
	turn, err := store.Turn()
	require.NoError(t, err)
	w := create(t, turn, Spec{})
	_, err = w.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, names)
	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
	_, err = store.Turn()
	require.ErrorIs(t, err, ErrReleased)
	_, err = turn.Create(Spec{})
	require.ErrorIs(t, err, ErrReleased)
}

// TestOptionsAreChecked: a store that cannot work is not opened (R22).
func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Quota: -1}, {Dir: "/x", Temp: "/y"}, {Temp: "/nonexistent/place"}, {Dir: "relative"}, {Dir: "/nonexistent/place/dir"}} {
		_, err := Open(o)
		require.ErrorIs(t, err, ErrConfig, "%+v", o)
		require.NotContains(t, err.Error(), "nonexistent")
	}
}
