package shell_test

import (
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
