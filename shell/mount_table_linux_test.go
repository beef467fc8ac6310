package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// What is mounted on the host after Open, the denied tree at a second place and a second /proc, is covered for the next
// command; and a mount that lies hidden below another does not mislead the search for other names. The test runs itself
// again in a mount namespace of its own, where alone it mounts anything.
func TestMountsThatComeLater(t *testing.T) {
	const again = "SALLYPORT_TEST_MOUNTS"
	if os.Getenv(again) == "" {
		if os.Geteuid() != 0 {
			return // mounting takes root, whose own run of this test is the evidence: what it looks at knows no user
		}
		unshare, err := exec.LookPath("unshare")
		require.NoError(t, err, "util-linux has it")
		cmd := exec.Command(unshare, "-m", "--propagation", "private", os.Args[0], "-test.run=^TestMountsThatComeLater$", "-test.v")
		cmd.Env = append(os.Environ(), again+"="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestMountsThatComeLater")
		return
	}
	top := os.Getenv(again)
	require.NoError(t, unix.Mount("tmpfs", "/srv", "tmpfs", 0, "")) // outside of the private directories
	root := "/srv/" + filepath.Base(top)
	put(t, root+"/tree/sub/secret", "hunter2")
	for _, d := range []string{"/alias", "/fresh", "/proc2", "/tree/hidden"} {
		require.NoError(t, os.MkdirAll(root+d, 0o755))
	}
	box, err := Open(t.Context(), policy.Policy{Filesystem: policy.Filesystem{DenyRead: policy.Paths(root + "/tree/sub/secret")}}, Options{})
	require.NoError(t, err)
	defer box.Close()
	look := func() string {
		cmd := box.Command(t.Context(), "sh", "-c", `cat "$1/tree/sub/secret" "$1/alias/sub/secret" 2>/dev/null; ls "$1/proc2" 2>/dev/null`, "sh", root)
		cmd.Dir = "/"
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Empty(t, look())
	waits := func() { // until the next command could take a jail that was set up before
		require.Eventually(t, func() bool {
			box.mu.Lock()
			defer box.mu.Unlock()
			return len(box.ready) == 1
		}, time.Minute, time.Millisecond)
	}
	waits()
	require.NoError(t, unix.Mount("tmpfs", root+"/fresh", "tmpfs", 0, ""))
	put(t, root+"/fresh/file", "seen")
	cmd := box.Command(t.Context(), "cat", root+"/fresh/file")
	cmd.Dir = "/"
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "seen", string(out), "what was mounted meanwhile is there")
	waits()
	require.NoError(t, unix.Mount("tmpfs", root+"/alias", "tmpfs", 0, "")) // hidden by the next
	require.NoError(t, unix.Mount(root+"/tree", root+"/alias", "", unix.MS_BIND, ""))
	require.NoError(t, unix.Mount("proc", root+"/proc2", "proc", 0, ""))
	for range 5 {
		require.Empty(t, look())
	}
	for _, list := range []policy.Filesystem{{AllowWrite: policy.Paths(root + "/proc2/sys")}, {AllowRead: policy.Paths(root + "/proc2")}} {
		_, err := Open(t.Context(), policy.Policy{Filesystem: list}, Options{})
		require.Equal(t, CodeInvalidConfig, CodeOf(err), "%v", err)
	}
}
