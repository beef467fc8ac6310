//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScriptsAsOrdinaryUser runs all scripts again as a user who is not root and owns nothing.
func TestScriptsAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	const uid = 23456
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	require.NoError(t, os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS("testdata")))
	binary := filepath.Join(dir, "sallyport.test")
	copyFile(t, self(t), binary, 0o755)
	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.Chown(home, uid, uid))
	makeReachable(t, dir)

	cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^(TestScripts|TestLiveScripts|TestGuestScripts)$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("--- SKIP: TestLiveScripts")) && os.Getenv("SALLYPORT_LIVE") != "require" {
		t.Skipf("as an ordinary user: %s", out)
	}
	require.NoError(t, err, "%s", out[max(0, len(out)-8000):])
	// The exit status alone would also be good if nothing had run.
	require.Contains(t, string(out), "--- PASS: TestLiveScripts/run_status")
	require.Contains(t, string(out), "\nPASS\n")
}

// makeReachable lets another user enter the test's own directories; t.TempDir makes them for one user alone.
func makeReachable(t *testing.T, dir string) {
	t.Helper()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, mode))
}

// TestRequireForbidsSkips: where no command can be confined, the live scripts are skipped aloud, and fail under
// SALLYPORT_LIVE=require (R304, R308).
func TestRequireForbidsSkips(t *testing.T) {
	needBoundary(t) // or the scripts would not run here either
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("needs unshare, to forbid user namespaces")
	}
	run := func(live string) (string, error) {
		cmd := exec.CommandContext(t.Context(), unshare, "--user", "--map-root-user", "sh", "-c",
			`echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -test.run "^TestLiveScripts$" -test.v`, self(t))
		cmd.Env = append(os.Environ(), "SALLYPORT_LIVE="+live)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("")
	require.NoError(t, err, out)
	require.Contains(t, out, "no command can be confined here")
	require.Contains(t, out, "--- SKIP: TestLiveScripts")
	out, err = run("require")
	require.Error(t, err, out)
	require.Contains(t, out, "--- FAIL: TestLiveScripts")
}
