//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait for a condition; a machine under load needs it, a test that works does not.
const patience = 20 * time.Second

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 5*time.Millisecond, what)
}

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

// exitCode waits for a started command.
func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

// confined starts a shell line in a sandbox that may write dir, and waits until the line has made the file ready.
func confined(t *testing.T, line string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	cmd, stdout, stderr = start(t, "run", "--allow-write", dir, "--cwd", dir, "-c", line)
	require.NoError(t, cmd.Start())
	waitFor(t, "the command runs", exists(filepath.Join(dir, "ready")))
	return cmd, stdout, stderr
}

// TestSignalPassedOn: a signal that we get reaches the command, and the status is as if the command had got it itself.
func TestSignalPassedOn(t *testing.T) {
	needBoundary(t)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1} {
		cmd, _, stderr := confined(t, ": > ready; while :; do sleep 0.01; done")
		require.NoError(t, cmd.Process.Signal(sig))
		require.Equal(t, 128+int(sig), exitCode(t, cmd), "%v: %s", sig, stderr)
	}
	cmd, stdout, _ := confined(t, `trap "echo got it; exit 3" TERM; : > ready; while :; do sleep 0.01; done`)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 3, exitCode(t, cmd), "a command that handles the signal ends as it likes")
	require.Equal(t, "got it\n", stdout.String())
}

// TestSignalReachesTheWholeGroup: a shell that waits for a child looks at how the child ended before it gives up itself, so
// ^C must reach both, as a terminal would send it.
func TestSignalReachesTheWholeGroup(t *testing.T) {
	needBoundary(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash, which waits like that")
	}
	cmd, _, stderr := confined(t, "exec bash -c ': > ready; sleep 1000; true'")
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, exitCode(t, cmd), "%s", stderr)
}

// TestNothingSurvives: a time limit, and the death of this program by SIGKILL, end everything the command started (R206).
func TestNothingSurvives(t *testing.T) {
	needBoundary(t)
	mark := fmt.Sprintf("%d.%d", 1_000_000+os.Getpid(), time.Now().UnixNano()%1e9)
	line := fmt.Sprintf("setsid sleep %s & (sleep %s &) ; : > ready; sleep %s", mark, mark, mark)

	cmd, _, _ := confined(t, line)
	waitFor(t, "three sleep", func() bool { return countProcesses(t, mark) == 3 })
	require.NoError(t, cmd.Process.Kill())
	require.Equal(t, -1, exitCode(t, cmd))
	waitFor(t, "all are gone", func() bool { return countProcesses(t, mark) == 0 })

	limited, _, stderr := start(t, "run", "--timeout", "500ms", "-c", strings.Replace(line, ": > ready;", "", 1))
	require.NoError(t, limited.Start())
	waitFor(t, "three sleep", func() bool { return countProcesses(t, mark) == 3 })
	require.Equal(t, 124, exitCode(t, limited), "%s", stderr)
	require.Zero(t, countProcesses(t, mark), "the program ended before what it started")
}

// countProcesses counts the host's processes called "sleep mark". A shell whose line has the mark in it is not one.
func countProcesses(t *testing.T, mark string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	count := 0
	for _, path := range lines {
		text, err := os.ReadFile(path) // a process may end while we look
		if err == nil && string(text) == "sleep\x00"+mark+"\x00" {
			count++
		}
	}
	return count
}

// TestToolStopsOnSignal: a signal ends a call of a tool with everything that it had started, and a question to a gate as well.
func TestToolStopsOnSignal(t *testing.T) {
	needBoundary(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	beat := filepath.Join(dir, "beat")
	gates := map[string]string{
		"a command": gateScript(t, `echo '{"approved":true}'`),
		"a gate":    gateScript(t, `while :; do date >>`+beat+`; sleep 0.02; done`),
	}
	for name, program := range gates {
		require.NoError(t, os.RemoveAll(beat))
		cmd, stdout, stderr := start(t, "tool", "--workspace", dir, "--allow-write", dir, "--gate", "exec:"+program,
			"run_shell_command", `{"command":"(setsid sh -c 'exec 2>/dev/null; while :; do date >>beat; sleep 0.02; done' &); sleep 600"}`)
		require.NoError(t, cmd.Start())
		waitFor(t, name, exists(beat))
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, statusTrouble, exitCode(t, cmd), stderr.String())
		require.Empty(t, stdout.String())
		require.Contains(t, stderr.String(), "stopped by a signal")
		before, err := os.ReadFile(beat)
		require.NoError(t, err)
		require.Never(t, func() bool {
			after, err := os.ReadFile(beat)
			return err != nil || len(after) != len(before)
		}, 200*time.Millisecond, 20*time.Millisecond, name)
	}
}
