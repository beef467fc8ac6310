package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// childVar names what a copy of the test binary has to do instead of running tests.
const childVar = "SALLYPORT_ARTIFACT_CHILD"

// childJobs are the things a copy can do.
var childJobs = map[string]func() error{}

func TestMain(m *testing.M) {
	if job := os.Getenv(childVar); job != "" {
		if err := childJobs[job](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("PASS")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// newTurn is a turn in a store of its own.
func newTurn(t testing.TB, o Options) *Turn {
	t.Helper()
	if o.Dir == "" && o.Temp == "" {
		o.Temp = t.TempDir()
	}
	store, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	turn, err := store.Turn()
	require.NoError(t, err)
	return turn
}

// create begins an artifact.
func create(t testing.TB, turn *Turn, spec Spec) *Writer {
	t.Helper()
	w, err := turn.Create(spec)
	require.NoError(t, err)
	return w
}

// closed is a finished artifact.
func closed(t testing.TB, kind Kind, text string) *Artifact {
	t.Helper()
	return closedIn(t, newTurn(t, Options{}), kind, text)
}

func closedIn(t testing.TB, turn *Turn, kind Kind, text string) *Artifact {
	t.Helper()
	w := create(t, turn, Spec{Kind: kind})
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return w.Artifact()
}

// read gives what a query found.
func read(t testing.TB, text Text, err error) string {
	t.Helper()
	require.NoError(t, err)
	var b bytes.Buffer
	n, err := text.WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, text.Len(), n)
	p, err := text.Bytes()
	require.NoError(t, err)
	require.Equal(t, b.String(), string(p))
	return b.String()
}

// whole is all of an artifact.
func whole(t testing.TB, a *Artifact) string {
	t.Helper()
	text, err := a.Cat(0, ToEnd)
	return read(t, text, err)
}

// found lists the lines that a pattern matches, as "number:line".
func found(t testing.TB, a *Artifact, pattern, flags string) []string {
	t.Helper()
	all := []string{}
	err := a.Grep(context.Background(), pattern, flags, func(m Match) error {
		p, err := m.Line.Bytes()
		all = append(all, fmt.Sprintf("%d:%s", m.Number, p))
		return err
	})
	require.NoError(t, err)
	return all
}
