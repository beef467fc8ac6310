package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/fs"
	"sallyport/policy"
)

// desk is a workspace in which a policy decides: private may not be read, out may be written.
func desk(t *testing.T, change func(root string, f *policy.Filesystem)) (root string, w *fs.Workspace) {
	t.Helper()
	root, _ = place(t)
	for _, dir := range []string{"private/sub", "out/deep", "out/.git/hooks"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	write(t, filepath.Join(root, "private", "key"), "the key")
	write(t, filepath.Join(root, "out", "old"), "old text")
	write(t, filepath.Join(root, "out", "a.secret"), "the secret")
	f := policy.Filesystem{
		DenyRead:   policy.Paths(filepath.Join(root, "private"), root+"/**/*.secret"),
		AllowWrite: policy.Paths(filepath.Join(root, "out")),
		DenyWrite:  policy.Paths(filepath.Join(root, "out", "fixed"), root+"/**/*.lock"),
	}
	if change != nil {
		change(root, &f)
	}
	return root, workspace(t, root, f, "/out")
}

func workspace(t *testing.T, root string, f policy.Filesystem, writeRoot string) *fs.Workspace {
	t.Helper()
	rules, err := policy.Policy{Filesystem: f}.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
	require.NoError(t, err)
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: rules, WriteRoot: writeRoot})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// TestWorkspaceNeedsRules: nothing is guessed: neither rules nor a write root (R227).
func TestWorkspaceNeedsRules(t *testing.T) {
	_, err := fs.OpenWorkspace(t.TempDir(), fs.Options{})
	require.ErrorContains(t, err, "no rules")
	_, err = fs.OpenWorkspace(t.TempDir(), fs.Options{Rules: rulesOf(t, policy.Filesystem{}), WriteRoot: "../out"})
	require.ErrorIs(t, err, fs.ErrPath)
	_, err = fs.OpenWorkspace(filepath.Join(t.TempDir(), "none"), fs.Options{Rules: rulesOf(t, policy.Filesystem{})})
	require.ErrorIs(t, err, os.ErrNotExist)

	root := t.TempDir()
	w := workspace(t, root, policy.Filesystem{AllowWrite: policy.Paths(root)}, "")
	require.Equal(t, "", w.WriteRoot())
	_, err = w.Save("x", strings.NewReader("x"))
	require.ErrorIs(t, err, fs.ErrOutside, "a policy that allows writing is no write root")
	require.Equal(t, "/", workspace(t, root, policy.Filesystem{}, "/").WriteRoot())
	require.Equal(t, "/out", workspace(t, root, policy.Filesystem{}, "out/.").WriteRoot())
}

func rulesOf(t *testing.T, f policy.Filesystem) *policy.Rules {
	t.Helper()
	rules, err := policy.Policy{Filesystem: f}.Compile(policy.CompileOptions{})
	require.NoError(t, err)
	return rules
}

// TestNoExistenceOracle: what is denied and what is not there are one to a model, for every operation; the host can tell
// them apart, and which rule it was (R219, R220, R287; D2: patterns count).
func TestNoExistenceOracle(t *testing.T) {
	root, w := desk(t, nil)
	operations := map[string]func(name string) error{
		"open": func(name string) error { _, err := w.Open(name); return err },
		"read": func(name string) error { _, err := w.ReadFile(name, 100); return err },
		"list": func(name string) error { _, err := w.List(name, 100); return err },
		"walk": func(name string) error {
			_, err := w.Walk(t.Context(), name, 5, func(fs.Entry) error { return nil })
			return err
		},
		"stat": func(name string) error { _, err := w.Stat(name); return err },
		"host": func(name string) error { _, err := w.HostPath(name); return err },
	}
	for what, do := range operations {
		missing := do("out/missing")
		require.ErrorIs(t, missing, fs.ErrNotFound, what)
		require.NotErrorIs(t, missing, fs.ErrDenied, what)
		for _, name := range []string{"private", "private/key", "private/sub", "out/a.secret"} {
			err := do(name)
			require.ErrorIs(t, err, fs.ErrNotFound, "%s %s", what, name)
			require.Equal(t, missing.Error(), strings.ReplaceAll(err.Error(), name, "out/missing"), what)
			require.NotContains(t, err.Error(), root)
			require.ErrorIs(t, err, fs.ErrDenied, "the host is told")
			var e *fs.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "denyRead", e.Decision.Rule.List)
			require.Equal(t, filepath.Join(root, name), e.Decision.Path)
		}
		err := do("private/none")
		require.ErrorIs(t, err, fs.ErrNotFound, what)
		require.Equal(t, missing.Error(), strings.ReplaceAll(err.Error(), "private/none", "out/missing"), what)
	}
	// Saving: there is no such directory, it may not be known of, the name is denied: one kind, one text.
	texts := map[string]bool{}
	all := workspace(t, root, policy.Filesystem{DenyRead: policy.Paths(filepath.Join(root, "private")), AllowWrite: policy.Paths(root)}, "/")
	for _, name := range []string{"nowhere/x", "private/key", "private/none", "private/sub/x", "private/none/x", "private/sub", ".bashrc", "ok.txt/x"} {
		_, err := all.Save(name, strings.NewReader("x"))
		require.ErrorIs(t, err, fs.ErrNotWritable, name)
		texts[strings.TrimPrefix(err.Error(), `"`+name+`"`)] = true
	}
	require.Len(t, texts, 1)
}

// TestStat: what has a name, and how large it is; links are not followed (R291).
func TestStat(t *testing.T) {
	root, w := desk(t, nil)
	require.NoError(t, os.Symlink("old", filepath.Join(root, "out", "link")))
	info, err := w.Stat("out/old")
	require.NoError(t, err)
	require.Equal(t, fs.TypeFile, info.Type)
	require.EqualValues(t, 8, info.Size)
	require.False(t, info.Modified.IsZero())
	info, err = w.Stat("/")
	require.NoError(t, err)
	require.Equal(t, fs.TypeDirectory, info.Type)
	require.Zero(t, info.Size)
	for _, name := range []string{"out/link", "out/link/x", "out/old/x"} {
		_, err = w.Stat(name)
		require.ErrorIs(t, err, fs.ErrNotFound, name)
	}
	_, err = w.Stat("~/x")
	require.ErrorIs(t, err, fs.ErrPath)
}

// TestTranslation: a model's path becomes the real one for the host, and back; what is elsewhere has none (R237, R286).
func TestTranslation(t *testing.T) {
	root, w := desk(t, nil)
	for name, want := range map[string]string{"": root, "/": root, "out/deep/": filepath.Join(root, "out", "deep"), `out\old`: filepath.Join(root, "out", "old")} {
		got, err := w.HostPath(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got)
	}
	for host, want := range map[string]string{root: ".", filepath.Join(root, "out", "old"): "out/old", filepath.Join(root, "none"): "none"} {
		got, ok := w.ModelPath(host)
		require.True(t, ok, host)
		require.Equal(t, want, got)
	}
	for _, host := range []string{filepath.Dir(root), filepath.Join(root, "..", "secret"), root + "x", "/", "", "relative"} {
		_, ok := w.ModelPath(host)
		require.False(t, ok, host)
	}
}

// walked is a tree as Walk gives it.
func walked(t *testing.T, w *fs.Workspace, name string, depth int) (names []string, end fs.WalkEnd) {
	t.Helper()
	end, err := w.Walk(t.Context(), name, depth, func(e fs.Entry) error {
		names = append(names, e.Name+" "+string(e.Type))
		return nil
	})
	require.NoError(t, err)
	return names, end
}

// TestWalk: in order, relative to what was asked for, without what is denied; links are told and not followed; a depth that was reached is
// announced (R232-R235, R237, R238).
func TestWalk(t *testing.T) {
	root, w := desk(t, nil)
	require.NoError(t, os.Symlink("..", filepath.Join(root, "docs", "up")))
	want := []string{
		"%2e%2e file", "docs directory", "docs/deep directory", "docs/plan.md file", "docs/up link", "ok.txt file",
		"out directory", "out/.git directory", "out/.git/hooks directory", "out/deep directory", "out/old file",
	}
	for range 3 {
		got, end := walked(t, w, "/", 20)
		require.Equal(t, want, got)
		require.Zero(t, end)
	}
	got, end := walked(t, w, "docs", 0)
	require.Equal(t, []string{"deep directory", "plan.md file", "up link"}, got)
	require.True(t, end.DepthReached)
	got, end = walked(t, w, "out", 1)
	require.Equal(t, []string{".git directory", ".git/hooks directory", "deep directory", "old file"}, got)
	require.True(t, end.DepthReached)
	_, end = walked(t, w, "out", 2)
	require.False(t, end.DepthReached)

	_, err := w.Walk(t.Context(), "ok.txt", 1, nil)
	require.ErrorIs(t, err, fs.ErrNotDirectory)
	enough := errors.New("enough")
	seen := 0
	_, err = w.Walk(t.Context(), "", 9, func(fs.Entry) error { seen++; return enough })
	require.Equal(t, enough, err)
	require.Equal(t, 1, seen, "it streams: nothing is collected first")
}

// TestWalkDoesNotDescend: what is denied is not even looked at (R234).
func TestWalkDoesNotDescend(t *testing.T) {
	root, dir := place(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "private", "sub"), 0o755))
	var asked []string
	only := dir.Restrict(func(p string) bool {
		asked = append(asked, p)
		return !strings.HasSuffix(p, "/private")
	})
	_, err := only.Walk(t.Context(), "", 9, func(e fs.Entry) error {
		require.NotContains(t, e.Name, "private")
		return nil
	})
	require.NoError(t, err)
	require.Contains(t, asked, filepath.Join(root, "private"))
	require.NotContains(t, asked, filepath.Join(root, "private", "sub"))
}

// TestWalkDeep: a deep tree holds no descriptors, and one that no path reaches is counted and not walked in.
func TestWalkDeep(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("how deep a tree can be is another matter here")
	}
	root, w := desk(t, nil)
	const levels = 300
	at, err := os.OpenRoot(filepath.Join(root, "docs"))
	require.NoError(t, err)
	for range levels {
		require.NoError(t, at.Mkdir("ten-letter", 0o755))
		next, err := at.OpenRoot("ten-letter")
		require.NoError(t, err)
		at.Close()
		at = next
	}
	at.Close()
	before := openFiles(t)
	most := 0
	end, err := w.Walk(t.Context(), "docs", 10*levels, func(e fs.Entry) error {
		most = max(most, strings.Count(e.Name, "ten-letter"))
		require.LessOrEqual(t, openFiles(t), before+4)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, levels, most)
	require.Zero(t, end)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// TestDescriptorsAreClosed: ten thousand of everything, refusals too, leave none open (D11).
func TestDescriptorsAreClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are counted in /proc")
	}
	_, w := desk(t, nil)
	before := openFiles(t)
	rounds := 10_000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		for _, name := range []string{"out/old", "private/key", "none", "out", "/"} {
			_, _ = w.Stat(name)
			_, _ = w.ReadFile(name, 4)
			_, _ = w.List(name, 2)
		}
		_, _ = w.Save("out/.bashrc", strings.NewReader("x"))
	}
	require.Equal(t, before, openFiles(t))
}
