package shell_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// ordinaryUser is a user and group that no system has given to anybody.
const ordinaryUser = 23458

// TestAsOrdinaryUser runs all tests again as an ordinary user, without a home directory and without any variable of
// root's: the boundary works for both. Started by an ordinary user the tests are that already.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("this is an ordinary user's run already")
		return
	}
	dir := visible(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "scratch"), 0o755))
	tmp, err := os.MkdirTemp("/tmp", "sallyport-test-")
	require.NoError(t, err)
	defer os.RemoveAll(tmp)
	for _, d := range []string{filepath.Join(dir, "scratch"), tmp} {
		require.NoError(t, os.Chown(d, ordinaryUser, ordinaryUser))
	}
	program := filepath.Join(dir, "shell.test")
	copyProgram(t, "/proc/self/exe", program)
	helper := filepath.Join(dir, "helper")
	copyProgram(t, buildHelper(t), helper)
	firstProcess := filepath.Join(dir, "firstprocess")
	copyProgram(t, buildFirstProcess(t), firstProcess)
	pressure := filepath.Join(dir, "pressure")
	copyProgram(t, buildPressure(t), pressure)
	foreign := filepath.Join(dir, "foreign")
	require.NoError(t, os.Mkdir(foreign, 0o755))
	git(t, foreign, "init", "-q")
	require.NoError(t, filepath.WalkDir(foreign, openUp))

	args := []string{"-test.v", "-test.count=1", "-test.timeout=300s", "-test.skip=^TestAsOrdinaryUser$|^TestOtherPlatforms$"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = filepath.Join(dir, "scratch")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "SALLYPORT_LIVE=" + os.Getenv("SALLYPORT_LIVE"),
		scratchVariable + "=" + filepath.Join(dir, "scratch"), helperVariable + "=" + helper, firstProcessVariable + "=" + firstProcess, pressureVariable + "=" + pressure, foreignVariable + "=" + foreign,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	require.NoError(t, err, "%s", interesting(out.String()))

	// A run that tested nothing would end well too.
	require.True(t, strings.HasSuffix(out.String(), "PASS\n"), "%s", interesting(out.String()))
	require.Greater(t, strings.Count(out.String(), "\n--- PASS: "), 60)
	require.Contains(t, out.String(), "--- PASS: TestReportIsTrue ")
	if skipped := regexp.MustCompile(`(?m)^\s*--- SKIP.*`).FindAllString(out.String(), -1); len(skipped) > 0 {
		unavailable(t, "as an ordinary user: %s", interesting(out.String()))
	}
}

// interesting are the lines of a verbose run that do not say that something is well.
func interesting(out string) string {
	return regexp.MustCompile(`(?m)^(=== |\s*--- PASS: ).*\n`).ReplaceAllString(out, "")
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.NoError(t, os.Chmod(to, 0o755))
}
