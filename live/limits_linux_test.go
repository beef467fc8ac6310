package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/shell"
)

// TestFileSizeLimit: a file cannot grow past the limit, and the limit cannot be raised back (process case 41).
func TestFileSizeLimit(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		limited := shell.Options{Limits: shell.Limits{FileSizeBytes: 1 << 20}}
		large := func(f *field) []string { return []string{f.ws + "/large", "3"} }
		attack{
			name: "write-large-file", why: "a workspace fills the disk",
			alone: [][]string{{"rlimits"}}, options: limited, args: large,
		}.test(t)
		attack{
			name: "raise-limit", why: "a soft limit is raised back by whom it binds",
			alone: [][]string{{"rlimits"}}, options: limited, args: large,
		}.test(t)
	})
}

// TestCPULimit: a process that computes for longer than its limit is ended.
func TestCPULimit(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name: "use-cpu", why: "a miner",
			alone: [][]string{{"rlimits"}}, options: shell.Options{Limits: shell.Limits{CPUTime: time.Second}},
			args: func(*field) []string { return []string{"3"} },
		}.test(t)
	})
}

// TestProcessLimit: a fork bomb meets its limit, where one can be put up; where it cannot, opening fails, typed, and
// says what to do. The bomb is counted (process case 41).
func TestProcessLimit(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		limited := shell.Options{Limits: shell.Limits{Processes: 30}}
		f := newField(t)
		box, err := shell.Open(context.Background(), f.writable(), limited)
		if err != nil {
			require.Zero(t, os.Getuid(), "an ordinary user always has RLIMIT_NPROC: %v", err)
			var e *shell.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, shell.CodeDependencyMissing, e.Code)
			require.Contains(t, e.Error(), "Processes")
			require.NotEmpty(t, e.Hints)
			record(entry{Kind: "note", Test: t.Name(), Detail: "no process limit here: " + e.Error()})
			return
		}
		require.Equal(t, shell.Enforced, box.Report().Layer("limit: processes").State)
		require.NoError(t, box.Close())
		attack{
			name: "start-processes", why: "a fork bomb",
			alone: [][]string{{"rlimits"}}, options: limited,
			args: func(*field) []string { return []string{"60"} },
		}.test(t)
	})
}

// TestMemoryLimit: a tree that takes more memory than its limit is ended as a whole, the completion names the limit and
// a record says so; with no limit the same program ends well (process case 41).
func TestMemoryLimit(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		unlimited := attackIn(t, open(t, f.writable(), shell.Options{}), f.ws, nil, "use-memory", "400")
		require.Equal(t, through, unlimited.verdict)

		box := open(t, f.writable(), shell.Options{Limits: shell.Limits{MemoryBytes: 64 << 20}})
		cmd := command(t, box, f.ws, "sh", "-c", `sleep 300 & exec "$0" attack use-memory 2000`, attacker())
		out, err := cmd.CombinedOutput()
		require.NoError(t, explain(err))
		require.NotContains(t, string(out), verdictLine)
		require.Equal(t, "memory", cmd.Completion.Limit, "%+v: %s", cmd.Completion, out)
		require.Equal(t, "SIGKILL", cmd.Completion.Signal)
		require.True(t, cmd.Completion.Failed)
		require.Less(t, cmd.Completion.MaxRSSBytes, int64(1<<30), "the limit came far too late")
		require.Len(t, cmd.Violations(), 1)
		require.Equal(t, "limit", cmd.Violations()[0].Operation)
		require.Equal(t, cmd.ID, cmd.Violations()[0].ID)
	})
}

// TestWriteLimit: a tree that fills the workspace by more than its limit is ended as a whole, also when no process that lives
// has written much, and the record names the limit; without one the same program ends well (process case 41).
func TestWriteLimit(t *testing.T) {
	const limit, most = 16 << 20, 96 << 20
	scripts := map[string]string{
		"one process":               `exec "$0" attack write-in-steps big 96`,
		"processes nobody asks for": `trap '' CHLD; i=0; while [ $i -lt 96 ]; do head -c 1048576 /dev/zero >f$i; i=$((i+1)); done; echo written`,
		"from the background":       `(setsid "$0" attack write-in-steps big 96 >/dev/null &); sleep 20; echo written`,
	}
	bothUsers(t, func(t *testing.T) {
		for name, script := range scripts {
			if name != "from the background" {
				f := newField(t)
				cmd := command(t, open(t, f.writable(), shell.Options{}), f.ws, "sh", "-c", script, attacker())
				out, err := cmd.CombinedOutput()
				require.NoError(t, explain(err))
				require.Equal(t, 0, cmd.Completion.ExitCode, "%s: %s", name, out)
				require.Equal(t, int64(most), f.size(), name)
			}
			f := newField(t)
			box := open(t, f.writable(), shell.Options{Limits: shell.Limits{WriteBytes: limit}})
			require.Contains(t, box.Report().Layer("limit: write").Evidence, "best effort")
			cmd := command(t, box, f.ws, "sh", "-c", script, attacker())
			out, err := cmd.CombinedOutput()
			require.NoError(t, explain(err))
			require.NotContains(t, string(out), "written", name)
			require.Equal(t, "write", cmd.Completion.Limit, "%s: %+v: %s", name, cmd.Completion, out)
			require.Equal(t, "SIGKILL", cmd.Completion.Signal)
			require.Len(t, cmd.Violations(), 1)
			require.Equal(t, "limit", cmd.Violations()[0].Operation)
			require.Less(t, f.size(), int64(most), name)
			record(entry{Kind: "note", Test: t.Name(), Detail: fmt.Sprintf("%s: %d KiB over the limit", name, (f.size()-limit)>>10)})
		}
	})
}

// size is how much is in the workspace.
func (f *field) size() int64 {
	f.t.Helper()
	var sum int64
	entries, err := os.ReadDir(f.ws)
	require.NoError(f.t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(f.t, err)
		sum += info.Size()
	}
	return sum
}

// TestDescriptorLimit: a process cannot open more than its limit, nor raise it (process case 41).
func TestDescriptorLimit(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		limited := shell.Options{Limits: shell.Limits{Descriptors: 200}}
		attack{
			name: "open-descriptors", why: "tables of descriptors are memory of the kernel, and of everybody",
			alone: [][]string{{"rlimits"}}, options: limited,
			args: func(*field) []string { return []string{"300"} },
		}.test(t)
	})
}

// TestMemoryLimitCannotBeDodged: memory that no process has mapped counts or cannot be had, and the watch cannot be
// blinded (process case 41).
func TestMemoryLimitCannotBeDodged(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		for _, name := range []string{"blind-memory-watch", "use-memfd", "use-detached-segments"} {
			free := attackIn(t, open(t, f.writable(), shell.Options{}), f.ws, nil, name, "200")
			require.Equal(t, through, free.verdict, "%s without a limit: %s", name, free.detail)
			box := open(t, f.writable(), shell.Options{Limits: shell.Limits{MemoryBytes: 64 << 20}})
			cmd := command(t, box, f.ws, attacker(), "attack", name, "400")
			out, err := cmd.CombinedOutput()
			require.NoError(t, explain(err))
			found, ok := parseVerdict(string(out))
			if ok && found.verdict == refused {
				record(entry{Kind: "note", Test: t.Name(), Attack: name, Detail: "cannot be had: " + found.detail})
				continue
			}
			require.Equal(t, "memory", cmd.Completion.Limit, "%s: %+v: %s", name, cmd.Completion, out)
		}
	})
}

// killBound is how long after its deadline a tree may live on a machine that does nothing else.
const killBound = 250 * time.Millisecond

// busy says how many tasks compete for each processor, 1 at least: everything takes that many times longer.
func busy(t *testing.T) float64 {
	t.Helper()
	b, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	fields := strings.Fields(string(b))
	minute, err := strconv.ParseFloat(fields[0], 64)
	require.NoError(t, err)
	running, _, _ := strings.Cut(fields[3], "/")
	return max(1, minute/float64(runtime.NumCPU()), float64(atoi(running))/float64(runtime.NumCPU()))
}

// TestDeadlineEndsTheTree: whatever a command does, it and everything it started is gone shortly after its deadline
// (R162; process cases 41, 42).
func TestDeadlineEndsTheTree(t *testing.T) {
	scripts := map[string]string{
		"sleeps":                         `sleep 300`,
		"prints without end":             `exec yes`,
		"stops itself":                   `kill -STOP $$; sleep 300`,
		"forks twice into a new session": `(setsid sh -c 'setsid sleep 300 & exec sleep 300' &) ; sleep 300`,
		"ignores every signal":           `trap '' TERM INT HUP QUIT; while :; do sleep 1; done`,
		"computes with a closed input":   `exec 0<&-; while :; do :; done`,
	}
	bothUsers(t, func(t *testing.T) {
		for name, script := range scripts {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				f := newField(t)
				box := open(t, f.writable(), shell.Options{})
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				defer cancel()
				cmd := box.Command(ctx, "sh", "-c", script)
				cmd.Dir = f.ws
				cmd.Stdout = io.Discard
				err := cmd.Run()
				deadline, _ := ctx.Deadline()
				late := time.Since(deadline)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Less(t, late.Seconds(), killBound.Seconds()*busy(t))
				require.True(t, cmd.Completion.TimedOut)
				require.Empty(t, children(t), "something of the tree is left")
				record(entry{Kind: "note", Test: t.Name(), Detail: "gone " + late.Round(time.Millisecond).String() + " after the deadline"})
			})
		}
	})
}

// TestForgedRecords: what a command prints or writes to any descriptor makes no record (process case 45).
func TestForgedRecords(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		cmd := command(t, open(t, f.writable(), shell.Options{}), f.ws, attacker(), "attack", "forge-records")
		out, err := cmd.CombinedOutput()
		require.NoError(t, explain(err))
		require.Equal(t, 0, cmd.Completion.ExitCode, "%s", out)
		require.Contains(t, string(out), `"rule":"forged"`)
		require.Empty(t, cmd.Violations())
	})
}

// TestGrandchildHoldingOutput: Wait returns although a process in the background holds the output (process case 42).
func TestGrandchildHoldingOutput(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		start := time.Now()
		code, out := f.run(f.writable(), "sh", "-c", "sleep 300 & echo done")
		require.Equal(t, 0, code)
		require.Equal(t, "done\n", out)
		require.Less(t, time.Since(start), 10*time.Second)
		require.Empty(t, children(t), "the process in the background is left")
	})
}

// slowWriter fails after the first write, as a full disk does.
type slowWriter struct{ n int }

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.n++; w.n > 1 {
		return 0, errors.New("no space")
	}
	return len(p), nil
}

// TestOutputOnBothStreams: more than a pipe holds on each stream in turn does not block the command, and a failing
// writer is an error that does not block it either (R154; process case 42).
func TestOutputOnBothStreams(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		const script = `i=0; while [ $i -lt 40 ]; do head -c 262144 /dev/zero; head -c 262144 /dev/zero >&2; i=$((i+1)); done`
		box := open(t, f.writable(), shell.Options{})
		var out, errOut strings.Builder
		cmd := command(t, box, f.ws, "sh", "-c", script)
		cmd.Stdout, cmd.Stderr = &out, &errOut
		require.NoError(t, cmd.Run())
		require.Equal(t, 40*262144, out.Len())
		require.Equal(t, 40*262144, errOut.Len())

		cmd = command(t, box, f.ws, "sh", "-c", script)
		cmd.Stdout = &slowWriter{}
		require.ErrorContains(t, cmd.Run(), "no space")
		require.Equal(t, 0, cmd.Completion.ExitCode)
	})
}
