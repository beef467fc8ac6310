//go:build linux

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// sitting is a session of the tools, and the terminal of the person who is asked.
type sitting struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	in   io.WriteCloser
	out  *bufio.Reader
	seen strings.Builder
	at   int // how much of seen was looked at
}

// sit starts a session whose standard streams are pipes; the person is at the controlling terminal.
func sit(t *testing.T, args ...string) *sitting {
	t.Helper()
	needBoundary(t)
	s := &sitting{t: t}
	keyboard, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(keyboard, &pty.Winsize{Rows: 24, Cols: 70}))
	s.cmd, _, _ = start(t, append([]string{"tool", "--gate", "ask"}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr, s.tty = nil, tty, keyboard
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	s.in, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	s.out = bufio.NewReader(out)
	require.NoError(t, s.cmd.Start())
	require.NoError(t, tty.Close())
	t.Cleanup(func() { keyboard.Close() })
	return s
}

// asked waits for a question and gives what was shown since the last one.
func (s *sitting) asked() string {
	s.t.Helper()
	const prompt = "always for this exact call: "
	require.NoError(s.t, s.tty.SetReadDeadline(time.Now().Add(patience)))
	for b := make([]byte, 4096); !strings.Contains(s.seen.String()[s.at:], prompt); {
		n, err := s.tty.Read(b)
		require.NoError(s.t, err, "%s", s.seen.String())
		s.seen.Write(b[:n])
	}
	shown := s.seen.String()[s.at:]
	s.at = s.seen.Len()
	return strings.ReplaceAll(shown, "\r\n", "\n")
}

func (s *sitting) types(text string) {
	s.t.Helper()
	_, err := s.tty.WriteString(text)
	require.NoError(s.t, err)
}

func (s *sitting) calls(lines ...string) {
	s.t.Helper()
	_, err := io.WriteString(s.in, strings.Join(lines, "\n")+"\n")
	require.NoError(s.t, err)
}

// reads gives the next line of what a model reads.
func (s *sitting) reads() string {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	require.NoError(s.t, err)
	return strings.TrimSuffix(line, "\n")
}

// left is all that is still to be read; the program has closed its output by then.
func (s *sitting) left() string {
	s.t.Helper()
	b, err := io.ReadAll(s.out)
	require.NoError(s.t, err)
	return string(b)
}

// TestAskOnATerminal is the gate ask on a real terminal: what a person sees of a call, and what becomes of each answer.
func TestAskOnATerminal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one\n"), 0o644))
	s := sit(t, "--session", "--workspace", dir, "--allow-write", dir, "--engine", "goja")
	s.calls(`stage_file {"path":"a\u001b[2J\napprove? y"}`, `stage_file {"path":"a"}`, `stage_file {"path":"a"}`, `stage_file {"path":"b"}`, `stage_file {"path":"a"}`)
	require.NoError(t, s.in.Close())

	first := s.asked()
	require.Contains(t, first, "sallyport asks about a call:\n  tool      | stage_file\n  path      | a\\x1b[2J\n            | approve? y\n")
	require.Contains(t, first, "  in        | ")
	require.Contains(t, first, "network: none\n")
	require.Contains(t, first, "enforced by the evaluator\n")
	require.NotContains(t, first, "\x1b")
	s.types("n not that one\n")
	s.asked()
	s.types("a\n") // the third call is the same, and is not asked about
	require.Contains(t, s.asked(), "  path      | b\n")
	s.types("\n")
	said := s.left()
	require.Equal(t, 1, exitCode(t, s.cmd), "nothing more is asked: the fifth call is approved like the third")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	require.Len(t, lines, 5, said)
	require.Equal(t, "The tool handler threw an error during execution. stage_file was declined: not that one. Do not repeat this call; do it another way, or ask the user.", lines[0])
	for _, i := range []int{1, 2, 4} {
		require.Regexp(t, `^media m-\w+: "a", text/plain; charset=utf-8, 4 bytes, untrusted$`, lines[i])
	}
	require.Contains(t, lines[3], "declined: a person said no")
}

// TestAskWithoutATerminal: where there is nobody to ask, nothing starts.
func TestAskWithoutATerminal(t *testing.T) {
	cmd, stdout, stderr := start(t, "tool", "--gate", "ask", "--workspace", t.TempDir(), "list_directory", `{"path":""}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session without a terminal
	require.NoError(t, cmd.Start())
	require.Equal(t, statusTrouble, exitCode(t, cmd))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "sallyport: --gate ask: a terminal to ask on: ")
	require.Contains(t, stderr.String(), "hint: there is nobody to ask without a terminal")
}

// TestAskHangUp: a terminal that goes away while a question is on it is no approval.
func TestAskHangUp(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one\n"), 0o644))
	s := sit(t, "--workspace", dir, "stage_file", `{"path":"a"}`)
	s.asked()
	require.NoError(t, s.tty.Close())
	require.Empty(t, s.left())
	require.NotEqual(t, 0, exitCode(t, s.cmd))
}

// TestAskShowsTheChange: a save is shown as what it would change, "always" holds for that change alone, and what was shown is what is
// saved.
func TestAskShowsTheChange(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	file := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(file, []byte("one\ntwo\n"), 0o644))
	s := sit(t, "--session", "--workspace", dir, "--allow-write", dir, "--engine", "goja")
	id := func() string {
		words := strings.Fields(s.reads())
		require.Equal(t, "media", words[0])
		return strings.TrimSuffix(words[1], ":")
	}
	s.calls(`stage_file {"path":"notes.txt"}`)
	s.asked()
	s.types("y\n")
	staged := id()
	edit := func(text string) string {
		s.calls(`media_replace {"media_id":"` + staged + `","old":"two","new":"` + text + `"}`)
		return id() // nobody is asked: nothing on disk changes
	}
	first := edit(`2\u001b[31m\napprove? y`)
	s.calls(`save_media {"media_id":"` + first + `","path":"notes.txt"}`)
	require.Contains(t, s.asked(), "            |  one\n            | -two\n            | +2\\x1b[31m\n            | +approve? y\n")
	s.types("n keep the two\n")
	require.Contains(t, s.reads(), "save_media was declined: keep the two.")

	second := edit("2")
	s.calls(`save_media {"media_id":"` + second + `","path":"new.txt"}`)
	require.Contains(t, s.asked(), "  change    | a new file\n")
	s.types("a\n")
	require.Equal(t, "Saved new.txt (6 bytes)", s.reads())
	s.calls(`save_media {"media_id":"` + second + `","path":"new.txt"}`)
	require.Contains(t, s.asked(), "  change    | none: the file is the same already\n", "it is another change than the one that is always approved")
	require.NoError(t, os.WriteFile(file, []byte("something else\n"), 0o644))
	s.types("y\n")
	require.Equal(t, "Saved new.txt (6 bytes)", s.reads())
	b, err := os.ReadFile(filepath.Join(dir, "new.txt"))
	require.NoError(t, err)
	require.Equal(t, "one\n2\n", string(b))
	require.NoError(t, s.in.Close())
	require.Empty(t, s.left())
	require.Equal(t, 1, exitCode(t, s.cmd))
}
