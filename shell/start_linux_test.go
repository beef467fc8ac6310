package shell_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestStartReturnsAtSpawn: Start returns while the command runs: its input is still open then, so it cannot have ended
// (R152).
func TestStartReturnsAtSpawn(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	r, w, err := os.Pipe()
	require.NoError(t, err)
	var out writerBuffer
	cmd := command(t, box, "cat")
	cmd.Stdin, cmd.Stdout = r, &out
	require.Nil(t, cmd.Completion)
	require.NoError(t, cmd.Start())
	require.NoError(t, r.Close())
	require.Equal(t, "full", cmd.Report().Tier, "the report is there as soon as the command runs")
	_, err = io.WriteString(w, "written after Start")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, "written after Start", out.String())
}

// TestLiveStreams holds a conversation with a running command, over pipes in both directions (R153).
func TestLiveStreams(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := script(t, box, `while read line; do echo "heard $line"; echo "noted $line" >&2; done; exit 3`)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	answers, notes := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	for _, word := range []string{"one", "two"} {
		_, err := io.WriteString(stdin, word+"\n")
		require.NoError(t, err)
		require.True(t, answers.Scan())
		require.Equal(t, "heard "+word, answers.Text())
		require.True(t, notes.Scan())
		require.Equal(t, "noted "+word, notes.Text())
	}
	require.NoError(t, stdin.Close())
	require.False(t, answers.Scan(), "the output ends with the command")
	require.NoError(t, cmd.Wait())
	require.Equal(t, 3, cmd.Completion.ExitCode)
}

// TestDeadContext: with a context that is over before Start nothing runs (R163).
func TestDeadContext(t *testing.T) {
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
		cmd := box.Command(ctx, "touch", filepath.Join(dir, "ran"))
		cmd.Dir = "/"
		err := cmd.Run()
		code(t, err, shell.CodeFailed)
		require.ErrorIs(t, err, want)
		require.Nil(t, cmd.Completion)
	}
	require.NoFileExists(t, filepath.Join(dir, "ran"))
	require.Empty(t, output(t, command(t, box, "touch", filepath.Join(dir, "ran"))))
	require.FileExists(t, filepath.Join(dir, "ran"), "the same command with a live context does run")
}

// TestOpenWithDeadContext: nothing is set up, and nothing is left.
func TestOpenWithDeadContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := shell.Open(ctx, policy.Policy{}, shell.Options{})
	code(t, err, shell.CodeFailed)
	require.ErrorIs(t, err, context.Canceled)
	noChildren(t)
}

// TestOpenContextBoundsOpenOnly: a sandbox outlives the context it was opened with.
func TestOpenContextBoundsOpenOnly(t *testing.T) {
	needBoundary(t)
	ctx, cancel := context.WithCancel(t.Context())
	box, err := shell.Open(ctx, policy.Policy{}, shell.Options{})
	require.NoError(t, err)
	defer box.Close()
	cancel()
	for range 2 {
		require.Equal(t, "here\n", output(t, command(t, box, "echo", "here")))
	}
}

// TestNoDaemon: a sandbox needs no other program, daemon or image: it opens and runs with nothing in PATH and no variable
// that could name a server (R3).
func TestNoDaemon(t *testing.T) {
	needBoundary(t)
	program, err := exec.LookPath("true")
	require.NoError(t, err)
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	box, err := shell.Open(t.Context(), policy.Policy{}, shell.Options{})
	require.NoError(t, err)
	defer closeSoon(t, box)
	cmd := command(t, box, program)
	require.NoError(t, cmd.Run())
	require.Equal(t, 0, cmd.Completion.ExitCode)
}

// TestMisuse: the ways to use a Cmd wrongly are typed errors, and do no harm to what is right.
func TestMisuse(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})

	t.Run("start twice", func(t *testing.T) {
		cmd := command(t, box, "echo", "once")
		var out writerBuffer
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		code(t, cmd.Start(), shell.CodeInvalidConfig)
		require.NoError(t, cmd.Wait())
		require.Equal(t, "once\n", out.String())
		code(t, cmd.Run(), shell.CodeInvalidConfig)
	})
	t.Run("wait twice", func(t *testing.T) {
		cmd := command(t, box, "true")
		require.NoError(t, cmd.Run())
		code(t, cmd.Wait(), shell.CodeInvalidConfig)
		require.Equal(t, 0, cmd.Completion.ExitCode)
	})
	t.Run("wait without start", func(t *testing.T) {
		cmd := command(t, box, "true")
		code(t, cmd.Wait(), shell.CodeInvalidConfig)
		require.NoError(t, cmd.Start())
		require.NoError(t, cmd.Wait(), "an early Wait must not take the real one's place")
	})
	t.Run("signal without start", func(t *testing.T) {
		code(t, command(t, box, "true").Signal(os.Interrupt), shell.CodeInvalidConfig)
	})
	t.Run("no context", func(t *testing.T) {
		var none context.Context
		code(t, box.Command(none, "true").Run(), shell.CodeInvalidConfig)
	})
	t.Run("not made by a sandbox", func(t *testing.T) {
		code(t, (&shell.Cmd{Path: "true"}).Run(), shell.CodeInvalidConfig)
	})
	t.Run("report before start", func(t *testing.T) {
		cmd := command(t, box, "true")
		require.Empty(t, cmd.Report())
		require.Empty(t, cmd.Violations())
	})
}

// TestPipeMisuse: a stream has one owner.
func TestPipeMisuse(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "true")
	_, err := cmd.StdoutPipe()
	require.NoError(t, err)
	_, err = cmd.StdoutPipe()
	code(t, err, shell.CodeInvalidConfig)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	_, err = cmd.StdinPipe()
	code(t, err, shell.CodeInvalidConfig)
	_, err = cmd.StderrPipe()
	code(t, err, shell.CodeInvalidConfig)
	cmd.Stdin = nil
	require.NoError(t, cmd.Run())
	_, err = cmd.StdinPipe()
	code(t, err, shell.CodeInvalidConfig)

	set := command(t, box, "true")
	set.Stdout = os.Stdout
	_, err = set.Output()
	code(t, err, shell.CodeInvalidConfig)
	set = command(t, box, "true")
	set.Stderr = os.Stderr
	_, err = set.CombinedOutput()
	code(t, err, shell.CodeInvalidConfig)
}

// TestFailedStartEndsPipes: when the command cannot be started, whoever reads or writes its pipes is let go.
func TestFailedStartEndsPipes(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	failing := map[string]*shell.Cmd{
		"command not found":  command(t, box, "no-such-command"),
		"relative directory": box.Command(t.Context(), "true"),
		"dead context":       box.Command(dead, "true"),
		"bad environment":    command(t, box, "true"),
	}
	failing["relative directory"].Dir = "relative"
	failing["bad environment"].Env = []string{"no value"}
	for name, cmd := range failing {
		t.Run(name, func(t *testing.T) {
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.Error(t, cmd.Start())
			read := make(chan int, 1)
			go func() {
				n, _ := io.Copy(io.Discard, stdout)
				read <- int(n)
			}()
			select {
			case n := <-read:
				require.Zero(t, n)
			case <-time.After(5 * time.Second):
				stdout.Close() // lets the goroutine go
				stdin.Close()
				t.Fatal("the pipe of a command that never ran is still open for reading")
			}
			_, err = stdin.Write([]byte("x"))
			require.Error(t, err)
		})
	}
}
