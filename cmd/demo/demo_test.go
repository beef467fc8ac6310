package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"sallyport/compartment/goja"
	"sallyport/internal/terminal"
	"sallyport/policy"
	"sallyport/shell"
)

// TestMain makes this test binary answer to the name demo too.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"demo": main})
}

// needBoundary skips, or fails under SALLYPORT_LIVE=require, where no command can be confined.
func needBoundary(t *testing.T) {
	t.Helper()
	box, err := shell.Open(t.Context(), policy.Policy{}, shell.Options{})
	if err == nil {
		require.NoError(t, box.Close())
		_, err = exec.LookPath("git")
	}
	if err != nil && os.Getenv("SALLYPORT_LIVE") == "require" {
		t.Fatalf("the tour cannot run here: %v", err)
	}
	if err != nil {
		t.Skipf("the tour cannot run here: %v", err)
	}
}

// tourHere runs the tour in this process, with changes made to it first, and gives what it printed.
func tourHere(t *testing.T, change func(*tour)) (unexpected []string, screenText string) {
	t.Helper()
	place, err := newPlace()
	require.NoError(t, err)
	defer func() { require.NoError(t, place.remove()) }()
	var out bytes.Buffer
	tour := &tour{screen: newScreen(&out), place: place}
	tour.ask = tour.decide
	change(tour)
	defer tour.close()
	unexpected, err = tour.run(t.Context())
	require.NoError(t, err, "%s", out.String())
	return unexpected, out.String()
}

// TestTour is the tour as a build sees it: every step ends as it should, it is quick, it fits on a screen of 80 columns,
// draws no colours into a pipe, and leaves nothing behind.
func TestTour(t *testing.T) {
	needBoundary(t)
	tmp := t.TempDir()
	cmd, out := demoCommand(t, tmp)
	begin := time.Now()
	require.NoError(t, cmd.Run(), "%s", out)
	require.Less(t, time.Since(begin), 10*time.Second)

	text := out.String()
	require.Contains(t, text, "12 of 12 steps ended as they should.")
	for _, s := range []string{"Make a git repository", "Add and commit", "Read the secret", "Plant a git hook", "Run for ever"} {
		require.Contains(t, text, s)
	}
	require.Equal(t, 5, strings.Count(text, "\n    explain says:"), "each denial by a rule of the policy is explained by it")
	require.Contains(t, text, "denyRead")
	require.NotContains(t, text, secret)
	require.NotContains(t, text, "\x1b")
	for _, line := range strings.Split(text, "\n") {
		require.LessOrEqual(t, len([]rune(line)), 80, line)
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// demoCommand makes the demo as a process of its own. Its output is no terminal, so a person who runs the tests is not
// asked.
func demoCommand(t *testing.T, tmp string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = []string{"demo"}
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// TestTourNoticesAnOpenDoor: with a policy that denies nothing, the steps that count on a denial are called out. Without
// this the tour could not fail.
func TestTourNoticesAnOpenDoor(t *testing.T) {
	needBoundary(t)
	unexpected, text := tourHere(t, func(tour *tour) {
		tour.place.policy = policy.Policy{Filesystem: policy.Filesystem{Disabled: true}, Network: policy.Network{Unrestricted: true}}
	})
	for _, title := range []string{
		"Read the secret", "Write outside the repository", "Plant a git hook", "Reach another port of the host", "Look for anything else",
	} {
		require.Contains(t, strings.Join(unexpected, "\n"), title)
	}
	require.Contains(t, text, "IT SHOULD HAVE BEEN denied, but it worked")
	require.Contains(t, text, fmt.Sprintf("%d of 12 steps did not end as they should", len(unexpected)))
}

// answering is a person who gives the same answer to every question.
type answering struct {
	answer    string
	questions int
}

func (a *answering) Write(b []byte) (int, error) {
	a.questions += bytes.Count(b, []byte("approve?"))
	return len(b), nil
}

func (a *answering) Read(b []byte) (int, error) {
	if a.answer == "" {
		return 0, io.EOF
	}
	return copy(b, a.answer), nil
}

func (a *answering) Close() error { return nil }

func askPerson(a *answering) func(*tour) {
	return func(tour *tour) {
		tour.person = terminal.NewPerson(a)
		tour.ask = tour.person.Gate
	}
}

// TestTourWithoutTheGuest: where there is nothing for the engine wasm to host, every step still ends as it should, on the
// other engine, and the tour says which and what it does not promise.
func TestTourWithoutTheGuest(t *testing.T) {
	needBoundary(t)
	unexpected, text := tourHere(t, func(tour *tour) { tour.engine = goja.NewWithoutMemoryLimit() })
	require.Empty(t, unexpected, text)
	require.Contains(t, text, "goja, for the scripts, since the guest of the")
	require.Contains(t, text, "What the engine goja promises about the scripts")
	require.Contains(t, text, "not promised: a script can take this process down")
}

// TestTourAsksAPerson: every call is asked; who approves everything still sees every denial.
func TestTourAsksAPerson(t *testing.T) {
	needBoundary(t)
	yes := &answering{answer: "y\n"}
	unexpected, text := tourHere(t, askPerson(yes))
	require.Empty(t, unexpected, text)
	require.Equal(t, 12+3, yes.questions, "the steps, and the reads of the scripts")
}

// TestTourRefusedByAPerson: no, and no answer at all, run nothing, and the tour says that it showed nothing.
func TestTourRefusedByAPerson(t *testing.T) {
	needBoundary(t)
	for _, answer := range []string{"n\n", ""} {
		unexpected, text := tourHere(t, func(tour *tour) {
			askPerson(&answering{answer: answer})(tour)
			t.Cleanup(func() { require.Empty(t, tour.report.Layers, "a command ran") })
		})
		require.Len(t, unexpected, 11, "all but the call that should be refused: %s", text)
		require.Contains(t, text, "this step was not shown")
	}
}

// TestDeciderDeniesByDefault: it approves the tour's calls word for word.
func TestDeciderDeniesByDefault(t *testing.T) {
	place, err := newPlace()
	require.NoError(t, err)
	defer func() { require.NoError(t, place.remove()) }()
	tour := &tour{place: place}
	known := knownCalls(place)
	require.Len(t, known, 11+3)
	for _, c := range known {
		v, err := tour.decide(context.Background(), c)
		require.NoError(t, err)
		require.True(t, v.Approved)
		for _, other := range []string{string(c.Args) + " ", strings.ToUpper(string(c.Args)), "{}", ""} {
			c.Args = []byte(other)
			v, err := tour.decide(context.Background(), c)
			require.NoError(t, err)
			require.False(t, v.Approved, other)
		}
	}
}
