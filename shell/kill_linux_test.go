package shell_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// trees are ways in which a command hides a process from whoever wants to end it. $1 is the number of seconds that the
// process sleeps, by which the host finds it. Each has as many processes with it as it says.
var trees = []struct {
	name, script string
	processes    int
}{
	{"plain", `exec sleep $1`, 1},
	{"child", `sleep $1; true`, 2},
	{"background", `sleep $1 & sleep $1 & wait`, 3},
	{"session of its own", `setsid sleep $1 & sleep $1; true`, 3},
	{"double fork", `(setsid sh -c 'sleep $1 & sleep $1 & exit' sh $1 &) ; sleep $1; true`, 4},
	{"deaf to signals", `trap '' TERM INT HUP QUIT; sleep $1; true`, 2},
	{"stopped", `sleep $1 & kill -STOP $!; kill -STOP $$`, 2},
}

// runTree starts one of the trees and waits until all of it can be seen.
func runTree(t *testing.T, ctx context.Context, box *shell.Sandbox, script, mark string, processes int) *shell.Cmd {
	t.Helper()
	cmd := box.Command(ctx, "sh", "-c", script, "sh", mark)
	cmd.Dir = "/"
	require.NoError(t, cmd.Start())
	eventually(t, func() bool { return len(processesWith(mark)) >= processes }, "the whole tree runs")
	return cmd
}

// gone waits until no process of a tree is left, and says how long that took.
func gone(t *testing.T, mark string, since time.Time) time.Duration {
	t.Helper()
	eventually(t, func() bool { return len(processesWith(mark)) == 0 }, "processes are left")
	return time.Since(since)
}

// inTime asserts that trees were gone within 250 ms. The median stands for them: one may meet a busy machine.
func inTime(t *testing.T, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	t.Logf("gone after %v", took)
	require.Less(t, took[len(took)/2], 250*time.Millisecond)
}

// TestCancelKillsTree: when the context is cancelled everything that the command started is killed, and Wait says so
// (R162).
func TestCancelKillsTree(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	var took []time.Duration
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			mark := marker()
			cmd := runTree(t, ctx, box, tree.script, mark, tree.processes)
			began := time.Now()
			cancel()
			took = append(took, gone(t, mark, began)) // before Wait: the caller need not be waiting for it
			require.ErrorIs(t, cmd.Wait(), context.Canceled)
			require.True(t, cmd.Completion.Cancelled)
			require.False(t, cmd.Completion.TimedOut)
			require.True(t, cmd.Completion.Failed)
			require.Equal(t, "SIGKILL", cmd.Completion.Signal)
		})
	}
	inTime(t, took)
}

// runUntil runs a tree until a deadline by which it runs: on a busy machine that takes more than one try.
func runUntil(t *testing.T, box *shell.Sandbox, script, mark string) (cmd *shell.Cmd, deadline time.Time, out []byte, err error) {
	t.Helper()
	for timeout := 150 * time.Millisecond; timeout < 20*time.Second; timeout *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		deadline, _ = ctx.Deadline()
		cmd = box.Command(ctx, "sh", "-c", "echo partial; "+script, "sh", mark)
		cmd.Dir = "/"
		out, err = cmd.Output()
		cancel()
		if len(out) > 0 {
			return cmd, deadline, out, err
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	t.Fatal("the command does not come to run")
	return nil, deadline, nil, nil
}

// TestTimeoutKillsTree: the same at a deadline, which has a name of its own (R206).
func TestTimeoutKillsTree(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	var took []time.Duration
	for _, tree := range trees {
		t.Run(tree.name, func(t *testing.T) {
			mark := marker()
			cmd, deadline, out, err := runUntil(t, box, tree.script, mark)
			took = append(took, gone(t, mark, deadline))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, "partial\n", string(out), "what was written before is kept")
			require.True(t, cmd.Completion.TimedOut)
			require.False(t, cmd.Completion.Cancelled)
			require.Equal(t, "SIGKILL", cmd.Completion.Signal)
		})
	}
	inTime(t, took)
}

// TestEndKillsTree: when the command's first process ends by itself, what it left behind is killed all the same.
func TestEndKillsTree(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	mark := marker()
	cmd := script(t, box, `sleep $1 & setsid sleep $1 & (setsid sh -c 'sleep $1 & exit' sh $1 &) ; exit 5`, mark)
	require.NoError(t, cmd.Run())
	require.Equal(t, 5, cmd.Completion.ExitCode)
	require.Empty(t, processesWith(mark), "when Wait returns they are gone")
}

// TestCancelAtAnyMoment cancels at moments before, during and after the start of a command: it is an error or a
// completion, and nothing is left.
func TestCancelAtAnyMoment(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	require.NoError(t, command(t, box, "true").Run()) // uses up the jail that Open made
	began := time.Now()
	require.NoError(t, command(t, box, "true").Run())
	longest := 2 * time.Since(began)
	mark := marker()
	outcomes := map[string]int{}
	for range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(longest))), cancel)
		cmd := box.Command(ctx, "sleep", mark)
		cmd.Dir = "/"
		err := cmd.Run()
		require.ErrorIs(t, err, context.Canceled)
		if cmd.Completion == nil {
			outcomes["did not start"]++
			code(t, err, shell.CodeFailed)
		} else {
			outcomes["killed"]++
			require.True(t, cmd.Completion.Cancelled)
		}
		timer.Stop()
		cancel()
		require.Empty(t, processesWith(mark))
	}
	t.Log(outcomes)
	require.Empty(t, children(), "no first process is left either")
}

// TestSignal: signals reach the command, which may handle them; by themselves they make no error.
func TestSignal(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	const loop = `echo ready; while :; do sleep 0.01; done`
	for _, tc := range []struct {
		name, script string
		signal       syscall.Signal
		want         shell.Completion
	}{
		{"handled", `trap 'exit 3' TERM; ` + loop, syscall.SIGTERM, shell.Completion{ExitCode: 3, Failed: true}},
		{"handled USR1", `trap 'exit 0' USR1; ` + loop, syscall.SIGUSR1, shell.Completion{}},
		{"not handled", loop, syscall.SIGTERM, shell.Completion{Failed: true, Signal: "SIGTERM"}},
		{"interrupt", loop, syscall.SIGINT, shell.Completion{Failed: true, Signal: "SIGINT"}},
		{"kill", `trap '' TERM; ` + loop, syscall.SIGKILL, shell.Completion{Failed: true, Signal: "SIGKILL"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := script(t, box, tc.script)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = fmt.Fscanln(out, new(string))
			require.NoError(t, err, "it says that it is ready")
			require.NoError(t, cmd.Signal(tc.signal))
			require.NoError(t, cmd.Wait())
			require.Equal(t, tc.want.Signal, cmd.Completion.Signal)
			require.Equal(t, tc.want.Failed, cmd.Completion.Failed)
			if tc.want.Signal == "" {
				require.Equal(t, tc.want.ExitCode, cmd.Completion.ExitCode)
			}
			require.False(t, cmd.Completion.Cancelled)
			require.NoError(t, cmd.Signal(syscall.SIGTERM), "a signal to a command that has ended does nothing")
		})
	}
}

// TestSignalReachesTheGroup: as from a terminal, what the command runs gets the signal too, and the command need not pass
// it on.
func TestSignalReachesTheGroup(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	mark := marker()
	cmd := runTree(t, t.Context(), box, `trap 'echo heard' INT; sleep $1; echo "status $?"`, mark, 2)
	// Between fork and exec the child would take the signal as the shell does.
	eventually(t, func() bool { return len(processesWith("sleep\x00"+mark)) == 1 }, "the sleep runs")
	require.NoError(t, cmd.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
	require.Equal(t, 0, cmd.Completion.ExitCode, "the sleep ended, and the script went on to its end")
	require.Empty(t, processesWith(mark))
}

// notASignal is no signal of the system's.
type notASignal struct{}

func (notASignal) String() string { return "not a signal" }
func (notASignal) Signal()        {}

// TestSignalUnknown: what is no signal is refused, and the command runs on.
func TestSignalUnknown(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	code(t, cmd.Signal(notASignal{}), shell.CodeInvalidConfig)
	var none os.Signal
	code(t, cmd.Signal(none), shell.CodeInvalidConfig)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, 0, cmd.Completion.ExitCode)
}
