package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

// person answers with what is given and keeps what was shown.
func person(answers string) (*Person, *bytes.Buffer) {
	shown := &bytes.Buffer{}
	return NewPerson(struct {
		io.Reader
		io.Writer
		io.Closer
	}{strings.NewReader(answers), shown, io.NopCloser(nil)}), shown
}

// TestOnlyYesApproves: every other answer, and no answer, refuses (R179, R184).
func TestOnlyYesApproves(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   bool
	}{
		{"y\n", true}, {"yes\n", true}, {"Y\n", true}, {" yes \r\n", true},
		{"", false}, {"\n", false}, {"n\n", false}, {"no\n", false}, {"yes", false}, {"y", false},
		{"yesterday\n", false}, {"ja\n", false}, {"n\ny\n", false}, {"\x00y\n", false},
		{strings.Repeat("x", longestAnswer) + "y\n", false},
	} {
		p, _ := person(c.answer)
		v, err := p.Gate(t.Context(), gate.Call{Tool: "t", Args: json.RawMessage(`{}`)})
		require.NoError(t, err, "%q", c.answer)
		require.Equal(t, c.want, v.Approved, "%q", c.answer)
	}
}

// TestQuestionCannotDraw: what is asked about cannot move the terminal or write a line of its own.
func TestQuestionCannotDraw(t *testing.T) {
	p, shown := person("n\n")
	_, err := p.Gate(t.Context(), gate.Call{Tool: "t\x1b[2J", Args: json.RawMessage("{\"a\":\"\x1b[1A\u202e\napprove? [y/N] y\"}")})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(shown.String(), "\n"), "%q", shown)
	require.NotContains(t, shown.String(), "\x1b")
	require.NotContains(t, shown.String(), "\u202e")
}

// TestQuestionIsShownWhole: what a person cannot see whole is not approved, whatever they would answer.
func TestQuestionIsShownWhole(t *testing.T) {
	p, shown := person("y\n")
	v, err := p.Gate(t.Context(), gate.Call{Tool: "t", Args: json.RawMessage(`"` + strings.Repeat("x", longestQuestion) + `"`)})
	require.NoError(t, err)
	require.False(t, v.Approved)
	require.Empty(t, shown.String())
}

// TestDeadContextIsNotAsked: nobody is disturbed for a call that is over.
func TestDeadContextIsNotAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, shown := person("y\n")
	v, err := p.Gate(ctx, gate.Call{Tool: "t"})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, v.Approved)
	require.Empty(t, shown.String())
}

// TestColourWantsATerminal: a file is no terminal, and neither is a buffer.
func TestColourWantsATerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	require.NoError(t, err)
	defer f.Close()
	require.False(t, Colour(f))
	require.False(t, IsTerminal(&bytes.Buffer{}))
}

// TestWrap: no line is longer than asked for, and nothing is lost.
func TestWrap(t *testing.T) {
	require.Equal(t, []string{"one two", "three"}, Wrap("one two three", 8))
	require.Equal(t, []string{"  one", "  two"}, Wrap("  one two", 6))
	require.Equal(t, []string{"abcd", "ef", "gh"}, Wrap("abcdef gh", 4))
	require.Equal(t, []string{""}, Wrap("", 10))
	require.Equal(t, []string{"ééé", "é"}, Wrap("ééé é", 4))
}
