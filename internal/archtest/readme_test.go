package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeEmbedding takes the README at its word: its program, in a module of its own that points to this checkout,
// builds and prints what it says (R1, R33).
func TestReadmeEmbedding(t *testing.T) {
	readme := files(t)["README.md"]
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(readme)
	require.NotNil(t, program, "the README shows no program")
	require.Contains(t, squeeze(readme), "go mod edit -require sallyport@v0.0.0 -replace sallyport=../sallyport && go mod tidy")

	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program[1]), 0o644))
	inDir(t, dir, "go", "mod", "init", "embedder")
	inDir(t, dir, "go", "mod", "edit", "-require", "sallyport@v0.0.0", "-replace", "sallyport="+checkout)
	inDir(t, dir, "go", "mod", "tidy")
	binary := filepath.Join(dir, "embedder")
	inDir(t, dir, "go", "build", "-o", binary, ".")

	out, err := exec.Command(binary).CombinedOutput()
	if runtime.GOOS != "linux" {
		require.Error(t, err, "nothing can be confined on %s", runtime.GOOS)
		return
	}
	if err != nil && os.Getenv("SALLYPORT_LIVE") != "require" && !confines(t) {
		t.Skipf("no command can be confined here (%v): %s", err, out)
	}
	require.NoError(t, err, "%s", out)
	require.True(t, strings.HasSuffix(string(out), "denied\n"), "%s", out)
}

// confines says whether commands can be confined here at all, as the doctor finds it.
func confines(t *testing.T) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/sallyport", "doctor")
	cmd.Dir = root
	return cmd.Run() == nil
}

// TestReadmeCommands: the two commands of the README are what the Makefile and the tree have.
func TestReadmeCommands(t *testing.T) {
	all := files(t)
	require.Contains(t, all["README.md"], "\nmake demo")
	require.Contains(t, all["README.md"], "\nmake test")
	require.Contains(t, all["Makefile"], "\ntest: guest\n\t$(GO) test ./...\n")
	require.Contains(t, all["Makefile"], "\ndemo: guest\n\t$(GO) run ./cmd/demo\n")
	require.Contains(t, all, "cmd/demo/main.go")
}

// inDir runs a command in a directory, without the network.
func inDir(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}
