package fs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
	"sallyport/policy"
)

// names is every name below a directory.
func names(t *testing.T, root string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		all = append(all, p)
		return nil
	}))
	return all
}

// TestSaveNewFile: a file that is not there yet can be saved, and one that is is replaced (R228, R229, D6); the size is
// read back.
func TestSaveNewFile(t *testing.T) {
	root, w := desk(t, nil)
	for name, text := range map[string]string{"out/new": "new text", "/out/deep/x.go": "", "out/old": "replaced"} {
		size, err := w.Save(name, strings.NewReader(text))
		require.NoError(t, err, name)
		require.EqualValues(t, len(text), size)
		b, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	for _, p := range names(t, root) {
		require.NotContains(t, p, ".tmp")
	}
}

// TestSaveKeepsTheMode: permissions stay, and bits that give rights away do not; a new file has those of any new file.
func TestSaveKeepsTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such permissions")
	}
	root, w := desk(t, nil)
	old := filepath.Join(root, "out", "old")
	for mode, want := range map[os.FileMode]os.FileMode{0o755: 0o755, 0o600: 0o600, 0o444: 0o444, 0o755 | os.ModeSetuid: 0o755} {
		require.NoError(t, os.Chmod(old, mode))
		_, err := w.Save("out/old", strings.NewReader("x"))
		require.NoError(t, err)
		info, err := os.Stat(old)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode(), mode)
	}
	plain := filepath.Join(root, "out", "plain")
	write(t, plain, "")
	_, err := w.Save("out/new", strings.NewReader("x"))
	require.NoError(t, err)
	asAny, err := os.Stat(plain)
	require.NoError(t, err)
	made, err := os.Stat(filepath.Join(root, "out", "new"))
	require.NoError(t, err)
	require.Equal(t, asAny.Mode(), made.Mode()&^0o022, "as the umask says")
}

// TestSaveRefuses: each way not to save, and nothing is changed by any (R226, R228, R230, D2).
func TestSaveRefuses(t *testing.T) {
	root, w := desk(t, nil)
	for name, to := range map[string]string{"out/link": "old", "out/away": "../..", "out/none": "nowhere"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	before := names(t, root)
	for name, kind := range map[string]error{
		"ok.txt": fs.ErrOutside, "out": fs.ErrOutside, "/": fs.ErrOutside, "outer/x": fs.ErrOutside, "out/../ok.txt": fs.ErrOutside,
		"../x": fs.ErrPath, "~/x": fs.ErrPath, "out/\x00": fs.ErrPath,
		"out/link": fs.ErrNotRegular, "out/none": fs.ErrNotRegular, "out/away/x": fs.ErrNotWritable, "out/link/x": fs.ErrNotWritable,
		"out/deep": fs.ErrIsDirectory, "out/nowhere/x": fs.ErrNotWritable, "out/old/x": fs.ErrNotWritable,
		"out/.bashrc": fs.ErrNotWritable, "out/deep/.BASHRC": fs.ErrNotWritable, "out/.mcp.json": fs.ErrNotWritable, // mandatory
		"out/.git/hooks/pre-commit": fs.ErrNotWritable, "out/.GIT/hooks/x": fs.ErrNotWritable, "out/.git/config": fs.ErrNotWritable,
		"out/fixed": fs.ErrNotWritable, "out/fixed/x": fs.ErrNotWritable, "out/deep/x.lock": fs.ErrNotWritable, // denyWrite
		"out/a.secret": fs.ErrNotWritable, "out/new.secret": fs.ErrNotWritable, // denyRead
	} {
		_, err := w.Save(name, strings.NewReader("x"))
		require.ErrorIs(t, err, kind, name)
		require.NotContains(t, err.Error(), root)
	}
	require.Equal(t, before, names(t, root))
	b, err := os.ReadFile(filepath.Join(root, "out", "old"))
	require.NoError(t, err)
	require.Equal(t, "old text", string(b))
}

// TestSaveGuards: the running program, and what the host guards besides, is not saved over.
func TestSaveGuards(t *testing.T) {
	root, _ := desk(t, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	if err := os.Link(self, filepath.Join(root, "out", "program")); err != nil {
		t.Skipf("the program is on another file system: %v", err)
	}
	rules := rulesOf(t, policy.Filesystem{AllowWrite: policy.Paths(root)})
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: rules, WriteRoot: "/", Guarded: []string{filepath.Join(root, "docs")}})
	require.NoError(t, err)
	defer w.Close()
	for _, name := range []string{"out/program", "docs/plan.md", "docs/new"} {
		_, err = w.Save(name, strings.NewReader("x"))
		require.ErrorIs(t, err, fs.ErrNotWritable, name)
		require.ErrorIs(t, err, fs.ErrDenied, name)
	}
	_, err = w.Save("out/other", strings.NewReader("x"))
	require.NoError(t, err)
}

// failing gives a few bytes and then an error.
type failing struct{ n int }

var errFailing = errors.New("the source failed")

func (f *failing) Read(b []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFailing
	}
	return copy(b, "some"), nil
}

// TestSaveIsWhole: when the source fails in the middle, what was there is there as it was, and nothing else is.
func TestSaveIsWhole(t *testing.T) {
	root, w := desk(t, nil)
	before := names(t, root)
	for _, name := range []string{"out/old", "out/new"} {
		_, err := w.Save(name, &failing{n: 1000})
		require.ErrorIs(t, err, errFailing, name)
		require.ErrorIs(t, err, fs.ErrIO, name)
	}
	require.Equal(t, before, names(t, root))
	b, err := os.ReadFile(filepath.Join(root, "out", "old"))
	require.NoError(t, err)
	require.Equal(t, "old text", string(b))
}

// TestSaveIsNotSeenHalf: whoever reads while it is saved, over and over, finds one text or the other, whole.
func TestSaveIsNotSeenHalf(t *testing.T) {
	root, w := desk(t, nil)
	texts := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	write(t, filepath.Join(root, "out", "f"), texts[0])
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := w.Save("out/f", strings.NewReader(texts[i%2])); err != nil {
				done <- err
				return
			}
		}
	}()
	seen := map[string]bool{}
	for reads := 0; reads < 300 || len(seen) < 2; reads++ {
		b, err := os.ReadFile(filepath.Join(root, "out", "f"))
		require.NoError(t, err)
		require.Contains(t, texts, string(b))
		seen[string(b[:1])] = true
	}
	close(stop)
	require.NoError(t, <-done)
}

// moving moves a directory away when it is read for the first time.
type moving struct {
	move func()
	done bool
	io.Reader
}

func (m *moving) Read(b []byte) (int, error) {
	if !m.done {
		m.done = true
		m.move()
	}
	return m.Reader.Read(b)
}

// TestSaveJudgesAgain: the directory is moved, while the file is being written, to where nothing may be written.
func TestSaveJudgesAgain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a directory is kept by its path here")
	}
	root, w := desk(t, func(root string, f *policy.Filesystem) {
		f.DenyWrite = append(f.DenyWrite, policy.PathEntry{Path: filepath.Join(root, "out", "kept")})
	})
	require.NoError(t, os.Mkdir(filepath.Join(root, "out", "kept"), 0o755))
	_, err := w.Save("out/deep/f", &moving{Reader: strings.NewReader("x"), move: func() {
		require.NoError(t, os.Rename(filepath.Join(root, "out", "deep"), filepath.Join(root, "out", "kept", "deep")))
	}})
	require.ErrorIs(t, err, fs.ErrNotWritable)
	require.ErrorIs(t, err, fs.ErrDenied)
	require.Empty(t, names(t, filepath.Join(root, "out", "kept", "deep"))[1:])
}

// TestHostIsNotThePrivateDirectory: that every command may write in a directory of its own says nothing of the host's under the
// same name.
func TestHostIsNotThePrivateDirectory(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "f"), []byte("the host's"), 0o600))
	p := policy.Policy{Filesystem: policy.Filesystem{}}
	rules, err := p.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks, Private: []policy.PrivateDir{{Path: root, Writable: true}}})
	require.NoError(t, err)
	require.True(t, rules.Write(filepath.Join(root, "new")).Allowed, "it is the command's own")
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: rules, WriteRoot: "/"})
	require.NoError(t, err)
	defer w.Close()
	_, err = w.Save("new", strings.NewReader("x"))
	require.ErrorIs(t, err, fs.ErrNotWritable)
	_, err = w.Open("f")
	require.ErrorIs(t, err, fs.ErrNotFound)
	require.NoFileExists(t, filepath.Join(root, "new"))
}
