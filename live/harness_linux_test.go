package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// patience bounds everything that a test waits for.
const patience = 30 * time.Second

// bothUsers runs a test as root and as an ordinary user: for the latter this binary is started again. Started by an
// ordinary user, it runs as that one alone.
func bothUsers(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Run("root", func(t *testing.T) { confined(t, body) })
		t.Run("user", rerunAsUser)
		return
	}
	t.Run("user", func(t *testing.T) { confined(t, body) })
}

// confined runs a test where commands can be confined.
func confined(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if err := probe(); err != nil {
		if !refusedByMachine(err) { // a layer that we broke ourselves is no missing feature
			t.Fatalf("a command cannot be confined, and not because this machine forbids it: %v", err)
		}
		skip(t, "no command can be confined here: "+err.Error())
	}
	record(entry{Kind: "test", Test: t.Name()})
	body(t)
}

// refusedByMachine says whether it was the kernel that refused, by an errno, or the platform.
func refusedByMachine(err error) bool {
	var e *shell.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Errno != 0 || e.Code == shell.CodeUnsupportedEnv || e.Code == shell.CodeDependencyMissing
}

// probe finds out whether a command can be confined, by confining one (R309). What was in force goes to the report.
var probe = sync.OnceValue(func() error {
	box, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{})
	if err != nil {
		return err
	}
	defer box.Close()
	cmd := box.Command(context.Background(), "true")
	cmd.Dir = "/"
	if err := cmd.Run(); err != nil {
		return err
	}
	if cmd.Completion.ExitCode != 0 {
		return fmt.Errorf("a confined true ended with %+v", *cmd.Completion)
	}
	for _, l := range cmd.Report().Layers {
		record(entry{Kind: "enforced", Detail: fmt.Sprintf("%s: %s: %s", l.Name, l.State, l.Evidence)})
	}
	return nil
})

// rerunAsUser runs the test that t belongs to once more in a process of the ordinary user.
func rerunAsUser(t *testing.T) {
	var pattern []string
	for _, p := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+p+"$")
	}
	cmd := asUser("-test.run="+strings.Join(pattern, "/"), "-test.v", "-test.timeout=300s")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP: "+t.Name()) && !required() {
		t.Skip("skipped as an ordinary user, see above")
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as an ordinary user (%v):\n%s", err, out)
	}
}

// asUser makes a command that starts this binary again as the ordinary user.
func asUser(args ...string) *exec.Cmd {
	cmd := again(args...)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: userID, Gid: userID}}
	}
	return cmd
}

// again makes a command that starts this binary again, as the same user.
func again(args ...string) *exec.Cmd {
	cmd := exec.Command(attacker(), args...)
	cmd.Dir = base
	cmd.ExtraFiles = []*os.File{journal}
	cmd.Env = append(os.Environ(), envBase+"="+base, envReport+"=3", "HOME="+base)
	return cmd
}

// field is what an attack is aimed at, made anew for each arm.
type field struct {
	t       *testing.T
	dir     string // holds everything of the test's
	ws      string // the one directory that the policy lets be written
	outside string // a directory that the policy does not name
	secret  string // a file in outside
}

const secretText = "not yours\n"

func newField(t *testing.T) *field {
	t.Helper()
	dir, err := os.MkdirTemp(userDir(os.Getuid()), "f")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	f := &field{t: t, dir: dir, ws: filepath.Join(dir, "ws"), outside: filepath.Join(dir, "outside")}
	f.secret = filepath.Join(f.outside, "secret")
	require.NoError(t, os.Mkdir(f.ws, 0o755))
	require.NoError(t, os.Mkdir(f.outside, 0o755))
	f.write(f.secret, secretText)
	return f
}

// write makes a file with its directories.
func (f *field) write(path, text string) {
	f.t.Helper()
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.WriteFile(path, []byte(text), 0o644))
}

// writable is the policy of most attacks: the workspace may be written.
func (f *field) writable() policy.Policy {
	return policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(f.ws)}}
}

// touched says what an attacker changed in the directory outside, or "".
func (f *field) touched() string {
	f.t.Helper()
	entries, err := os.ReadDir(f.outside)
	require.NoError(f.t, err)
	b, err := os.ReadFile(f.secret)
	if err != nil {
		return err.Error()
	}
	if string(b) != secretText {
		return fmt.Sprintf("%s holds %q", f.secret, b)
	}
	if len(entries) != 1 {
		return fmt.Sprintf("%s holds %v", f.outside, entries)
	}
	return ""
}

// standIn starts a process for an attack to be aimed at.
func (f *field) standIn() int {
	f.t.Helper()
	cmd := exec.Command("sleep", "300")
	cmd.Env = []string{"STAND_IN=secret"}
	require.NoError(f.t, cmd.Start())
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill() // the attack of an open arm may have ended it
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// open opens a sandbox and closes it when the test ends.
func open(t *testing.T, p policy.Policy, o shell.Options) *shell.Sandbox {
	t.Helper()
	if o.Warm == 0 {
		o.Warm = -1 // what is left of a command is looked for, and a jail that waits for the next is not that
	}
	box, err := shell.Open(context.Background(), p, o)
	require.NoError(t, explain(err))
	t.Cleanup(func() { require.NoError(t, box.Close()) })
	return box
}

// explain adds the hints of an error to its text.
func explain(err error) error {
	if e, ok := err.(*shell.Error); ok {
		return fmt.Errorf("%s %s: %w %q", e.Code, e.Layer, err, e.Hints)
	}
	return err
}

// command makes a command that is killed when it takes too long.
func command(t *testing.T, box *shell.Sandbox, dir, name string, args ...string) *shell.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := box.Command(ctx, name, args...)
	cmd.Dir = dir
	return cmd
}

// run runs a command in a sandbox of its own and gives its exit code and what it printed.
func (f *field) run(p policy.Policy, name string, args ...string) (int, string) {
	f.t.Helper()
	return runIn(f.t, open(f.t, p, shell.Options{}), f.ws, name, args...)
}

func runIn(t *testing.T, box *shell.Sandbox, dir, name string, args ...string) (int, string) {
	t.Helper()
	cmd := command(t, box, dir, name, args...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, explain(err), "%s", out)
	require.Empty(t, cmd.Completion.Signal, "%s", out)
	return cmd.Completion.ExitCode, string(out)
}

// attack runs an attacker in the sandbox and gives its finding. An attacker that says nothing, exits with a failure or
// dies of a signal fails the test.
func attackIn(t *testing.T, box *shell.Sandbox, dir string, files []*os.File, name string, args ...string) finding {
	t.Helper()
	cmd := command(t, box, dir, attacker(), append([]string{"attack", name}, args...)...)
	cmd.ExtraFiles = files
	out, err := cmd.CombinedOutput()
	require.NoError(t, explain(err), "%s", out)
	require.Equal(t, 0, cmd.Completion.ExitCode, "signal %q, output:\n%s", cmd.Completion.Signal, out)
	found, ok := parseVerdict(string(out))
	require.True(t, ok, "the attacker gave no verdict:\n%s", out)
	return found
}

// lines splits output, without the empty line at the end.
func lines(b []byte) []string {
	return strings.Split(string(bytes.TrimSuffix(b, []byte("\n"))), "\n")
}

// eventually polls until ok, for as long as the patience lasts. It starts no goroutine: tests count those.
func eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// trimmed is output without the white space around it.
func trimmed(s string) string { return strings.TrimSpace(s) }

// atoi reads a number that the test itself wrote.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
