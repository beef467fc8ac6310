package jail

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestCoverAgainFailures: a process that is in no jail cannot be entered, which is an error that names the call; one that
// has ended needs no cover. Neither changes the host's process, whose memory is borrowed.
func TestCoverAgainFailures(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	require.NoError(t, cmd.Start())
	handle, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(handle)

	err = CoverAgain(handle, "/etc/hostname", false)
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, "setns", f.Syscall)
	require.NotZero(t, f.Errno)

	require.NoError(t, cmd.Process.Kill())
	_, _ = cmd.Process.Wait()
	require.NoError(t, CoverAgain(handle, "/etc/hostname", false))

	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, dumpable)
}
