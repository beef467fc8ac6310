package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// switchProgram leaves every layer out.
const switchProgram = `package main

import (
	"context"
	"fmt"
	"os"

	"sallyport/policy"
	"sallyport/shell"
)

func main() {
	box, err := shell.Open(context.Background(), policy.Policy{}, shell.OnlyTheseLayersForTests(shell.Options{}))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out, err := box.Command(context.Background(), "grep", "NoNewPrivs", "/proc/self/status").Output()
	fmt.Print(string(out), err)
}
`

// TestReleaseBuildLacksTheSwitches: a program that leaves layers out compiles under the build tag for tests and for
// nobody else. That the jail itself refuses any set but the full one is tested in its own package.
func TestReleaseBuildLacksTheSwitches(t *testing.T) {
	if os.Getenv(envBase) != "" {
		t.Skip("as root the same: the compiler does not look at who asks")
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	// An overlay puts the program into the module without a file in the tree.
	overlay := filepath.Join(dir, "overlay.json")
	program := filepath.Join(dir, "main.go")
	place := filepath.Join(here, "switchprogram", "main.go")
	require.NoError(t, os.WriteFile(program, []byte(switchProgram), 0o644))
	require.NoError(t, os.WriteFile(overlay, []byte(`{"Replace": {"`+place+`": "`+program+`"}}`), 0o644))
	build := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-overlay", overlay, "-o", filepath.Join(dir, "program")}, args...), "./switchprogram")...)
		cmd.Dir = here
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := build()
	require.Error(t, err)
	require.Contains(t, out, "undefined: shell.OnlyTheseLayersForTests")
	out, err = build("-tags", "sallyport_layers")
	require.NoError(t, err, "the program itself is wrong: %s", out)
}
