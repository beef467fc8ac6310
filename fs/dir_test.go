package fs_test

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
)

// place is a workspace with a secret beside it.
func place(t *testing.T) (root string, dir *fs.Dir) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root = filepath.Join(base, "workspace")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "docs", "deep"), 0o755))
	write(t, filepath.Join(base, "secret"), "the secret")
	write(t, filepath.Join(root, "ok.txt"), "hello")
	write(t, filepath.Join(root, "docs", "plan.md"), "plan")
	write(t, filepath.Join(root, "%2e%2e"), "a name")
	dir, err = fs.OpenDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	return root, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// TestReads: what may be had is had, whole.
func TestReads(t *testing.T) {
	_, dir := place(t)
	for name, want := range map[string]string{"ok.txt": "hello", "/ok.txt": "hello", "docs/plan.md": "plan", `docs\plan.md`: "plan", "docs/deep/../plan.md": "plan", "%2e%2e": "a name"} {
		b, err := dir.ReadFile(name, 100)
		require.NoError(t, err, name)
		require.Equal(t, want, string(b), name)
	}
}

// TestEscapes: no spelling of a path, and no link, leads out of the directory (R290, R291, R292).
func TestEscapes(t *testing.T) {
	root, dir := place(t)
	links := map[string]string{
		"abs": filepath.Join(root, "..", "secret"), "rel": "../secret", "up": "..", "self": "self", "inside": "ok.txt",
		"docs/dir": "..", "chain": "rel", "proc": "/proc/self/root",
	}
	for name, to := range links {
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	for _, name := range []string{
		"../secret", "/../secret", "docs/../../secret", `..\secret`, "~/secret", filepath.Join(root, "..", "secret"), "/etc/passwd",
		"abs", "rel", "up/secret", "self", "chain", "docs/dir/ok.txt", "proc/etc/passwd",
		"inside", // also a link that stays inside: a rule for one path must not be reached by another
		"%2e%2e/secret", "..../secret", "ok.txt/../../secret", "ok.txt/", "ok.txt/x", "nowhere", "nowhere/x", strings.Repeat("a", 5000), strings.Repeat("a/", 3000) + "b",
	} {
		if name == "ok.txt/" {
			continue // the same file: a slash at the end means nothing
		}
		b, err := dir.ReadFile(name, 1000)
		require.Error(t, err, name)
		require.NotContains(t, string(b), "secret", name)
		require.True(t, errors.Is(err, fs.ErrPath) || errors.Is(err, fs.ErrNotFound), "%s: %v", name, err)
		require.NotContains(t, strings.Replace(err.Error(), name, "", 1), filepath.Dir(root), "no path of the host")
	}
}

// TestMissingAndDeniedReadTheSame: not there, not allowed by the mode, refused by the rule, and behind a link are one
// answer (R287).
func TestMissingAndDeniedReadTheSame(t *testing.T) {
	root, dir := place(t)
	write(t, filepath.Join(root, "mode"), "x")
	require.NoError(t, os.Chmod(filepath.Join(root, "mode"), 0))
	require.NoError(t, os.Symlink("ok.txt", filepath.Join(root, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "ruledir"), 0o755))
	ruled := dir.Restrict(func(hostPath string) bool { return !strings.HasPrefix(filepath.Base(hostPath), "rule") })
	write(t, filepath.Join(root, "rule"), "x")
	names := []string{"none", "link", "rule", "ruledir"}
	if os.Geteuid() != 0 && runtime.GOOS != "windows" { // root reads everything
		names = append(names, "mode")
	}
	for _, name := range names {
		_, err := ruled.ReadFile(name, 100)
		require.EqualError(t, err, `"`+name+`": no such file, or it may not be read`)
		require.ErrorIs(t, err, fs.ErrNotFound)
	}
	_, err := ruled.ReadFile("ok.txt", 100)
	require.NoError(t, err, "the rule is about the others")
}

// TestRestrictSeesTheRealPath: the rule is asked with the path of what was opened, and restrictions add up.
func TestRestrictSeesTheRealPath(t *testing.T) {
	root, dir := place(t)
	var asked []string
	first := dir.Restrict(func(p string) bool { asked = append(asked, p); return true })
	second := first.Restrict(func(string) bool { return false })
	_, err := first.ReadFile("docs/../docs//plan.md", 100)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(root, "docs", "plan.md")}, asked)
	_, err = second.ReadFile("ok.txt", 100)
	require.ErrorIs(t, err, fs.ErrNotFound)
	require.Len(t, asked, 2, "both are asked")
}

// TestSizeIsNotCut: a file that is too long is an error, never a piece.
func TestSizeIsNotCut(t *testing.T) {
	root, dir := place(t)
	write(t, filepath.Join(root, "ten"), "0123456789")
	b, err := dir.ReadFile("ten", 10)
	require.NoError(t, err)
	require.Len(t, b, 10)
	_, err = dir.ReadFile("ten", 9)
	require.ErrorIs(t, err, fs.ErrTooLarge)
	require.EqualError(t, err, `"ten": is larger than 9 bytes`)
	_, err = dir.ReadFile("ten", -1)
	require.ErrorIs(t, err, fs.ErrTooLarge)
}

// TestDirectoriesAreNoFiles: the root and what is below it.
func TestDirectoriesAreNoFiles(t *testing.T) {
	_, dir := place(t)
	for _, name := range []string{"", ".", "/", "docs", "docs/deep/.."} {
		_, err := dir.ReadFile(name, 100)
		require.ErrorIs(t, err, fs.ErrIsDirectory, "%q", name)
	}
}

// TestOpenDir: what is no directory is an error of the host, with all it knows.
func TestOpenDir(t *testing.T) {
	_, err := fs.OpenDir(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, iofs.ErrNotExist)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	_, err = fs.OpenDir(file)
	require.Error(t, err)
}

// TestHandleOutlivesItsName: the directory is held, not its path: renaming it, or putting another in its place,
// changes nothing.
func TestHandleOutlivesItsName(t *testing.T) {
	root, dir := place(t)
	require.NoError(t, os.Rename(root, root+".moved"))
	require.NoError(t, os.Mkdir(root, 0o755))
	write(t, filepath.Join(root, "ok.txt"), "another")
	b, err := dir.ReadFile("ok.txt", 100)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
}

// TestAtOnce: one handle serves many readers.
func TestAtOnce(t *testing.T) {
	_, dir := place(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			b, err := dir.ReadFile("ok.txt", 100)
			if err != nil || string(b) != "hello" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	wg.Wait()
}

// TestClosed: a closed handle reads nothing.
func TestClosed(t *testing.T) {
	dir, err := fs.OpenDir(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, dir.Close())
	_, err = dir.ReadFile("x", 1)
	require.ErrorIs(t, err, fs.ErrIO)
}
