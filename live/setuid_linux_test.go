package live

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// setuidProgram is a copy of this binary that belongs to a stranger and has the set-user-id bit. Only root can make it.
func setuidProgram() string { return filepath.Join(base, "setuid") }

func makeSetuid() error {
	if os.Getuid() != 0 {
		return nil
	}
	p := setuidProgram()
	return errors.Join(copyFile("/proc/self/exe", p), os.Chown(p, strangerID, strangerID), os.Chmod(p, 0o755|os.ModeSetuid))
}

// TestSetuidGainsNothing: set-user-id programs run as the caller. Whichever layer is up, a user namespace comes with
// it, in which the stranger does not exist; no_new_privs and nosuid mounts say the same twice more.
func TestSetuidGainsNothing(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		if _, err := os.Stat(setuidProgram()); err != nil {
			skip(t, "only root can make a set-user-id program of another user")
		}
		attack{
			name:  "gain-by-setuid",
			why:   "sudo, su and mount run as root whoever starts them",
			alone: [][]string{{"no_new_privs"}, mountsAlone},
			args:  func(*field) []string { return []string{setuidProgram()} },
		}.test(t)
	})
}

// TestNoSetuidLeftBehind: a command cannot leave a program in the workspace that runs as its owner, whoever starts it on
// the host: uid 0 inside is uid 0 outside.
func TestNoSetuidLeftBehind(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name:  "make-setuid",
			why:   "the jail's mounts are nosuid, the host's are not",
			alone: [][]string{seccompAlone},
			args:  func(f *field) []string { return []string{f.ws} },
			after: func(f *field) string { return withSetuid(f) },
		}.test(t)
	})
}

// withSetuid lists what has a set-user-id or set-group-id bit in the workspace.
func withSetuid(f *field) string {
	f.t.Helper()
	entries, err := os.ReadDir(f.ws)
	require.NoError(f.t, err)
	found := ""
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(f.t, err)
		if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			found += " " + e.Name()
		}
	}
	return found
}
