package shell_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestStdinClosed: without a Stdin the command reads end of file at once (R165).
func TestStdinClosed(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	require.Empty(t, output(t, command(t, box, "cat")))
}

// TestStdinReader: a reader of more than a pipe holds arrives whole.
func TestStdinReader(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	text := strings.Repeat("0123456789abcdef", 5<<20/16) // 5 MiB; a pipe holds 64 KiB
	for name, r := range map[string]io.Reader{
		"whole":       strings.NewReader(text),
		"in halves":   iotest.HalfReader(strings.NewReader(text)),
		"end at once": iotest.DataErrReader(strings.NewReader(text)),
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, box, "cat")
			cmd.Stdin = r
			require.True(t, text == output(t, cmd), "what came back is not what went in")
		})
	}
}

// TestStdinFile: a file is read from its offset, and stays the caller's to close.
func TestStdinFile(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	path := filepath.Join(t.TempDir(), "in")
	write(t, path, "skipped, read", 0o600)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Seek(int64(len("skipped, ")), io.SeekStart)
	require.NoError(t, err)
	cmd := command(t, box, "cat")
	cmd.Stdin = f
	require.Equal(t, "read", output(t, cmd))
	_, err = f.Stat()
	require.NoError(t, err, "the file is the caller's to close")
}

// TestStdinPipe: a pipe that the caller writes and closes.
func TestStdinPipe(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "wc", "-c")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	var out writerBuffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	_, err = in.Write(bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, "1048576", strings.TrimSpace(out.String()))
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestStdinNotRead: a command that does not read its input, or stops early, is no trouble and no error.
func TestStdinNotRead(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	cmd := command(t, box, "true")
	cmd.Stdin = endless{}
	require.NoError(t, cmd.Run())
	require.Equal(t, 0, cmd.Completion.ExitCode)

	cmd = command(t, box, "head", "-c", "3")
	cmd.Stdin = endless{}
	require.Equal(t, "\x00\x00\x00", output(t, cmd))

	cmd = command(t, box, "true")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for err == nil {
		_, err = in.Write(make([]byte, 1<<16)) // until the command is gone
	}
	require.True(t, errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed), "%v", err)
	require.NoError(t, cmd.Wait())
}

// TestStdinThatNeverComes: the caller's reader blocks, the command ends, Wait returns.
func TestStdinThatNeverComes(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	r, w := io.Pipe()
	defer w.Close() // lets the reading goroutine go
	cmd := command(t, box, "echo", "not interested")
	cmd.Stdin = r
	require.Equal(t, "not interested\n", output(t, cmd))
}

// TestStdinReaderFails: what the command got was cut short, and the caller hears of it.
func TestStdinReaderFails(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	broken := errors.New("the source broke")
	var out writerBuffer
	cmd := command(t, box, "cat")
	cmd.Stdin = io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	cmd.Stdout = &out
	require.ErrorIs(t, cmd.Run(), broken)
	require.Equal(t, "half", out.String())
	require.Equal(t, 0, cmd.Completion.ExitCode)
}

// TestStdinClosedFile: a file that was closed is a typed error, and nothing runs.
func TestStdinClosedFile(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	f, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for name, set := range map[string]func(*shell.Cmd){
		"stdin":  func(c *shell.Cmd) { c.Stdin = f },
		"stdout": func(c *shell.Cmd) { c.Stdout = f },
		"extra":  func(c *shell.Cmd) { c.ExtraFiles = []*os.File{f} },
		"nil":    func(c *shell.Cmd) { c.ExtraFiles = []*os.File{nil} },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, box, "true")
			set(cmd)
			err := cmd.Run()
			require.Error(t, err)
			require.NotEmpty(t, shell.CodeOf(err), "%v", err)
			require.Nil(t, cmd.Completion)
		})
	}
	require.Equal(t, "fine\n", output(t, command(t, box, "echo", "fine")))
}
