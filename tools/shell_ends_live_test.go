//go:build linux

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestNoByteCap: a command is not killed for what it writes, all of it is kept, and none of it in memory (R193, R194, R319).
func TestNoByteCap(t *testing.T) {
	r, _, _ := confined(t, nil, nil)
	require.NoError(t, r.openStore()) // the real one
	const size = 300_000_000
	grown := heapGrowth(t, func() {
		res, err := run(t, r, fmt.Sprintf("head -c %d /dev/zero", size), nil)
		require.NoError(t, err)
		require.EqualValues(t, size, res.Artifact.Bytes)
		require.Equal(t, 0, res.Exit.ExitCode)
	})
	require.Less(t, grown, uint64(32<<20))
}

// TestSlowStore: where the output is kept slowly, the command waits, and nothing piles up in memory (D8).
func TestSlowStore(t *testing.T) {
	r, store, _ := confined(t, nil, nil)
	store.slow = time.Millisecond
	const size = 30_000_000
	grown := heapGrowth(t, func() {
		res, err := run(t, r, fmt.Sprintf("head -c %d /dev/zero", size), nil)
		require.NoError(t, err)
		require.EqualValues(t, size, res.Artifact.Bytes)
	})
	require.Less(t, grown, uint64(16<<20))
}

// heapGrowth is how much larger than before the heap was at any moment of a function.
func heapGrowth(t *testing.T, do func()) uint64 {
	t.Helper()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	for {
		select {
		case <-done:
			return most
		case <-time.After(5 * time.Millisecond):
			if now := heap(); now > before {
				most = max(most, now-before)
			}
		}
	}
}

// TestCompletionOnce: each command that was approved has one completion, whatever became of it, and a listener that panics changes
// nothing (R214).
func TestCompletionOnce(t *testing.T) {
	full := errors.New("no space left on device")
	var ends []Completion
	r, store, _ := confined(t, nil, func(_ *policy.Policy, o *Options) {
		o.Shell.OnCompletion = func(c Completion) { ends = append(ends, c); panic("a listener") }
		o.Shell.Path = "/bin/sh"
	})
	last := func(line string, more map[string]any) Completion {
		before := len(ends)
		_, _ = run(t, r, line, more)
		require.Len(t, ends, before+1, line)
		return ends[before]
	}
	require.Equal(t, 0, last("true", nil).Exit.ExitCode)
	require.Equal(t, 3, last("exit 3", nil).Exit.ExitCode)
	require.True(t, last("sleep 60", map[string]any{"timeout_seconds": 1}).Exit.TimedOut)
	require.Equal(t, "SIGKILL", last("kill -9 $$", nil).Exit.Signal)
	require.Equal(t, 1, last("touch /etc/sallyport-none", nil).Exit.ExitCode, "a denial")
	end := last("true", map[string]any{"cwd": "none"})
	require.Nil(t, end.Exit)
	require.ErrorIs(t, end.Err, &Error{Outcome: NotFound})

	store.write = full
	end = last("echo x", nil)
	require.Equal(t, 0, end.Exit.ExitCode, "it ran to its end")
	require.ErrorIs(t, end.Err, full)
	store.write, store.fail = nil, full
	end = last("echo x", nil)
	require.Nil(t, end.Exit)
	require.ErrorIs(t, end.Err, full)
	store.fail = nil

	r.shell = "/no/such/shell"
	end = last("true", nil)
	require.Nil(t, end.Exit)
	require.ErrorIs(t, end.Err, shell.ErrNotFound)
}

// TestArtifactAlways: a command that ran has its artifact, also when that could not be kept to its end, and the result says so (R190, A5, D7).
func TestArtifactAlways(t *testing.T) {
	r, store, _ := confined(t, nil, nil)
	store.write = errors.New("no space left on device")
	res, err := run(t, r, "echo x; exit 3", nil)
	require.NoError(t, err)
	require.NotNil(t, res.Artifact)
	require.Equal(t, 3, res.Exit.ExitCode)
	require.Contains(t, res.Notes[0], "the rest of the output")
	require.Contains(t, res.Notes[0], "it was not kept")
	require.Contains(t, res.Notes[1], "status 3")
}

// TestPreSpawnErrors: what never ran is an error, leaves no artifact, and keeps the code of the boundary (R191, R192, R26).
func TestPreSpawnErrors(t *testing.T) {
	r, store, _ := confined(t, nil, nil)
	bare := toolNames(r)
	r.shell = "/no/such/shell"
	_, err := run(t, r, "true", nil)
	require.ErrorIs(t, err, &Error{Code: CodeFailed, Outcome: IOFailure})
	require.ErrorIs(t, err, shell.ErrNotFound)
	require.Contains(t, Render(err), "there is no such program")
	require.NotContains(t, Render(err), "Error:")
	r.shell = "/bin/sh"
	r.options.Commands.(*shell.Sandbox).Close()
	_, err = run(t, r, "true", nil)
	require.Equal(t, shell.CodeNotInitialized, CodeOf(err))
	require.ErrorIs(t, err, shell.ErrClosed)
	require.Equal(t, bare, toolNames(r), "there is nothing to query")
	for id, k := range store.made {
		require.True(t, k.released, id)
	}
}

// TestCancelMidCommand: a client that goes away takes the command with it, with everything that it started, and gets its own cause
// (R162, R185).
func TestCancelMidCommand(t *testing.T) {
	r, _, dir := confined(t, nil, nil)
	gone := errors.New("the client went away")
	for name, end := range map[string]func(context.CancelCauseFunc){
		"the client": func(cancel context.CancelCauseFunc) { cancel(gone) },
		"the turn":   func(context.CancelCauseFunc) { require.NoError(t, r.EndTurn()) },
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "beat")))
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := r.Call(ctx, RunShellCommand, json.RawMessage(`{"command":"(setsid sh -c 'while :; do date >>beat; sleep 0.02; done' &); sleep 600"}`))
			done <- err
		}()
		beat := func() string { b, _ := os.ReadFile(filepath.Join(dir, "beat")); return string(b) }
		require.Eventually(t, func() bool { return beat() != "" }, 20*time.Second, time.Millisecond, name)
		end(cancel)
		err := <-done
		require.True(t, err == gone || err == ErrTurnEnded, "%s: %v", name, err)
		before := beat()
		require.Never(t, func() bool { return beat() != before }, 200*time.Millisecond, 20*time.Millisecond, name)
		cancel(nil)
	}
}
