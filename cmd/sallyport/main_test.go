package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"sallyport/compartment/wasm/guest"
)

// TestMain makes this test binary answer to the name sallyport too: in scripts, and for start.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sallyport": main})
}

// TestScripts runs what needs no kernel boundary.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, "testdata"))
}

// TestGuestScripts runs what needs the JavaScript engine of compartment/wasm.
func TestGuestScripts(t *testing.T) {
	needGuest(t)
	testscript.Run(t, params(t, "testdata/guest"))
}

// TestLiveScripts runs what only a really confined command can show (R304, R308).
func TestLiveScripts(t *testing.T) {
	needBoundary(t)
	testscript.Run(t, params(t, "testdata/live"))
}

func params(t *testing.T, dir string) testscript.Params {
	cache := t.TempDir() // compiled code is kept for all scripts of a run, and never where the user has theirs
	return testscript.Params{
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", cache)
			return nil
		},
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": scriptStatus,
			"empty":  scriptEmpty,
			"agent":  scriptAgent,
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition")
		},
	}
}

// scriptStatus runs a program and compares its exit status: status 7 sallyport run -- sh -c 'exit 7'.
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM [ARG]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		if got = exit.ExitCode(); !exit.Exited() {
			ts.Fatalf("%s was ended by %v", args[1], exit)
		}
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// scriptEmpty fails unless each of the named streams of the last command is empty: empty stdout stderr.
func scriptEmpty(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		if text := ts.ReadFile(name); (text == "") == neg {
			ts.Fatalf("%s is %q", name, text)
		}
	}
}

// self is the path of this test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// start makes the command sallyport of this binary; it is not running yet.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), self(t))
	cmd.Args = append([]string{"sallyport"}, args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// boundary runs one confined command, once for all tests: a file check would not know (R309).
var boundary = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path)
	cmd.Args = []string{"sallyport", "run", "--", "echo", "it ran"}
	out, err := cmd.CombinedOutput()
	return string(out), err
})

// needGuest skips, or fails under SALLYPORT_LIVE=require, where there is no guest to host.
func needGuest(t *testing.T) {
	t.Helper()
	_, _, err := guest.Find(t.TempDir()) // scripts have a cache of their own, so only one that is built in will do
	switch {
	case err == nil:
	case errors.Is(err, guest.ErrAbsent) && os.Getenv("SALLYPORT_LIVE") != "require":
		t.Skipf("SKIPPED: %v; bring it: %s", err, guest.Commands[0])
	default:
		t.Fatalf("%v; bring it: %s", err, guest.Commands[0])
	}
}

// needBoundary skips, or fails under SALLYPORT_LIVE=require, where no command can be confined.
func needBoundary(t *testing.T) {
	t.Helper()
	out, err := boundary()
	if err == nil && out == "it ran\n" {
		return
	}
	if os.Getenv("SALLYPORT_LIVE") == "require" {
		t.Fatalf("no command can be confined here (%v): %s", err, out)
	}
	t.Skipf("no command can be confined here (%v): %s", err, out)
}
