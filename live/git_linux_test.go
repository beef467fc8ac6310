package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// foreignRepository is a git repository that belongs to neither root nor the ordinary user. Only root can make it.
func foreignRepository() string { return filepath.Join(base, "foreign") }

func makeForeignRepository() error {
	if os.Getuid() != 0 {
		return nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil // the test says so
	}
	cmd := exec.Command("git", "init", "-q", foreignRepository())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return filepath.WalkDir(foreignRepository(), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, strangerID, strangerID))
	})
}

// TestGitSafeDirectory: in a repository of another user git works when the policy names it, and says "dubious ownership"
// when it does not (R47, R48, R321).
func TestGitSafeDirectory(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		repo := foreignRepository()
		if _, err := os.Stat(repo + "/.git"); err != nil {
			skip(t, "needs git, and root to make a repository of another user")
		}
		safe := policy.Policy{Filesystem: policy.Filesystem{GitSafeDirectories: []string{repo}}}
		code, out := runIn(t, open(t, safe, shell.Options{}), repo, "git", "status")
		require.Equal(t, 0, code, out)
		code, out = runIn(t, open(t, policy.Policy{}, shell.Options{}), repo, "git", "status")
		require.Equal(t, 128, code, out)
		require.Contains(t, out, "dubious ownership")
	})
}

// TestGitWorks: init, add, commit, status, stash and a worktree in the workspace, with allowGitConfig; without it, git
// config is refused and everything else works in a repository that is there (R50; conformance 41, 44).
func TestGitWorks(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		if _, err := exec.LookPath("git"); err != nil {
			skip(t, "no git")
		}
		f := newField(t)
		p := f.writable()
		p.Filesystem.AllowGitConfig = true
		const identity = "-c user.name=a -c user.email=a@example.test"
		code, out := f.run(p, "sh", "-ec", `git init -q r; cd r; echo x >x; git add -A; git `+identity+` commit -qm one
			git config core.abbrev 12; echo y >y; git `+identity+` stash -qu; git stash pop -q; git status --porcelain; git worktree add -q ../wt`)
		require.Equal(t, 0, code, out)
		require.Contains(t, out, "?? y\n")

		p.Filesystem.AllowGitConfig = false
		box := open(t, p, shell.Options{})
		code, out = runIn(t, box, f.ws+"/r", "sh", "-ec", `git add -A; git `+identity+` commit -qm two; git status --porcelain`)
		require.Equal(t, 0, code, out)
		require.Empty(t, out)
		code, out = runIn(t, box, f.ws+"/r", "git", "config", "core.pager", "evil")
		require.NotEqual(t, 0, code, out)
		code, out = runIn(t, box, f.ws+"/r", "sh", "-c", "echo evil >.git/hooks/pre-commit || echo evil >>.git/hooks/pre-commit.sample; cat .git/config")
		require.Equal(t, 0, code, out)
		require.NotContains(t, out, "evil")
	})
}
