package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestDeniedCannotBeMovedAway: a cover is on a path. In a writable tree a command could rename a directory above it, and
// the next command would read what was denied at its new path (R32, R33).
func TestDeniedCannotBeMovedAway(t *testing.T) {
	for _, tc := range []struct{ name, secret, deny string }{
		{"file", "sub/deep/secret", "sub/deep/secret"},
		{"directory", "sub/deep/secret", "sub/deep"},
		{"tree", "sub/deep/secret", "sub"},
		{"file at the top", "secret", "secret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := workspace(t)
			write(t, filepath.Join(dir, tc.secret), "hunter2", 0o644)
			p := writable(dir)
			p.Filesystem.DenyRead = policy.Paths(filepath.Join(dir, tc.deny))
			box := open(t, p, shell.Options{})
			out, err := script(t, box, `cd "$1"; for p in sub sub/deep "$2"; do ln "$p" linked; mv "$p" moved; done; echo tried`, dir, tc.secret).Output()
			require.NoError(t, err)
			require.Equal(t, "tried\n", string(out))
			again := open(t, p, shell.Options{})
			for _, next := range []*shell.Sandbox{box, again} {
				out, err := script(t, next, `grep -r hunter2 "$1" 2>/dev/null; echo looked`, dir).Output()
				require.NoError(t, err)
				require.Equal(t, "looked\n", string(out))
			}
			require.Equal(t, "hunter2", read(t, filepath.Join(dir, tc.secret)), "on the host it is where it was")
		})
	}
}

// TestHostReplaces: a mount shows and covers what was there when the jail was made. When the host replaces a file or a
// directory between commands, also before the first one, whose jail Open made, the next command sees the new one under
// the same rules.
func TestHostReplaces(t *testing.T) {
	dir := visible(t)
	secret, work := filepath.Join(dir, "secret"), filepath.Join(dir, "work")
	write(t, secret, "hunter2", 0o644)
	write(t, filepath.Join(work, ".bashrc"), "old", 0o644)
	p := writable(work)
	p.Filesystem.DenyRead = policy.Paths(secret)
	box := open(t, p, shell.Options{})
	for round := range 3 {
		write(t, secret+".new", "hunter2", 0o644)
		require.NoError(t, os.Rename(secret+".new", secret))
		write(t, filepath.Join(work+".new", ".bashrc"), "new", 0o644)
		require.NoError(t, os.RemoveAll(work))
		require.NoError(t, os.Rename(work+".new", work))
		out := output(t, script(t, box, `grep hunter2 "$1" 2>/dev/null; cat "$2/.bashrc"; (echo evil >"$2/.bashrc") 2>/dev/null || echo " kept"; echo $3 >"$2/made"`,
			secret, work, fmt.Sprint(round)))
		require.Equal(t, "new kept\n", out)
		require.Equal(t, fmt.Sprintln(round), read(t, filepath.Join(work, "made")))
	}
}

// TestHostReplacesAtOnce: also while the next command's jail is being set up: a command that starts afterwards never sees, or
// writes into, the directory that was moved away.
func TestHostReplacesAtOnce(t *testing.T) {
	dir := visible(t)
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	box := open(t, writable(work), shell.Options{Warm: 2})
	for round := range 30 {
		next, old := fmt.Sprint(work, round), fmt.Sprint(work, "-away", round)
		write(t, filepath.Join(next, "round"), fmt.Sprint(round), 0o644)
		require.NoError(t, command(t, box, "true").Run()) // another jail is begun when it has ended
		require.NoError(t, os.Rename(work, old))
		require.NoError(t, os.Rename(next, work))
		require.Equal(t, fmt.Sprint(round), output(t, script(t, box, `cat "$1/round"; : >"$1/made"`, work)))
		require.FileExists(t, filepath.Join(work, "made"))
	}
}

// TestHostTakesAway: when what the policy allows is gone, or has become something else, the next command does not start,
// and the error says which path.
func TestHostTakesAway(t *testing.T) {
	dir := visible(t)
	work, elsewhere := filepath.Join(dir, "work"), filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Mkdir(work, 0o755))
	require.NoError(t, os.Mkdir(elsewhere, 0o755))
	box := open(t, writable(work), shell.Options{})
	for name, replace := range map[string]func() error{
		"gone":   func() error { return nil },
		"a link": func() error { return os.Symlink(elsewhere, work) },
		"a file": func() error { return os.WriteFile(work, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(work))
			require.NoError(t, replace())
			cmd := script(t, box, `echo ran >"$1/ran"`, work)
			e := code(t, cmd.Run(), shell.CodeFailed)
			require.Contains(t, e.Error(), work)
			require.NotZero(t, e.Errno)
			require.Nil(t, cmd.Completion)
			require.NoFileExists(t, filepath.Join(elsewhere, "ran"))
			noChildren(t)
		})
	}
	require.NoError(t, os.RemoveAll(work))
	require.NoError(t, os.Mkdir(work, 0o755))
	require.Empty(t, output(t, script(t, box, `echo ran >"$1/ran"`, work)), "it is back, and so are the commands")
}
