package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// A protected configuration leads git to a hooks directory and to other configurations: those are found too.
func TestWhatAGitConfigurationLeadsTo(t *testing.T) {
	dir := t.TempDir()
	hooks := filepath.Dir(put(t, filepath.Join(dir, "w/.myhooks/pre-commit"), "x"))
	team := put(t, filepath.Join(dir, "w/team.gitconfig"), "x")
	more := put(t, filepath.Join(dir, "more"), "x")
	config := put(t, filepath.Join(dir, "w/.git/config"), `[user]
	path = ../ignored
[CORE] hooksPath = .myhooks
[include]
	path = "../team.gitconfig"
	path = absent
[includeIf "gitdir:x"]
	Path = `+more+"\n")
	require.Equal(t, []string{hooks, team, more}, configured(config))
}

// What a command can put in place of a file is read neither whole nor for ever: a huge sparse file, a FIFO, a link.
func TestFilesOfACommandAreReadWithCare(t *testing.T) {
	dir := t.TempDir()
	huge := put(t, filepath.Join(dir, "huge"), "gitdir: /")
	require.NoError(t, os.Truncate(huge, 1<<40))
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(put(t, filepath.Join(dir, "good"), "gitdir: .\n"), link))
	for _, file := range []string{huge, fifo, link, filepath.Join(dir, "absent"), put(t, filepath.Join(dir, "other"), "text")} {
		require.Empty(t, gitDir(file), file)
	}
	require.Equal(t, dir, gitDir(filepath.Join(dir, "good")))
}

// Writing to what the configuration, a worktree's link and a chain of links lead to is refused, and moving it too; a file
// beside them can be written.
func TestGitIsNotLedAstray(t *testing.T) {
	root, err := os.MkdirTemp("/var/lib", "sallyport-git-")
	if err != nil {
		root, err = os.MkdirTemp(os.Getenv("HOME"), "sallyport-git-")
	}
	if err != nil {
		t.Skip("no directory outside of the private ones can be written: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	put(t, root+"/.git/config", "[core]\n\thooksPath = .h\n")
	put(t, root+"/.h/pre-commit", "kept")
	put(t, root+"/.git/worktrees/w/commondir", "kept")
	put(t, root+"/real/hooks/pre-commit", "kept")
	require.NoError(t, os.Symlink("real", root+"/l1"))
	require.NoError(t, os.Mkdir(root+"/sub", 0o755))
	require.NoError(t, os.Symlink("../l1", root+"/sub/.git"))
	box, err := Open(t.Context(), policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(root)}}, Options{})
	require.NoError(t, err)
	defer box.Close()
	cmd := box.Command(t.Context(), "sh", "-c", `echo evil >.h/pre-commit; mv .h x; echo evil >.git/worktrees/w/commondir
		echo evil >real/hooks/pre-commit; rm l1; mkdir -p l1/hooks; echo evil >l1/hooks/pre-commit; echo fine >beside`)
	cmd.Dir = root
	require.NoError(t, cmd.Run())
	for _, file := range []string{".h/pre-commit", ".git/worktrees/w/commondir", "real/hooks/pre-commit", "sub/.git/hooks/pre-commit"} {
		b, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.Equal(t, "kept", string(b), file)
	}
	require.FileExists(t, root+"/beside")
}
