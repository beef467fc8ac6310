package shell_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestNonZeroIsData: an exit code is data, not an error (R155).
func TestNonZeroIsData(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	for _, exit := range []int{0, 1, 7, 126, 127, 128, 137, 255} {
		cmd := script(t, box, fmt.Sprintf("exit %d", exit))
		require.NoError(t, cmd.Run())
		require.Equal(t, exit, cmd.Completion.ExitCode)
		require.Equal(t, exit, cmd.Completion.Status())
		require.Equal(t, exit != 0, cmd.Completion.Failed)
		require.Empty(t, cmd.Completion.Signal, "a status of 128+N is no signal (R156)")
		require.False(t, cmd.Completion.TimedOut || cmd.Completion.Cancelled)
		require.Empty(t, cmd.Completion.Limit)
		require.Empty(t, cmd.Violations())
	}
	out, err := script(t, box, "echo partial; exit 7").Output()
	require.NoError(t, err)
	require.Equal(t, "partial\n", string(out))
}

// TestSignalNames: the signal that ended a command has its name in the completion, and is no error (R156).
func TestSignalNames(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	for number, name := range map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 6: "SIGABRT", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM",
		34: "", 64: "", // real-time signals: any name will do
	} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			cmd := script(t, box, fmt.Sprintf("kill -%d $$; echo survived", number))
			var out writerBuffer
			cmd.Stdout = &out
			require.NoError(t, cmd.Run())
			require.Empty(t, out.String())
			if name != "" {
				require.Equal(t, name, cmd.Completion.Signal)
			}
			require.NotEmpty(t, cmd.Completion.Signal)
			require.Equal(t, 128+number, cmd.Completion.Status(), "as shells say it")
			require.True(t, cmd.Completion.Failed)
			require.NotEqual(t, 0, cmd.Completion.ExitCode)
			require.False(t, cmd.Completion.TimedOut || cmd.Completion.Cancelled)
			require.Empty(t, cmd.Completion.Limit)
		})
	}
}

// TestNoCoreFile: a crash leaves nothing in the workspace.
func TestNoCoreFile(t *testing.T) {
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{})
	cmd := script(t, box, "ulimit -c; kill -SEGV $$")
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "0\n", string(out))
	require.Equal(t, "SIGSEGV", cmd.Completion.Signal)
	entries, err := readNames(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestUsage: the completion has the processor time and memory of the command and of what it waited for.
func TestUsage(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := script(t, box, `(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done)`)
	require.NoError(t, cmd.Run())
	require.Positive(t, cmd.Completion.UserTime+cmd.Completion.SystemTime)
	require.Greater(t, cmd.Completion.MaxRSSBytes, int64(100<<10))

	idle := command(t, box, "true")
	require.NoError(t, idle.Run())
	require.Less(t, idle.Completion.UserTime+idle.Completion.SystemTime, cmd.Completion.UserTime+cmd.Completion.SystemTime)
}

// TestCancelAfterEnd: a context that ends after the command did is not what ended it.
func TestCancelAfterEnd(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	for name, line := range map[string]string{"exit": "exit 3", "kill": "kill -KILL $$"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := box.Command(ctx, "sh", "-c", line)
			cmd.Dir = "/"
			require.NoError(t, cmd.Start())
			eventually(t, func() bool { return len(living(children())) == 0 }, "the jail's first process ends")
			cancel()
			require.NoError(t, cmd.Wait())
			require.False(t, cmd.Completion.Cancelled)
			require.True(t, cmd.Completion.Failed)
		})
	}
}

// TestIDs: every command has an id of its own, or the one it was given (R159).
func TestIDs(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	seen := map[string]bool{}
	for range 3 {
		cmd := command(t, box, "true")
		require.NoError(t, cmd.Run())
		require.NotEmpty(t, cmd.ID)
		require.False(t, seen[cmd.ID])
		seen[cmd.ID] = true
	}
	named := command(t, box, "true")
	named.ID = "mine"
	require.NoError(t, named.Run())
	require.Equal(t, "mine", named.ID)
}
