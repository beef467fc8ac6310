package shell_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sallyport/policy"
	"sallyport/shell"
)

// TestMain runs the tests, or one of the children that the tests put into a jail: the test binary is also the program
// that is confined. When everything is done no goroutine may be left (R164).
func init() { needsBoundary = needBoundary }

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childWord {
		os.Exit(runChild(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// boundary says why jails cannot be made on this machine, or nil. It runs a confined command: a look at feature files
// would be no proof (R309).
var boundary = sync.OnceValue(func() error {
	ctx := context.Background()
	box, err := shell.Open(ctx, policy.Policy{}, shell.Options{})
	if err != nil {
		return err
	}
	defer box.Close()
	cmd := box.Command(ctx, "echo", "confined")
	cmd.Dir = "/"
	out, err := cmd.Output()
	if err == nil && string(out) != "confined\n" {
		err = errors.New("a confined echo printed: " + string(out))
	}
	return err
})

// needBoundary ends a test where no jail can be made because the kernel refuses. A jail that was made and is not what it
// should be is a fault of ours, and no reason to skip.
func needBoundary(t testing.TB) {
	t.Helper()
	err := boundary()
	if err == nil {
		return
	}
	var e *shell.Error
	missing := errors.As(err, &e) && e.Layer != "" && (e.Code == shell.CodeDependencyMissing || slices.Contains(refusals, e.Errno))
	require.True(t, missing, "no jail can be made: %v", err)
	unavailable(t, "no jail can be made here: %v", err)
}

// refusals are how a kernel says that this machine, container or user may not make namespaces or mounts.
var refusals = []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS, syscall.EOPNOTSUPP}

// unavailable ends a test that cannot run here: a skip on a laptop, a failure where the evidence is asked for (R308).
func unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("SALLYPORT_LIVE") == "require" {
		t.Fatalf("SALLYPORT_LIVE=require: "+format, args...)
	}
	t.Skipf("SKIPPED, so nothing is shown: "+format, args...)
}

// open opens a sandbox that the test closes at its end.
func open(t testing.TB, p policy.Policy, o shell.Options) *shell.Sandbox {
	t.Helper()
	needBoundary(t)
	if o.Warm == 0 {
		o.Warm = -1 // tests count processes and descriptors; those of jails that wait are the subject of their own
	}
	box, err := shell.Open(t.Context(), p, o)
	require.NoError(t, err)
	t.Cleanup(func() { closeSoon(t, box) })
	return box
}

// closeSoon closes a sandbox; one that cannot be closed must not hold up all tests.
func closeSoon(t testing.TB, box *shell.Sandbox) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- box.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Error("Close does not return")
	}
}

// writable is a policy under which dirs can be written.
func writable(dirs ...string) policy.Policy {
	return policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(dirs...)}}
}

// command makes a command in "/", which exists in every jail.
func command(t testing.TB, box *shell.Sandbox, name string, args ...string) *shell.Cmd {
	cmd := box.Command(t.Context(), name, args...)
	cmd.Dir = "/"
	return cmd
}

// script makes a command that runs a shell script.
func script(t testing.TB, box *shell.Sandbox, text string, args ...string) *shell.Cmd {
	return command(t, box, "sh", append([]string{"-c", text, "sh"}, args...)...)
}

// output runs a command that must end with exit code 0 and write nothing to standard error.
func output(t testing.TB, cmd *shell.Cmd) string {
	t.Helper()
	var stderr writerBuffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Empty(t, stderr.String())
	require.Equal(t, 0, cmd.Completion.ExitCode, "%+v", *cmd.Completion)
	return string(out)
}

// code asserts that err is of the package's own type with the given code, and gives it.
func code(t testing.TB, err error, want shell.Code) *shell.Error {
	t.Helper()
	require.Error(t, err)
	var e *shell.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Code, "%v", err)
	require.ErrorIs(t, err, &shell.Error{Code: want})
	require.Equal(t, want, shell.CodeOf(err))
	require.NotEmpty(t, e.Error())
	require.NotContains(t, e.Error(), "\n", "an error is one line")
	return e
}
