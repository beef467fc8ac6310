package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// openUp lets the clean-up enter directories that were closed.
func openUp(path string, d os.DirEntry, _ error) error {
	if d != nil && d.IsDir() {
		return os.Chmod(path, 0o755)
	}
	return nil
}

// TestSemantics: calls that the jail's first process makes for a command come out as if the command had made them: the
// same errors, descriptors, modes and files, over every call and every odd argument (process cases 17, 38).
func TestSemantics(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		t.Cleanup(func() { require.NoError(t, filepath.WalkDir(f.ws, openUp)) })
		plainDir, jailDir := filepath.Join(f.ws, "aaaaa"), filepath.Join(f.ws, "bbbbb") // names of one length
		require.NoError(t, os.Mkdir(plainDir, 0o755))
		require.NoError(t, os.Mkdir(jailDir, 0o755))
		cmd := exec.Command(attacker(), "semantics", plainDir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, as in a jail
		plain, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", plain)
		code, confined := f.run(f.writable(), attacker(), "semantics", jailDir)
		require.Equal(t, 0, code, confined)
		want := strings.ReplaceAll(string(plain), "aaaaa", "bbbbb")
		require.Greater(t, strings.Count(want, "\n"), 1000, "the cases did not run")
		for i, line := range strings.Split(want, "\n") {
			have := strings.Split(confined, "\n")
			require.Less(t, i, len(have))
			require.Equal(t, line, have[i], "line %d; before it:\n%s", i, strings.Join(have[max(0, i-8):i], "\n"))
		}
	})
}
