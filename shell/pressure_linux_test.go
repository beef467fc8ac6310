package shell_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/shell"
)

// pressureSource makes every first process work on one processor with the garbage collector always running. The package
// sorts before package jail, so it is initialised earlier, and the jail's life begins under pressure.
const pressureSource = `package aaa

import "runtime"

func init() {
	runtime.GOMAXPROCS(1)
	go func() {
		for {
			runtime.GC()
		}
	}()
}
`

// TestSpawnUnderPressure: nothing is handed over up to the command's first execve, so the thread that forks never waits for
// one that cannot run: a thousand commands start and write on one processor while the garbage collector runs.
func TestSpawnUnderPressure(t *testing.T) {
	helper := os.Getenv(pressureVariable)
	if helper == "" {
		helper = buildPressure(t)
	}
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{Helper: helper})
	began := time.Now()
	for range 1000 / slowness {
		cmd := script(t, box, `echo x >"$1/f"`, dir)
		require.NoError(t, cmd.Run())
		require.Equal(t, 0, cmd.Completion.ExitCode)
	}
	t.Logf("%v for %d", time.Since(began), 1000/slowness)
}

// pressureVariable names the built helper, for a run that has no go command.
const pressureVariable = "SALLYPORT_TEST_PRESSURE"

func buildPressure(t *testing.T) string {
	t.Helper()
	return buildOverlaid(t, map[string]string{
		"internal/helperfortests/main.go": "package main\n\nimport (\n\t_ \"sallyport/internal/aaa\"\n\t_ \"sallyport/shell\"\n)\n\nfunc main() {}\n",
		"internal/aaa/aaa.go":             pressureSource,
	})
}
