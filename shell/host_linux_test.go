package shell_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the tests look at from the host's side, where no jail can lie to them.

// writerBuffer is a buffer that can be read while it is written.
type writerBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *writerBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *writerBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// marker is a number of seconds that no other process sleeps for: "sleep <marker>" can be found in the host's list of
// processes.
func marker() string { return fmt.Sprintf("300.%09d", rand.IntN(1e9)) }

// processesWith lists the host's processes that have text in their command line. A dead process that nobody has waited
// for has no command line.
func processesWith(text string) []int {
	return processesWhere(func(pid string) bool {
		line, err := os.ReadFile("/proc/" + pid + "/cmdline")
		return err == nil && bytes.Contains(line, []byte(text))
	})
}

// children lists the processes whose parent is this one, dead ones too.
func children() []int {
	self := fmt.Sprint(os.Getpid())
	return processesWhere(func(pid string) bool {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		return err == nil && strings.Contains(string(status), "\nPPid:\t"+self+"\n")
	})
}

// living keeps the processes that are not dead.
func living(pids []int) []int {
	return slices.DeleteFunc(pids, func(pid int) bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return err != nil || strings.Contains(string(status), "\nState:\tZ")
	})
}

func processesWhere(match func(pid string) bool) []int {
	var found []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && match(e.Name()) {
			found = append(found, pid)
		}
	}
	return found
}

// descriptors lists what the open descriptors of this process lead to.
func descriptors(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var open []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasSuffix(to, "/fd") {
			open = append(open, to)
		}
	}
	return open
}

// noNewDescriptors asserts that no descriptor stays open that was not open before. A jail is taken apart after its command
// has been waited for.
func noNewDescriptors(t testing.TB, before []string) {
	t.Helper()
	var more []string
	eventually(t, func() bool {
		left := slices.Clone(before)
		more = nil
		for _, d := range descriptors(t) {
			if i := slices.Index(left, d); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				more = append(more, d)
			}
		}
		return len(more) == 0
	}, "new are %v; before there were %v", &more, before)
}

// noChildren asserts that no process of this one stays.
func noChildren(t testing.TB) {
	t.Helper()
	eventually(t, func() bool { return len(children()) == 0 }, "processes are left")
}

// eventually polls a condition. What it waits for takes milliseconds: the bound is for a busy machine.
func eventually(t testing.TB, condition func() bool, format string, args ...any) {
	t.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(10 * time.Second); !condition(); <-poll.C {
		if time.Now().After(end) {
			t.Fatalf("not within ten seconds: "+format, args...)
		}
	}
}

// withoutGC keeps the garbage collector from closing what the code under test forgot to close.
func withoutGC(t testing.TB) {
	old := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(old) })
}

// workspace is a directory that everybody may enter, with its real path.
func workspace(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// visible is a workspace outside of the directories of which every command has its own: a command sees it unless the
// policy denies it.
func visible(t testing.TB) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	cwd, _ := os.Getwd()
	for _, parent := range []string{os.Getenv(scratchVariable), "/var/lib", home, cwd} {
		if parent == "" || strings.HasPrefix(parent, "/tmp/") || strings.HasPrefix(parent, "/var/tmp/") {
			continue
		}
		dir, err := os.MkdirTemp(parent, "sallyport-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			require.NoError(t, filepath.WalkDir(dir, openUp))
			require.NoError(t, os.RemoveAll(dir))
		})
		require.NoError(t, os.Chmod(dir, 0o755))
		dir, err = filepath.EvalSymlinks(dir)
		require.NoError(t, err)
		return dir
	}
	unavailable(t, "no directory outside of /tmp can be written; name one in %s", scratchVariable)
	return ""
}

// openUp lets the cleanup enter directories that a test closed.
func openUp(path string, d os.DirEntry, _ error) error {
	if d != nil && d.IsDir() {
		return os.Chmod(path, 0o755)
	}
	return nil
}

// scratchVariable names a directory for visible.
const scratchVariable = "SALLYPORT_TEST_SCRATCH"

// write writes a file of the host, with the directories above it.
func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode)) // whatever the umask
}

// read reads a file of the host.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// readNames lists a directory of the host.
func readNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
