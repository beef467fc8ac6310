package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestDir: the command runs in the directory that it is given, or in the caller's own (R160).
func TestDir(t *testing.T) {
	dir := workspace(t)
	deep := filepath.Join(dir, "with a space", "ü", "\xff")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.Symlink(deep, filepath.Join(dir, "link")))
	box := open(t, writable(dir), shell.Options{})
	for given, want := range map[string]string{
		"/": "/", dir: dir, deep: deep, "/tmp": "/tmp", dir + "/./": dir, filepath.Join(dir, "link"): deep, "/proc/self/../..": "/",
	} {
		cmd := command(t, box, "pwd", "-P")
		cmd.Dir = given
		require.Equal(t, want+"\n", output(t, cmd))
	}

	t.Chdir(dir)
	cmd := box.Command(t.Context(), "pwd", "-P")
	require.Equal(t, dir+"\n", output(t, cmd))
}

// TestDirUnusable: a directory that cannot be used is a configuration error of that command alone, which says what is
// wrong with it; the command's name is not blamed (R161).
func TestDirUnusable(t *testing.T) {
	dir := workspace(t)
	write(t, filepath.Join(dir, "file"), "", 0o644)
	hidden := workspace(t)
	box := open(t, writable(dir), shell.Options{})
	for _, tc := range []struct {
		name, dir string
		errno     syscall.Errno
	}{
		{"absent", filepath.Join(dir, "absent"), syscall.ENOENT},
		{"hidden by the private directory", hidden, syscall.ENOENT},
		{"file", filepath.Join(dir, "file"), syscall.ENOTDIR},
		{"below a file", filepath.Join(dir, "file/x"), syscall.ENOTDIR},
		{"relative", "relative", 0},
		{"dot", ".", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := command(t, box, "true")
			cmd.Dir = tc.dir
			err := cmd.Run()
			e := code(t, err, shell.CodeInvalidConfig)
			require.NotErrorIs(t, err, shell.ErrNotFound)
			require.NotErrorIs(t, err, shell.ErrNotExecutable)
			require.Contains(t, e.Error(), tc.dir)
			if tc.errno != 0 {
				require.ErrorIs(t, err, tc.errno)
			}
			if tc.dir == hidden {
				require.Contains(t, strings.Join(e.Hints, "\n"), "/tmp", "it exists on the host, so the caller needs to be told")
			}
		})
	}
	require.Equal(t, "fine\n", output(t, command(t, box, "echo", "fine")))
}

// TestDirDenied: nor can a directory be entered that may not be read, though it can be seen to be there.
func TestDirDenied(t *testing.T) {
	dir := visible(t)
	covered := filepath.Join(dir, "covered")
	require.NoError(t, os.Mkdir(covered, 0o755))
	box := open(t, policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(covered)}}, shell.Options{})
	cmd := command(t, box, "pwd")
	cmd.Dir = covered
	err := cmd.Run()
	e := code(t, err, shell.CodeInvalidConfig)
	require.NotErrorIs(t, err, shell.ErrNotExecutable)
	require.ErrorIs(t, err, syscall.EACCES)
	require.Contains(t, e.Error(), covered)
}

// TestDirOfCallerGone: a caller whose own directory is gone is told so.
func TestDirOfCallerGone(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	gone := filepath.Join(workspace(t), "gone")
	require.NoError(t, os.Mkdir(gone, 0o755))
	t.Chdir(gone)
	require.NoError(t, os.Remove(gone))
	code(t, box.Command(t.Context(), "true").Run(), shell.CodeInvalidConfig)
}
