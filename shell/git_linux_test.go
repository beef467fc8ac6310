package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// foreignVariable names a git repository of another user's: an ordinary user cannot make one.
const foreignVariable = "SALLYPORT_TEST_FOREIGN_REPOSITORY"

// git runs git on the host.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		unavailable(t, "no git: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// foreignRepository is a git repository that belongs to somebody else than the user of the test.
func foreignRepository(t *testing.T) string {
	t.Helper()
	if made := os.Getenv(foreignVariable); made != "" {
		return made
	}
	dir := visible(t)
	git(t, dir, "init", "-q")
	if os.Geteuid() != 0 {
		unavailable(t, "an ordinary user cannot give a repository away; name one in %s", foreignVariable)
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Lchown(path, 65534, 65534)
	}))
	t.Cleanup(func() { require.NoError(t, os.Chown(dir, 0, 0)) })
	return dir
}

// TestGitSafeDirectory: git works in a repository of another user's when the policy names it (R47); when it does not, git
// says "dubious ownership", and that is what the symptom means (R48, R321).
func TestGitSafeDirectory(t *testing.T) {
	repo := foreignRepository(t)
	for _, tc := range []struct {
		name string
		safe []string
		ok   bool
	}{
		{"named", []string{repo}, true},
		{"named with others", []string{"/srv/other", repo}, true},
		{"not named", nil, false},
		{"another named", []string{"/srv/other"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			box := open(t, policy.Policy{Filesystem: policy.Filesystem{GitSafeDirectories: tc.safe}}, shell.Options{})
			cmd := command(t, box, "git", "status", "--short", "--branch")
			cmd.Dir = repo
			out, err := cmd.CombinedOutput()
			require.NoError(t, err)
			if tc.ok {
				require.Equal(t, 0, cmd.Completion.ExitCode, "%s", out)
				require.Contains(t, string(out), "##", "the status of the branch")
				return
			}
			require.Equal(t, 128, cmd.Completion.ExitCode, "%s", out)
			require.Contains(t, string(out), "dubious ownership")
		})
	}
}

// TestGitInThreeStates: ".git" may be a directory, the file of a worktree, or absent. Where hooks and configuration exist
// they stay as they are, also by way of the file (R62).
func TestGitInThreeStates(t *testing.T) {
	dir := workspace(t)
	repo, tree, plain := filepath.Join(dir, "repo"), filepath.Join(dir, "tree"), filepath.Join(dir, "plain")
	require.NoError(t, os.Mkdir(repo, 0o755))
	require.NoError(t, os.Mkdir(plain, 0o755))
	git(t, repo, "init", "-q")
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	git(t, repo, "worktree", "add", "-q", tree)
	hook := filepath.Join(repo, ".git/hooks/pre-commit")
	write(t, hook, "#!/bin/sh\n", 0o755)
	info, err := os.Lstat(filepath.Join(tree, ".git"))
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "a worktree has a file")

	for name, p := range map[string]policy.Policy{"both": writable(dir), "the worktree and its repository": writable(tree, repo)} {
		t.Run(name, func(t *testing.T) {
			box := open(t, p, shell.Options{})
			for _, where := range []string{repo, tree} {
				cmd := script(t, box, `git status --short --branch; for f in $(git rev-parse --git-path hooks)/pre-commit $(git rev-parse --git-path config); do
					(echo evil >>$f) 2>/dev/null && echo "changed $f"; done; echo done`)
				cmd.Dir = where
				out := output(t, cmd)
				require.Contains(t, out, "##")
				require.NotContains(t, out, "changed")
				require.Contains(t, out, "done\n")
			}
		})
	}
	require.Equal(t, "#!/bin/sh\n", read(t, hook))

	box := open(t, writable(plain), shell.Options{})
	require.Equal(t, shell.Enforced, box.Report().Layer("names").State)
	cmd := command(t, box, "git", "status")
	cmd.Dir = plain
	require.NoError(t, cmd.Run())
	require.Equal(t, 128, cmd.Completion.ExitCode, "no repository")
}

// TestGitWorks: the everyday commands work in a writable repository, whose hooks and configuration stay as they are.
func TestGitWorks(t *testing.T) {
	dir := workspace(t)
	git(t, dir, "init", "-q")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	write(t, filepath.Join(dir, ".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755)
	box := open(t, writable(dir), shell.Options{Env: []string{
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}})
	cmd := script(t, box, `set -e; exec 2>&1
		echo text >file; git add -A; git commit -q -m second; git mv file moved; git stash -q; git stash pop -q
		git checkout -q -b topic; git commit -q -a -m third; git log --oneline | wc -l; git status --short; git diff HEAD~1 --stat | tail -1
		git config user.name x 2>/dev/null && echo "changed the configuration"
		(echo evil >.git/hooks/pre-commit) 2>/dev/null && echo "changed a hook"
		echo done`)
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Regexp(t, `^3\n 1 file changed.*\ndone\n$`, string(out))
	require.Equal(t, "#!/bin/sh\nexit 0\n", read(t, filepath.Join(dir, ".git/hooks/pre-commit")))
}
