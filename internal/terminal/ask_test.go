package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

// about adds fixed parts to a question.
func about(parts ...Part) func(context.Context, gate.Call) ([]Part, error) {
	return func(context.Context, gate.Call) ([]Part, error) { return parts, nil }
}

// TestAskerAnswers: y and always approve, n carries its note, and everything else refuses (R179).
func TestAskerAnswers(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   gate.Verdict
	}{
		{"y\n", gate.Verdict{Approved: true}}, {"YES\n", gate.Verdict{Approved: true}}, {"a\n", gate.Verdict{Approved: true}},
		{"always\n", gate.Verdict{Approved: true}}, {"n\n", gate.Verdict{Note: saidNo}}, {"", gate.Verdict{Note: saidNo}},
		{"n use the other file\n", gate.Verdict{Note: "use the other file"}}, {"no \x1b[2J\n", gate.Verdict{Note: `\x1b[2J`}},
		{"\n", gate.Verdict{Note: saidNo}}, {"y please\n", gate.Verdict{Note: saidNo}}, {"a lot\n", gate.Verdict{Note: saidNo}}, {"y", gate.Verdict{Note: saidNo}},
	} {
		p, _ := person(c.answer)
		v, err := p.Asker(about()).Gate(t.Context(), gate.Call{Tool: "t", Args: json.RawMessage(`{}`)})
		require.NoError(t, err, "%q", c.answer)
		require.Equal(t, c.want, v, "%q", c.answer)
	}
}

// TestQuestionShowsAll is the whole of a question. Every line that is not ours has a bar before it, also where the
// terminal would have broken it.
func TestQuestionShowsAll(t *testing.T) {
	p, shown := person("n\n")
	args := json.RawMessage(`{"command":"make test\napprove? y","timeout_seconds":300,"a_rather_long_name":"é"}`)
	_, err := p.Asker(about(Part{"in", "/srv/w"}, Part{"change", "-a\n+b\n"})).Gate(t.Context(), gate.Call{Tool: "run_shell_command", Args: args})
	require.NoError(t, err)
	require.Equal(t, `sallyport asks about a call:
  tool      | run_shell_command
  a_rather_long_name
            | é
  command   | make test
            | approve? y
  timeout_seconds
            | 300
  in        | /srv/w
  change    | -a
            | +b
approve? y = yes, n and a note = no, a = always for this exact call: `, shown.String())
}

// TestQuestionCannotBeForged: no text of a call, however it is made, begins a line of the screen, moves the cursor or
// turns a line around.
func TestQuestionCannotBeForged(t *testing.T) {
	for _, text := range []string{
		"\x1b[2J\x1b[1;1Hsallyport asks about a call:", "x\r\napprove? y", "a\u2028b\u202e", strings.Repeat(" ", 66) + "approve? y = yes",
		strings.Repeat("\u4e2d", 33) + "approve?", "\x9b1A", "\u200b\u061c",
	} {
		args, err := json.Marshal(map[string]string{"command": text, text: "x"})
		require.NoError(t, err)
		p, shown := person("n\n")
		_, err = p.Asker(about()).Gate(t.Context(), gate.Call{Tool: text, Args: args})
		require.NoError(t, err)
		for _, r := range shown.String() {
			require.False(t, r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u2028\u202e\u200b\u061c", r), "%q: %q", text, r)
		}
		lines := strings.Split(shown.String(), "\n")
		for i, line := range lines[1 : len(lines)-1] {
			require.True(t, strings.HasPrefix(line, "  "), "%q: line %d: %q", text, i, line)
			require.LessOrEqual(t, len([]rune(line)), unknownWidth, "%q", line)
		}
	}
}

// TestAlwaysIsExact: what was approved always is not asked about again, and anything else is: other arguments, another tool, and the
// same call with another change behind it.
func TestAlwaysIsExact(t *testing.T) {
	p, shown := person("a\nn\nn\nn\n")
	change := "-a"
	asker := p.Asker(func(context.Context, gate.Call) ([]Part, error) { return []Part{{"change", change}}, nil })
	ask := func(tool, args string) bool {
		v, err := asker.Gate(t.Context(), gate.Call{Tool: tool, Args: json.RawMessage(args)})
		require.NoError(t, err)
		return v.Approved
	}
	require.True(t, ask("save_media", `{"path":"x"}`))
	before := shown.Len()
	require.True(t, ask("save_media", `{"path":"x"}`))
	require.Equal(t, before, shown.Len(), "nobody was asked")
	require.False(t, ask("save_media", `{"path":"y"}`))
	require.False(t, ask("open_file", `{"path":"x"}`))
	change = "-b"
	require.False(t, ask("save_media", `{"path":"x"}`))
}

// TestTooLongIsRefused: what a person cannot see whole is not approved.
func TestTooLongIsRefused(t *testing.T) {
	for _, args := range []string{strings.Repeat(`x\n`, mostLines+1), strings.Repeat("x", mostBytes)} {
		p, shown := person("y\n")
		v, err := p.Asker(about()).Gate(t.Context(), gate.Call{Tool: "t", Args: json.RawMessage(`{"command":"` + args + `"}`)})
		require.NoError(t, err)
		require.Equal(t, gate.Verdict{Note: tooLong}, v)
		require.Empty(t, shown.String())
	}
	p, shown := person("y\n")
	v, err := p.Asker(func(context.Context, gate.Call) ([]Part, error) { return nil, ErrTooLong }).Gate(t.Context(), gate.Call{})
	require.NoError(t, err)
	require.Equal(t, gate.Verdict{Note: tooLong}, v)
	require.Empty(t, shown.String())
	_, err = p.Asker(func(context.Context, gate.Call) ([]Part, error) { return nil, errors.New("no such thing") }).Gate(t.Context(), gate.Call{})
	require.ErrorContains(t, err, "no such thing")
}

// terminalPair is a terminal, and a person at it.
func terminalPair(t *testing.T) (keyboard *os.File, p *Person) {
	t.Helper()
	keyboard, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(keyboard, &pty.Winsize{Rows: 24, Cols: 60}))
	t.Cleanup(func() { require.NoError(t, errors.Join(keyboard.Close(), tty.Close())) })
	return keyboard, NewPerson(tty)
}

// await reads the screen until it shows a text.
func await(t *testing.T, keyboard *os.File, text string) string {
	t.Helper()
	var seen bytes.Buffer
	require.NoError(t, keyboard.SetReadDeadline(time.Now().Add(20*time.Second)))
	for b := make([]byte, 4096); !strings.Contains(seen.String(), text); {
		n, err := keyboard.Read(b)
		require.NoError(t, err, "%q", seen.String())
		seen.Write(b[:n])
	}
	return seen.String()
}

// TestOnATerminal: the question is as wide as the terminal, what was typed ahead is no answer, a question that is
// withdrawn takes what was begun of its answer with it, and the next one works.
func TestOnATerminal(t *testing.T) {
	keyboard, p := terminalPair(t)
	asker := p.Asker(about())
	verdicts := make(chan gate.Verdict, 1)
	ask := func(ctx context.Context) {
		v, err := asker.Gate(ctx, gate.Call{Tool: "t", Args: json.RawMessage(`{"command":"` + strings.Repeat("x", 60) + `"}`)})
		require.Equal(t, ctx.Err(), err)
		verdicts <- v
	}
	_, err := keyboard.WriteString("y\ny") // typed before anything was asked: a line, and half of one
	require.NoError(t, err)
	turn, end := context.WithCancel(t.Context())
	go ask(turn)
	require.Contains(t, await(t, keyboard, "exact call: "), "  command   | "+strings.Repeat("x", 46)+"\r\n            + "+strings.Repeat("x", 14)+"\r\n")
	require.Empty(t, verdicts, "an answer that came before the question is none")

	_, err = keyboard.WriteString("y")
	require.NoError(t, err)
	end()
	require.Equal(t, gate.Verdict{}, <-verdicts)
	await(t, keyboard, "withdrawn")

	go ask(t.Context())
	await(t, keyboard, "exact call: ")
	_, err = keyboard.WriteString("\n") // with the "y" that was typed for the question before this would be a yes
	require.NoError(t, err)
	require.Equal(t, gate.Verdict{Note: saidNo}, <-verdicts)

	go ask(t.Context())
	await(t, keyboard, "exact call: ")
	_, err = keyboard.WriteString("y\n")
	require.NoError(t, err)
	require.Equal(t, gate.Verdict{Approved: true}, <-verdicts)

	go ask(t.Context())
	await(t, keyboard, "exact call: ")
	_, err = keyboard.Write([]byte{4}) // ^D, the end of input
	require.NoError(t, err)
	require.Equal(t, gate.Verdict{Note: saidNo}, <-verdicts)
}

// TestWithdrawnWithoutInterrupt: where a read cannot be interrupted, the line that was meant for the question withdrawn answers
// no other one.
func TestWithdrawnWithoutInterrupt(t *testing.T) {
	in, type_, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	shown := make(chan string, 100)
	p := NewPerson(struct {
		io.ReadCloser
		io.Writer
	}{in, writer(func(s string) { shown <- s })})
	turn, end := context.WithCancel(t.Context())
	withdrawn := make(chan error, 1)
	go func() { _, err := p.put(turn, "first? "); withdrawn <- err }()
	require.Equal(t, "first? ", <-shown)
	end()
	require.ErrorIs(t, <-withdrawn, context.Canceled)

	answered := make(chan string, 1)
	go func() {
		line, err := p.put(t.Context(), "second? ")
		require.NoError(t, err)
		answered <- line
	}()
	require.Contains(t, <-shown, "withdrawn")
	require.Contains(t, <-shown, "press Enter")
	_, err = type_.WriteString("y\n")
	require.NoError(t, err)
	require.Equal(t, "second? ", <-shown)
	_, err = type_.WriteString("n\n")
	require.NoError(t, err)
	require.Equal(t, "n", <-answered)
}

// writer is a screen.
type writer func(string)

func (w writer) Write(b []byte) (int, error) { w(string(b)); return len(b), nil }

// TestAlwaysLooksAtTheWholeCall: calls that differ in nothing but the last byte of their last part, or in where one part
// ends and the next begins, are two.
func TestAlwaysLooksAtTheWholeCall(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, other := range [][]Part{{{"in", "/w"}, {"change", long + "b"}}, {{"in", "/w"}, {"change", long}}, {{"in", "/wc"}, {"hange", long + "a"}}} {
		parts := []Part{{"in", "/w"}, {"change", long + "a"}}
		p, _ := person("a\nn\n")
		a := p.Asker(func(context.Context, gate.Call) ([]Part, error) { return parts, nil })
		call := gate.Call{Tool: "t", Args: json.RawMessage(`{}`)}
		for _, want := range []bool{true, true} {
			v, err := a.Gate(t.Context(), call)
			require.NoError(t, err)
			require.Equal(t, want, v.Approved)
		}
		parts = other
		v, err := a.Gate(t.Context(), call)
		require.NoError(t, err)
		require.False(t, v.Approved)
	}
}
