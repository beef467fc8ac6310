package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// helperVariable names a helper program that was built already: an ordinary user's run has no Go command.
const helperVariable = "SALLYPORT_TEST_HELPER"

// helperSource is the whole program: importing the package is what makes it a helper.
const helperSource = `package main

import _ "sallyport/shell"

func main() { panic("it is only ever started as the first process of a jail") }
`

// buildHelper builds the program. Its source is laid over the module's tree, so that nothing is written there.
func buildHelper(t *testing.T) string {
	t.Helper()
	if built := os.Getenv(helperVariable); built != "" {
		return built
	}
	return buildOverlaid(t, map[string]string{"internal/helperfortests/main.go": helperSource})
}

// buildOverlaid builds the program internal/helperfortests out of sources that are laid over the module's tree.
func buildOverlaid(t *testing.T, sources map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		unavailable(t, "no go command to build a helper with: %v", err)
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := workspace(t)
	replace := map[string]string{}
	for name, text := range sources {
		write(t, filepath.Join(dir, name), text, 0o644)
		replace[filepath.Join(root, name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	write(t, filepath.Join(dir, "overlay.json"), string(overlay), 0o644)
	program := filepath.Join(dir, "helper")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./internal/helperfortests")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// TestHelper: another program that imports the package can be the first process of the jails, and everything is as
// with the running one.
func TestHelper(t *testing.T) {
	helper := buildHelper(t)
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{Helper: helper})
	require.Equal(t, "full", box.Report().Tier)
	for range 2 {
		cmd := command(t, box, "cat")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var programs []string
		for _, pid := range children() {
			if to, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
				programs = append(programs, to)
			}
		}
		if os.Geteuid() == 0 { // it is undumpable, so an ordinary user cannot look
			require.Equal(t, []string{helper}, programs)
		}
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}
	require.Equal(t, "ran\n", output(t, script(t, box, `echo ran >"$1/f"; cat "$1/f"`, dir)))
}

// TestFirstProcessProgram: the program that is made for it does everything that the tests ask of a jail, and says what it is
// for when somebody runs it.
func TestFirstProcessProgram(t *testing.T) {
	program := os.Getenv(firstProcessVariable)
	if program == "" {
		program = buildFirstProcess(t)
	}
	dir := workspace(t)
	box := open(t, writable(dir), shell.Options{Helper: program})
	require.Equal(t, "full", box.Report().Tier)
	require.Equal(t, "ran\n", output(t, script(t, box, `echo ran >"$1/f"; cat "$1/f"; (echo x >"$1/.bashrc") 2>/dev/null && echo "a mandatory name"; true`, dir)))
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "shell.Options.Helper")
}

// firstProcessVariable is as helperVariable.
const firstProcessVariable = "SALLYPORT_TEST_FIRST_PROCESS"

func buildFirstProcess(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		unavailable(t, "no go command to build the program with: %v", err)
	}
	program := filepath.Join(workspace(t), "firstprocess")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./firstprocess")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// TestHelperInsideWritableTree: a command cannot replace the program that the next command's jail is started from.
func TestHelperInsideWritableTree(t *testing.T) {
	dir := workspace(t)
	helper := filepath.Join(dir, "bin", "helper")
	write(t, helper, read(t, buildHelper(t)), 0o755)
	box := open(t, writable(dir), shell.Options{Helper: helper})
	for _, attempt := range []string{`(: >"$1/bin/helper")`, `rm -f "$1/bin/helper"`, `mv "$1/bin/helper" "$1/bin/x"`, `mv "$1/bin" "$1/away"`, `ln -f /bin/true "$1/bin/helper"`} {
		out, err := script(t, box, attempt+` 2>/dev/null && echo done; echo tried`, dir).Output()
		require.NoError(t, err)
		require.Equal(t, "tried\n", string(out), attempt)
	}
	require.Equal(t, "fine\n", output(t, command(t, box, "echo", "fine")))
}

// TestBadHelper: a program that is not there, or is no helper, is a typed error and not a hang.
func TestBadHelper(t *testing.T) {
	dir := workspace(t)
	write(t, filepath.Join(dir, "plain"), "text", 0o644)
	write(t, filepath.Join(dir, "text"), "no program", 0o755)
	for _, tc := range []struct {
		name, helper string
		want         shell.Code
	}{
		{"absent", filepath.Join(dir, "absent"), shell.CodeDependencyMissing},
		{"not executable", filepath.Join(dir, "plain"), shell.CodeFailed},
		{"no program", filepath.Join(dir, "text"), shell.CodeFailed},
		{"directory", dir, shell.CodeFailed},
		{"ends well", "/bin/true", shell.CodeFailed},
		{"ends badly", "/bin/false", shell.CodeFailed},
		{"prints", "/bin/echo", shell.CodeFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := refused(t, policy.Policy{}, shell.Options{Helper: tc.helper})
			require.Equal(t, tc.want, e.Code, "%v", e)
			require.NotEmpty(t, e.Error())
		})
	}
}

// TestHelperThatHangs: the context of Open bounds the wait for a program that says nothing.
func TestHelperThatHangs(t *testing.T) {
	needBoundary(t)
	yes, err := exec.LookPath("yes") // it never ends, and reads nothing
	if err != nil {
		unavailable(t, "no program that hangs: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = shell.Open(ctx, policy.Policy{}, shell.Options{Helper: yes})
	code(t, err, shell.CodeFailed)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	noChildren(t)
}
