package corpus

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// opening are the system calls by which a process gets a file, a connection or another program. It has no other way.
const opening = "trace=open,openat,openat2,creat,socket,connect,execve,execveat"

// TestNothingIsOpened runs the whole corpus under strace, on every engine: between the marker and the end of a child no file and no socket is opened,
// and no program is run (R253). The other arm is a child that opens one file for each attack, which must be seen.
func TestNothingIsOpened(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		skip(t, "strace is not here, so nothing is shown of what is opened")
	}
	all, err := readAttacks()
	require.NoError(t, err)
	for _, engine := range engineNames {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			opened, markers := traced(t, engine, all)
			require.Empty(t, opened)
			require.Positive(t, markers, "the attacks were not watched")
		})
		t.Run(engine+"/control", func(t *testing.T) {
			needEngine(t, engine)
			t.Setenv(childControl, "1")
			opened, _ := traced(t, engine, all[:3])
			require.Len(t, opened, 3)
			for _, line := range opened {
				require.Contains(t, line, "/etc/hosts")
			}
		})
	}
}

// traced runs attacks under strace. It returns the calls between the markers, and how many markers there were.
func traced(t *testing.T, engine string, attacks []attack) (opened []string, markers int) {
	trace := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	verdicts, err := runAll(ctx, engine, attacks, "strace", "-f", "-qq", "-A", "--seccomp-bpf", "-e", opening, "-e", "signal=none", "-o", trace)
	require.NoError(t, err)
	require.Len(t, verdicts, len(attacks))
	b, err := os.ReadFile(trace)
	require.NoError(t, err)
	return between(string(b))
}

// begins is the line with which a new child begins in a trace.
var begins = regexp.MustCompile(`execve\(.*\) = 0`)

// between are the calls that children made after they said that the attacks begin.
func between(trace string) (opened []string, markers int) {
	inside := false
	for line := range strings.SplitSeq(strings.TrimSpace(trace), "\n") {
		switch {
		case strings.Contains(line, marker):
			inside = !inside
			markers++
		case begins.MatchString(line) && strings.Contains(line, filepath.Base(os.Args[0])):
			inside = false // the child before it was ended in the middle
		case inside && strings.Contains(line, "resumed>"): // the end of a call that was seen when it began
		case inside:
			opened = append(opened, line)
		}
	}
	return opened, markers
}
