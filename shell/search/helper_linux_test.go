package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/search"
)

// engines are what every test of the suite asks. Without ripgrep a test is half a test, which is not passed over in silence.
func engines(t testing.TB) []search.Engine {
	t.Helper()
	if _, err := exec.LookPath("rg"); err == nil {
		return []search.Engine{search.Ripgrep, search.Builtin}
	}
	if os.Getenv("SALLYPORT_LIVE") == "require" {
		t.Fatal("ripgrep is not installed")
	}
	t.Log("ripgrep is not installed: our own searcher alone is asked")
	return []search.Engine{search.Builtin}
}

// needsRipgrep skips a test that compares with it.
func needsRipgrep(t testing.TB) {
	t.Helper()
	if len(engines(t)) == 1 {
		t.Skip("ripgrep is not installed")
	}
}

// tree makes files in a new directory: a name that ends in "/" is a directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if name[len(name)-1] == '/' {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

// place opens a sandbox that sees the tree, and the tree under its rules.
func place(t testing.TB, root string, f policy.Filesystem, o shell.Options) (*shell.Sandbox, *fs.Workspace) {
	t.Helper()
	f.AllowRead = append(f.AllowRead, policy.PathEntry{Path: root}) // it is in /tmp, of which every command has its own
	box, err := shell.Open(context.Background(), policy.Policy{Filesystem: f}, o)
	if err != nil && os.Getenv("SALLYPORT_LIVE") != "require" {
		t.Skipf("no command can be confined here: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Close()) })
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: box})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return box, w
}

// each runs a test for both engines on one tree.
func each(t *testing.T, root string, f policy.Filesystem, o shell.Options, body func(t *testing.T, s *search.Searcher)) {
	t.Helper()
	box, w := place(t, root, f, o)
	for _, engine := range engines(t) {
		t.Run(string(engine), func(t *testing.T) { body(t, search.New(box, w.Dir, search.Options{Engine: engine})) })
	}
}

// deadline bounds one search of a test.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// lines is what a search found, sorted by file; within a file the order is that of the lines.
func lines(t testing.TB, s *search.Searcher, q search.Query) ([]string, search.Result) {
	t.Helper()
	var found []search.Match
	res, err := s.Lines(deadline(t), q, func(m search.Match) error { found = append(found, m); return nil })
	require.NoError(t, err, "%+v", q)
	require.Equal(t, len(found), res.Items)
	slices.SortStableFunc(found, func(a, b search.Match) int { return compare(a.Path, b.Path) })
	out := []string{}
	for _, m := range found {
		out = append(out, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
	}
	return out, res
}

func files(t testing.TB, s *search.Searcher, q search.Query) ([]string, search.Result) {
	t.Helper()
	found := []string{}
	res, err := s.Files(deadline(t), q, func(p string) error { found = append(found, p); return nil })
	require.NoError(t, err, "%+v", q)
	require.Equal(t, len(found), res.Items)
	slices.Sort(found)
	return found, res
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func kind(t testing.TB, err error) error {
	t.Helper()
	var e *search.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e.Kind
}
