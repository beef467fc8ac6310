package fs_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
)

// TestList: the names, sorted, each with what it is; a link is a link and nobody follows it (R237, R238).
func TestList(t *testing.T) {
	root, dir := place(t)
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "out")))
	require.NoError(t, os.Symlink("docs", filepath.Join(root, "inside")))
	want := []fs.Entry{{Name: "%2e%2e", Type: fs.TypeFile}, {Name: "docs", Type: fs.TypeDirectory}, {Name: "inside", Type: fs.TypeLink},
		{Name: "ok.txt", Type: fs.TypeFile}, {Name: "out", Type: fs.TypeLink}}
	for _, name := range []string{".", "", "/", "docs/.."} {
		got, err := dir.List(name, 5)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	got, err := dir.List("/docs", 10)
	require.NoError(t, err)
	require.Equal(t, []fs.Entry{{Name: "deep", Type: fs.TypeDirectory}, {Name: "plan.md", Type: fs.TypeFile}}, got)
	got, err = dir.List("docs/deep", 1)
	require.NoError(t, err)
	require.Empty(t, got)
}

// TestListRefuses: each "no" is its own kind and names only what was asked; a way out is none.
func TestListRefuses(t *testing.T) {
	root, dir := place(t)
	require.NoError(t, os.Symlink("..", filepath.Join(root, "up")))
	require.NoError(t, os.Symlink("docs", filepath.Join(root, "inside")))
	for _, c := range []struct {
		name string
		max  int
		kind error
		text string
	}{
		{"..", 9, fs.ErrPath, `"..": the path leads out`},
		{"docs/../..", 9, fs.ErrPath, ""},
		{"up", 9, fs.ErrNotFound, `"up": no such file, or it may not be read`},
		{"inside", 9, fs.ErrNotFound, ""},
		{"inside/deep", 9, fs.ErrNotFound, ""},
		{"nowhere", 9, fs.ErrNotFound, ""},
		{"ok.txt", 9, fs.ErrNotDirectory, `"ok.txt": is not a directory`},
		{"docs", 1, fs.ErrTooMany, `"docs": has more than 1 names`},
	} {
		entries, err := dir.List(c.name, c.max)
		require.ErrorIs(t, err, c.kind, c.name)
		require.Contains(t, err.Error(), c.text)
		require.NotContains(t, err.Error(), root)
		require.Empty(t, entries)
	}
}

// TestListRestricted: what may not be read is left out, and a directory that may not be read is not there (R232, R233,
// R287).
func TestListRestricted(t *testing.T) {
	root, dir := place(t)
	only := dir.Restrict(func(p string) bool { return !strings.HasSuffix(p, "ok.txt") && !strings.HasSuffix(p, "deep") })
	got, err := only.List(".", 9)
	require.NoError(t, err)
	require.Equal(t, []fs.Entry{{Name: "%2e%2e", Type: fs.TypeFile}, {Name: "docs", Type: fs.TypeDirectory}}, got)
	got, err = only.List("docs", 9)
	require.NoError(t, err)
	require.Equal(t, []fs.Entry{{Name: "plan.md", Type: fs.TypeFile}}, got)
	_, denied := only.List("docs/deep", 9)
	_, missing := only.List("docs/none", 9)
	require.ErrorIs(t, denied, fs.ErrNotFound)
	require.Equal(t, strings.ReplaceAll(denied.Error(), "deep", "none"), missing.Error())

	var asked []string
	_, err = dir.Restrict(func(p string) bool { asked = append(asked, p); return p == root }).List(".", 9)
	require.NoError(t, err)
	require.Equal(t, root, asked[0], "the directory itself is judged first")
	require.Contains(t, asked, filepath.Join(root, "docs"))
}

// TestListOddNames: a name that is not text is shown, and cannot break what it is shown in.
func TestListOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names are text here")
	}
	root, dir := place(t)
	write(t, filepath.Join(root, "docs", "deep", "a\xffb"), "")
	got, err := dir.List("docs/deep", 9)
	require.NoError(t, err)
	require.Equal(t, []fs.Entry{{Name: "a\ufffdb", Type: fs.TypeFile}}, got)
}
