package shell_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// digest counts and hashes what is written to it.
type digest struct {
	hash.Hash
	n int64
}

func newDigest() *digest { return &digest{Hash: sha256.New()} }

func (d *digest) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return d.Hash.Write(p)
}

// TestBothStreams: a command that writes 10 MiB to each stream, a MiB at a time in turn, is not blocked: both are drained
// at the same time (R154).
func TestBothStreams(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	out, err := newDigest(), newDigest()
	cmd := script(t, box, `for i in 0 1 2 3 4 5 6 7 8 9; do
		head -c 1048576 /dev/zero
		head -c 1048576 /dev/zero | tr '\0' e >&2
	done`)
	cmd.Stdout, cmd.Stderr = out, err
	require.NoError(t, cmd.Run())
	require.Equal(t, 0, cmd.Completion.ExitCode)
	wantOut, wantErr := newDigest(), newDigest()
	wantOut.Write(make([]byte, 10<<20))
	wantErr.Write(bytes.Repeat([]byte("e"), 10<<20))
	require.Equal(t, wantOut.n, out.n)
	require.Equal(t, wantErr.n, err.n)
	require.Equal(t, wantOut.Sum(nil), out.Sum(nil))
	require.Equal(t, wantErr.Sum(nil), err.Sum(nil))
}

// TestLargeOutput: 50 MB arrive whole, in order and unchanged, through a writer and through a pipe.
func TestLargeOutput(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	const last = 6_500_000
	want := newDigest()
	for i := range last {
		fmt.Fprintln(want, i+1)
	}
	require.Greater(t, want.n, int64(50e6))

	got := newDigest()
	cmd := command(t, box, "seq", fmt.Sprint(last))
	cmd.Stdout = got
	require.NoError(t, cmd.Run())
	require.Equal(t, want.n, got.n)
	require.Equal(t, want.Sum(nil), got.Sum(nil))

	got = newDigest()
	cmd = command(t, box, "seq", fmt.Sprint(last))
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.Copy(got, pipe)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	require.Equal(t, want.Sum(nil), got.Sum(nil))
}

// TestGrandchildHoldsOutput: a process in the background that keeps the streams open does not keep Wait waiting; it
// ends with the command.
func TestGrandchildHoldsOutput(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	mark := marker()
	for _, start := range []string{"sleep $1 &", "setsid sleep $1 &", "(setsid sleep $1 &) &"} {
		require.Equal(t, "started\n", output(t, script(t, box, start+" echo started", mark)))
		require.Empty(t, processesWith(mark), "when Wait returns nothing is left of %q", start)
	}
}

// TestNowhere: without writers the output goes to the null device, and is not an error for the command.
func TestNowhere(t *testing.T) {
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{})
	cmd := script(t, box, `echo lost && echo lost >&2 && fds=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2) && echo "$fds" >"$1/fds"`, dir)
	require.NoError(t, cmd.Run())
	require.Equal(t, 0, cmd.Completion.ExitCode)
	require.Equal(t, strings.Repeat("/dev/null\n", 3), read(t, filepath.Join(dir, "fds")))
}

// TestFileAsOutput: a file gets everything in order, and stays the caller's to close.
func TestFileAsOutput(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("before\n")
	require.NoError(t, err)
	cmd := script(t, box, `echo out; echo err >&2`)
	cmd.Stdout, cmd.Stderr = f, f
	require.NoError(t, cmd.Run())
	_, err = f.WriteString("after\n")
	require.NoError(t, err)
	require.Equal(t, "before\nout\nerr\nafter\n", read(t, f.Name()))
}

// TestCombinedOrder: one writer for both streams gets everything in the order in which it was written.
func TestCombinedOrder(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	const line = `i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done`
	var want strings.Builder
	for i := range 300 {
		fmt.Fprintln(&want, i)
	}
	out, err := script(t, box, line).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, want.String(), string(out))

	out, err = script(t, box, line).Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), "\n1\n", "Output is standard output alone")
}

// writerFunc is a writer whose values cannot be compared.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSameWriterNotComparable: whether two writers are the same is asked without a panic, whatever they are.
func TestSameWriterNotComparable(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	var out writerBuffer
	type wrapper struct{ io.Writer } // comparable by its type, not by what it holds
	for name, w := range map[string]io.Writer{
		"function":            writerFunc(out.Write),
		"function in a field": wrapper{writerFunc(out.Write)},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := script(t, box, `echo out; echo err >&2`)
			cmd.Stdout, cmd.Stderr = w, w
			require.NotPanics(t, func() { require.NoError(t, cmd.Run()) })
			require.Contains(t, out.String(), "out\n")
			require.Contains(t, out.String(), "err\n")
		})
	}
}

// TestFailingWriter: a writer that fails does not block the command; Wait gives its error, and Completion is whole.
func TestFailingWriter(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	full := errors.New("the disk is full")
	var stderr writerBuffer
	cmd := script(t, box, `head -c 1000000 /dev/zero && echo done >&2`)
	cmd.Stdout = writerFunc(func(p []byte) (int, error) { return 0, full })
	cmd.Stderr = &stderr
	require.ErrorIs(t, cmd.Run(), full)
	require.Equal(t, "done\n", stderr.String())
	require.Equal(t, 0, cmd.Completion.ExitCode)
	require.False(t, cmd.Completion.Failed)
}

// TestWaitDelay: a writer that blocks holds Wait up for WaitDelay and not longer.
func TestWaitDelay(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	release := make(chan struct{})
	wrote := make(chan struct{})
	cmd := command(t, box, "echo", "stuck")
	cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		defer close(wrote)
		<-release
		return len(p), nil
	})
	cmd.WaitDelay = 20 * time.Millisecond
	began := time.Now()
	code(t, cmd.Run(), shell.CodeFailed)
	require.GreaterOrEqual(t, time.Since(began), cmd.WaitDelay)
	require.Equal(t, 0, cmd.Completion.ExitCode, "the command itself ended well")
	close(release)
	<-wrote
}

// TestSlowWriterIsWaitedFor: without a WaitDelay Wait returns only when everything is written.
func TestSlowWriterIsWaitedFor(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	release := make(chan struct{})
	var out writerBuffer
	cmd := command(t, box, "echo", "slow")
	cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		<-release
		return out.Write(p)
	})
	require.NoError(t, cmd.Start())
	waited := make(chan error)
	go func() { waited <- cmd.Wait() }()
	eventually(t, func() bool { return len(children()) == 0 }, "the command ends")
	select {
	case <-waited:
		t.Fatal("Wait returned before the output was written")
	default:
	}
	close(release)
	require.NoError(t, <-waited)
	require.Equal(t, "slow\n", out.String())
}
