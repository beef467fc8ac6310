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

// A configuration leads git to a hooks directory, to scripts and to other configurations, in every spelling that git
// takes: those are found. Addresses and the working tree itself are left alone.
func TestWhatAGitConfigurationLeadsTo(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("w/.h1/pre-commit"), "x")
	for _, f := range []string{"w/fsmon.sh", "w/filter.sh", "w/alias.sh", "more", "w/worktree.sh", "w/split", "w/bare/x", "w/bare.sh", "w/up.sh", "w/h#k/x", "w/q u.sh"} {
		put(t, at(f), "x")
	}
	put(t, at("w/nested.gitconfig"), "[core]\n hookspath = .h2\n")
	put(t, at("w/.h2/post-merge"), "x")
	put(t, at("w/team.gitconfig"), "[include] path = nested.gitconfig\n")
	put(t, at("w/data/repo/HEAD"), "x")
	put(t, at("w/.git/config.worktree"), "[core] editor = ./worktree.sh\n")
	put(t, at("w/.git/config"), `[user]
	name = fsmon.sh
[CORE] hooksPath = "./.h1"/../".h1" ; why
	fsmonitor = ./fsmon.sh --flag # why
	editor = bare
	sshCommand = "sh bare.sh"
	x = './q u.sh' # 
	worktree = ..
	pager = ./spl\
it
[remote "origin"]
	url = data/repo
	uploadpack = ./up.sh
[init] templateDir = "h#k" ; c
[filter "x"] clean = "sh ./filter.sh %f"
[alias]
	a = !./alias.sh
[include]
	path = "../team.gitconfig"
	path = absent
[includeIf "gitdir:x"]
	Path = `+at("more")+"\n")
	var want []string
	for _, f := range []string{"w/.h1", "w/fsmon.sh", "w/split", "w/filter.sh", "w/alias.sh", "w/team.gitconfig", "w/nested.gitconfig", "w/.h2", "more", "w/worktree.sh", "w/up.sh", "w/h#k", "w/q u.sh"} {
		want = append(want, at(f))
	}
	got, _ := gitConfigs(at("w/.git"))
	for _, f := range want {
		require.Contains(t, got, f)
	}
	require.NotContains(t, got, at("w/data/repo"))
	require.NotContains(t, got, at("w"))
	require.NotContains(t, got, at("w/bare"), "a directory that a bare word happens to name")
	require.Contains(t, got, at("w/bare.sh"), "a script that a command runs")
	require.NotContains(t, got, dir)

	// A worktree: its configuration is the main repository's, and paths in it are relative to the worktree.
	put(t, at("tree/.git"), "gitdir: ../w/.git/worktrees/tree\n")
	put(t, at("w/.git/worktrees/tree/commondir"), "../..\n")
	put(t, at("tree/.h1/pre-commit"), "x")
	found, _ := gitConfigs(at("tree/.git"))
	require.Contains(t, found, at("tree/.h1"))
}

// TestGitNamesThatAreNotThere: hooks and configurations that a configuration names are known before they are made; the words of commands are not.
func TestGitNamesThatAreNotThere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, dir+"/w/.git/config", "[core]\n hooksPath = .githooks\n fsmonitor = ./later.sh\n[include]\n path = ../local.gitconfig\n[remote \"o\"]\n url = ../there\n")
	put(t, dir+"/w/real/x", "x")
	require.NoError(t, os.Symlink("real", dir+"/w/link"))
	found, absent := gitConfigs(dir + "/w/.git")
	require.Empty(t, found)
	require.Contains(t, absent, dir+"/w/.githooks")
	require.Contains(t, absent, dir+"/w/local.gitconfig")
	require.NotContains(t, absent, dir+"/there")
	put(t, dir+"/w/.git/config", "[core]\n hooksPath = link/hooks\n")
	_, absent = gitConfigs(dir + "/w/.git")
	require.Contains(t, absent, dir+"/w/real/hooks", "by its real path")
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
