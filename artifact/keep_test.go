//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package artifact

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keptIn opens a store in a directory, with a turn.
func keptIn(t testing.TB, dir string) (*Store, *Turn) {
	t.Helper()
	store, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	turn, err := store.Turn()
	require.NoError(t, err)
	return store, turn
}

// TestKept: what was closed is there after the turn and after the store, and nothing else is.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	store, turn := keptIn(t, dir)
	w := create(t, turn, Spec{Kind: KindMarkdown, Label: "open_markdown_file"})
	_, err := io.WriteString(w, "# one\ntwo")
	require.NoError(t, err)
	require.NoError(t, w.Final("final"))
	require.NoError(t, w.Close())
	open := create(t, turn, Spec{})
	_, err = open.Write(make([]byte, 100_000))
	require.NoError(t, err)
	turn.Release()
	require.Equal(t, int64(9), store.Used(), "what was not closed is gone")
	require.NoError(t, store.Close())

	store, turn = keptIn(t, dir)
	require.Zero(t, store.Unfinished())
	entries := store.Entries()
	require.Len(t, entries, 1)
	name := entries[0].Name
	require.Equal(t, Entry{Name: name, Label: "open_markdown_file", Kind: KindMarkdown, Bytes: 16}, entries[0])
	a, err := turn.Adopt(name)
	require.NoError(t, err)
	require.NotEqual(t, name, a.ID(), "a handle is not a name of the store")
	require.Equal(t, "# one\ntwo\nfinal\n", whole(t, a))
	require.Equal(t, []string{a.ID()}, turn.IDs())
	require.Equal(t, "open_markdown_file", a.Label())
	text, err := a.Tail(1)
	require.Equal(t, "final\n", read(t, text, err))

	require.NoError(t, store.Remove(name))
	require.Equal(t, "# one\ntwo\nfinal\n", whole(t, a), "readable to the end of the turn")
	turn.Release()
	require.Zero(t, store.Used())
	require.ErrorIs(t, store.Remove(name), ErrUnknown)
	_, err = turn.Adopt(name)
	require.ErrorIs(t, err, ErrUnknown)
	_, err = turn.Adopt("../" + name)
	require.ErrorIs(t, err, ErrUnknown)
	require.NoError(t, store.Close())
	require.ElementsMatch(t, []string{lockName, reserveName}, namesIn(t, dir))
}

func namesIn(t testing.TB, dir string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// TestKeptModes: nobody else can read it, whatever the umask is.
func TestKeptModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	store, turn := keptIn(t, dir)
	closedIn(t, turn, KindText, "secret")
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		require.NoError(t, err)
		want := os.FileMode(0o600)
		if path == dir {
			want = 0o700
		}
		require.Equal(t, want, info.Mode().Perm(), path)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// TestKeptRefuses: a directory that is a link, that others may enter, that is none, or that another store has open.
func TestKeptRefuses(t *testing.T) {
	top := t.TempDir()
	private, public, link, file := filepath.Join(top, "p"), filepath.Join(top, "o"), filepath.Join(top, "l"), filepath.Join(top, "f")
	require.NoError(t, os.Mkdir(private, 0o700))
	require.NoError(t, os.Mkdir(public, 0o700))
	require.NoError(t, os.Chmod(public, 0o750))
	require.NoError(t, os.Symlink(private, link))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for dir, says := range map[string]string{public: "mode 0700", link: "symbolic link", file: "not a directory"} {
		_, err := Open(Options{Dir: dir})
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), top)
	}
	store, _ := keptIn(t, private) // the same directory, by its own name
	_, err := Open(Options{Dir: private})
	require.ErrorIs(t, err, ErrLocked)
	require.ErrorIs(t, err, ErrConfig)
	require.NoError(t, store.Close())
	store, _ = keptIn(t, private)
	require.NoError(t, store.Close())

	require.NoError(t, os.Remove(filepath.Join(private, lockName)))
	require.NoError(t, os.Symlink(file, filepath.Join(private, lockName)))
	_, err = Open(Options{Dir: private})
	require.ErrorIs(t, err, ErrConfig, "a lock that is a link")
}

// TestTorn: every damage to an entry is found, by Open or by Adopt; files of somebody else stay.
func TestTorn(t *testing.T) {
	long := strings.Repeat("some text\n", 10_000)
	for what, damage := range map[string]func(text, meta string) error{
		"shorter":         func(text, _ string) error { return os.Truncate(text, 99) },
		"longer":          func(text, _ string) error { return os.WriteFile(text, []byte(long+"x"), 0o600) },
		"gone":            func(text, _ string) error { return os.Remove(text) },
		"no description":  func(_, meta string) error { return os.Remove(meta) },
		"cut description": func(_, meta string) error { return os.Truncate(meta, 20) },
		"other description": func(_, meta string) error {
			p, err := os.ReadFile(meta)
			if err != nil {
				return err
			}
			return os.WriteFile(meta, []byte(strings.Replace(string(p), `"missing":0`, `"missing":7`, 1)), 0o600)
		},
		"a link": func(text, _ string) error {
			return errors.Join(os.Rename(text, text+"2"), os.Symlink(text+"2", text))
		},
	} {
		dir := filepath.Join(t.TempDir(), "kept")
		store, turn := keptIn(t, dir)
		closedIn(t, turn, KindText, long)
		closedIn(t, turn, KindText, "whole")
		name := store.Entries()[0].Name
		if store.Entries()[0].Bytes < 10 {
			name = store.Entries()[1].Name
		}
		require.NoError(t, store.Close())
		require.NoError(t, damage(filepath.Join(dir, name+textSuffix), filepath.Join(dir, name+metaSuffix)), what)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600))

		store, turn = keptIn(t, dir)
		require.Equal(t, 1, store.Unfinished(), what)
		require.Len(t, store.Entries(), 1, what)
		require.Equal(t, int64(5), store.Used())
		a, err := turn.Adopt(store.Entries()[0].Name)
		require.NoError(t, err)
		require.Equal(t, "whole", whole(t, a))
		require.Contains(t, namesIn(t, dir), "notes")
		require.NotContains(t, namesIn(t, dir), name+textSuffix)
		require.NoError(t, store.Close())
	}
}

// TestAdoptChecksBytes: bytes that were changed without changing the length are found when they are read.
func TestAdoptChecksBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	store, turn := keptIn(t, dir)
	closedIn(t, turn, KindText, "text")
	name := store.Entries()[0].Name
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+textSuffix), []byte("tExt"), 0o600))
	before := descriptors(t)
	_, err := turn.Adopt(name)
	require.ErrorIs(t, err, ErrTorn)
	require.Equal(t, before, descriptors(t))
	require.NoError(t, store.Close())
}

// TestCloseAndRelease: a turn that ends while an entry is written; the artifact is an entry, whole, or it is nothing.
func TestCloseAndRelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	store, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	for range 100 {
		turn, err := store.Turn()
		require.NoError(t, err)
		w := create(t, turn, Spec{})
		_, err = io.WriteString(w, "text")
		require.NoError(t, err)
		var both sync.WaitGroup
		both.Go(func() { _ = w.Close() }) // an error when it came too late
		both.Go(func() {
			for done := false; !done; done, _ = w.Artifact().Complete() {
				runtime.Gosched() // until Close has begun
			}
			turn.Release()
		})
		both.Wait()
	}
	var used int64
	turn, err := store.Turn()
	require.NoError(t, err)
	for _, e := range store.Entries() {
		a, err := turn.Adopt(e.Name)
		require.NoError(t, err)
		require.Equal(t, "text", whole(t, a))
		used += e.Bytes
	}
	require.Equal(t, used, store.Used())
	require.Len(t, namesIn(t, dir), 2+2*len(store.Entries()))
	require.NoError(t, store.Close())
}

func init() { childJobs["write"] = writeUntilKilled }

// content is the text of an entry of the crash test: anybody can make it again from its label.
func content(label string) string {
	rng := rand.New(rand.NewPCG(uint64(len(label)), uint64(label[len(label)-1])))
	return strings.Repeat(label+" "+fmt.Sprintf("%x", sha256.Sum256([]byte(label)))+"\n", 1+rng.IntN(8000))
}

// writeUntilKilled is the child of the crash test. It says the label of each entry when Close returned.
func writeUntilKilled() error {
	store, err := Open(Options{Dir: os.Getenv("SALLYPORT_ARTIFACT_DIR")})
	if err != nil {
		return err
	}
	turn, err := store.Turn()
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		label := fmt.Sprintf("%s-%d", os.Getenv("SALLYPORT_ARTIFACT_RUN"), i)
		w, err := turn.Create(Spec{Label: label})
		if err != nil {
			return err
		}
		for rest := content(label); rest != ""; {
			n := min(len(rest), 10_000)
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			return err
		}
		fmt.Println(label)
	}
}

// TestCrash kills a program that writes entries, at random moments. What it said was closed is there, and everything
// that is there is whole.
func TestCrash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	unfinished, kept := 0, 0
	for run := range 25 {
		said := killedWriter(t, dir, fmt.Sprint(run), time.Duration(rng.IntN(30_000))*time.Microsecond)
		store, turn := keptIn(t, dir)
		unfinished += store.Unfinished()
		have := map[string]bool{}
		for _, e := range store.Entries() {
			a, err := turn.Adopt(e.Name)
			require.NoError(t, err)
			require.Equal(t, content(e.Label), whole(t, a), e.Label)
			have[e.Label] = true
			kept++
			require.NoError(t, store.Remove(e.Name))
		}
		for _, label := range said {
			require.True(t, have[label], "%s was closed and is gone", label)
		}
		require.NoError(t, store.Close())
		require.ElementsMatch(t, []string{lockName, reserveName}, namesIn(t, dir))
	}
	t.Logf("%d entries were whole, %d were unfinished", kept, unfinished)
	require.Positive(t, kept)
	require.Positive(t, unfinished, "no writer was killed in the middle: the test proves nothing")
}

// killedWriter runs a writer, kills it some time after its first entry, and gives what it said.
func killedWriter(t *testing.T, dir, run string, after time.Duration) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"=write", "SALLYPORT_ARTIFACT_DIR="+dir, "SALLYPORT_ARTIFACT_RUN="+run)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the writer wrote nothing")
	said := []string{lines.Text()}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, -1, exit.ExitCode(), "it ended by itself")
	return said
}

// Opening a store removes what it did not finish, and no file of anybody else, whatever its ending.
func TestKeepLeavesForeignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := []string{"notes.text", "list.text.part", "blog.entry", "a.entry.part"}
	ours := strings.Repeat("a", 26) + textSuffix + partSuffix
	for _, name := range append(slices.Clone(foreign), ours) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ours)); !errors.Is(err, os.ErrNotExist) || s.Unfinished() != 1 {
		t.Errorf("%s is still there: %v; unfinished %d", ours, err, s.Unfinished())
	}
}
