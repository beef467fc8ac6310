package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestCloseKillsRunning: Close kills what runs, with everything it started, and returns when it is gone, whether or not
// anybody waits for it (R82).
func TestCloseKillsRunning(t *testing.T) {
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			box := open(t, policy.Policy{}, shell.Options{})
			mark := marker()
			cmd := runTree(t, t.Context(), box, tree.script, mark, tree.processes)
			closeSoon(t, box)
			require.Empty(t, processesWith(mark))
			require.Empty(t, children())
			err := cmd.Wait()
			code(t, err, shell.CodeNotInitialized)
			require.ErrorIs(t, err, shell.ErrClosed, "it did not end by itself")
			require.NotNil(t, cmd.Completion)
			require.True(t, cmd.Completion.Failed)
			require.Equal(t, "SIGKILL", cmd.Completion.Signal)
			require.False(t, cmd.Completion.Cancelled || cmd.Completion.TimedOut)
		})
	}
}

// TestCloseUnblocksWait: a Wait that is under way returns when the sandbox is closed.
func TestCloseUnblocksWait(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	mark := marker()
	cmd := runTree(t, t.Context(), box, "exec sleep $1", mark, 1)
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	closeSoon(t, box)
	select {
	case err := <-waited:
		require.Error(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("Wait does not return")
	}
}

// TestUseAfterClose: everything new is refused, typed; closing again does nothing (R18, R80, R81).
func TestUseAfterClose(t *testing.T) {
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{})
	prepared := command(t, box, "touch", filepath.Join(dir, "ran"))
	done := command(t, box, "true")
	require.NoError(t, done.Run())
	require.NoError(t, box.Close())
	for _, cmd := range []*shell.Cmd{prepared, command(t, box, "touch", filepath.Join(dir, "ran"))} {
		err := cmd.Run()
		code(t, err, shell.CodeNotInitialized)
		require.ErrorIs(t, err, shell.ErrClosed)
		require.Nil(t, cmd.Completion)
	}
	require.NoFileExists(t, filepath.Join(dir, "ran"))
	require.NoError(t, box.Close())
	require.NoError(t, box.Close())
	require.Equal(t, "full", box.Report().Tier)
	require.True(t, box.Rules().Write(dir).Allowed)
	require.Equal(t, 0, done.Completion.ExitCode)
	require.Equal(t, "full", done.Report().Tier)
}

// TestCloseTogether: several may close at once; each returns when it is done.
func TestCloseTogether(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	mark := marker()
	cmd := runTree(t, t.Context(), box, "exec sleep $1", mark, 1)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			closeSoon(t, box)
			require.Empty(t, processesWith(mark))
		})
	}
	group.Wait()
	require.Error(t, cmd.Wait())
}

// TestCloseUnused: a sandbox in which nothing ever ran leaves no first process behind.
func TestCloseUnused(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	require.NotEmpty(t, children(), "Open set a first jail up")
	require.NoError(t, box.Close())
	require.Empty(t, children())
}

// TestCloseDuringStart closes while commands start, 100 times: a command runs and is killed, or is refused, and nothing is
// left (R78).
func TestCloseDuringStart(t *testing.T) {
	outcomes := map[string]int{}
	mark := marker()
	for round := range 100 / slowness {
		box := open(t, policy.Policy{}, shell.Options{})
		cmds := []*shell.Cmd{command(t, box, "sleep", mark), command(t, box, "sleep", mark)}
		errs := make([]error, len(cmds))
		var group sync.WaitGroup
		for i, cmd := range cmds {
			group.Go(func() { errs[i] = cmd.Run() })
		}
		if round%3 != 0 {
			time.Sleep(time.Duration(round) * 150 * time.Microsecond) // the moment is what varies; nothing is waited for
		}
		closeSoon(t, box)
		require.Empty(t, processesWith(mark))
		group.Wait()
		for i, err := range errs {
			require.Error(t, err)
			require.NotEmpty(t, shell.CodeOf(err), "%v", err)
			if cmds[i].Completion != nil {
				outcomes["killed"]++
			} else {
				outcomes["refused"]++
			}
		}
	}
	require.Empty(t, children())
	t.Log(outcomes)
}

// TestCloseWithoutWait: a caller may start a command, never wait for it, and close.
func TestCloseWithoutWait(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	var out writerBuffer
	cmd := command(t, box, "cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	closeSoon(t, box)
	require.Empty(t, children())
	_ = in.Close() // it may have been closed for us
}

// TestFailedOpenLeavesNothing: what could not be opened left nothing behind, and a good one can be opened after it
// (R84, R85).
func TestFailedOpenLeavesNothing(t *testing.T) {
	withoutGC(t)
	before := descriptors(t)
	for _, o := range []shell.Options{{Helper: "/no/such/helper"}, {EnvAllow: []string{"="}}, {Helper: "/bin/true"}} {
		_, err := shell.Open(t.Context(), policy.Policy{}, o)
		require.Error(t, err)
	}
	_, err := shell.Open(t.Context(), writable("/no/such/directory"), shell.Options{})
	require.Error(t, err)
	require.Empty(t, children())
	noNewDescriptors(t, before)
	require.Equal(t, "fine\n", output(t, command(t, open(t, policy.Policy{}, shell.Options{}), "echo", "fine")))
}

// TestSandboxesOneAfterAnother: after Close another policy holds in the same process (R84).
func TestSandboxesOneAfterAnother(t *testing.T) {
	a, b := workspace(t), workspace(t)
	for _, dirs := range [][2]string{{a, b}, {b, a}} {
		box, err := shell.Open(context.Background(), writable(dirs[0]), shell.Options{})
		require.NoError(t, err)
		out := output(t, script(t, box, `: >"$1/f" && echo wrote; [ -e "$2" ] || echo hidden`, dirs[0], dirs[1]))
		require.Equal(t, "wrote\nhidden\n", out)
		require.NoError(t, box.Close())
	}
	require.NoError(t, os.Remove(filepath.Join(a, "f")))
	require.NoError(t, os.Remove(filepath.Join(b, "f")))
}
