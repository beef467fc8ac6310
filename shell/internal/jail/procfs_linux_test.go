package jail

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestProcFiles: what is read of /proc is what is there.
func TestProcFiles(t *testing.T) {
	fields, err := statusFields("/proc/self/status")
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(os.Getpid()), fields["Pid"])
	require.Positive(t, kilobytes(fields["VmRSS"]))
	threads, err := statusNumber("/proc/self/status", "Threads")
	require.NoError(t, err)
	require.Positive(t, threads)
	_, err = statusNumber("/proc/self/status", "NoSuchLine")
	require.Error(t, err)

	pids, err := processes()
	require.NoError(t, err)
	require.Contains(t, pids, os.Getpid())

	link, err := readlink("/proc/self/ns/mnt")
	require.NoError(t, err)
	require.Regexp(t, `^mnt:\[\d+\]$`, link)

	// More than one buffer.
	environ, err := readFile("/proc/self/maps")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(environ), "\n"))

	for _, err := range []error{
		func() error { _, err := readFile("/proc/self/no-such"); return err }(),
		func() error { _, err := statusFields("/proc/self/no-such"); return err }(),
		func() error { _, err := readlink("/proc/self/no-such"); return err }(),
		func() error { _, err := numericEntries("/proc/self/no-such"); return err }(),
	} {
		require.ErrorIs(t, err, unix.ENOENT)
	}
}

// TestManyEntries: a directory that does not fit into one buffer is listed whole.
func TestManyEntries(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		require.NoError(t, os.WriteFile(dir+"/"+strconv.Itoa(1_000_000+i), nil, 0o600))
		if i%10 == 0 {
			require.NoError(t, os.WriteFile(dir+"/no-number-"+strconv.Itoa(i), nil, 0o600))
		}
	}
	numbers, err := numericEntries(dir)
	require.NoError(t, err)
	require.Len(t, numbers, 2000)
}

// TestKilobytes: lines of a status file, and those that a dead process does not have.
func TestKilobytes(t *testing.T) {
	for line, want := range map[string]int64{"120 kB": 120, "0 kB": 0, "": 0, "kB": 0, "7": 7} {
		require.Equal(t, want, kilobytes(line), "%q", line)
	}
}

// TestMaskedEntries: what is covered of /proc and /sys is named once, with a reason.
func TestMaskedEntries(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range append(append([]masked{}, maskedProc...), maskedSys...) {
		require.NotEmpty(t, m.why, m.path)
		require.False(t, seen[m.path], m.path)
		seen[m.path] = true
	}
	for _, path := range []string{"kcore", "kmsg", "keys", "sysrq-trigger", "timer_list", "acpi", "scsi"} {
		require.True(t, seen[path], path)
	}
	for _, m := range maskedProc {
		require.False(t, strings.HasPrefix(m.path, "/"))
	}
	for _, m := range maskedSys {
		require.True(t, strings.HasPrefix(m.path, "/sys/"))
	}
}

// TestWatchWithoutLimit: no limit, no watch and no breach.
func TestWatchWithoutLimit(t *testing.T) {
	limit, seen := startWatches(&Plan{}).breach()
	require.Empty(t, limit)
	require.Zero(t, seen)
}

// TestPreadAll: a file that is shorter than it was is an error, not an endless loop.
func TestPreadAll(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("0123456789")
	require.NoError(t, err)
	b, err := preadAll(int(f.Fd()), 10)
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(b))
	_, err = preadAll(int(f.Fd()), 11)
	require.ErrorIs(t, err, unix.ENODATA)
	_, err = preadAll(-1, 1)
	require.ErrorIs(t, err, unix.EBADF)
}
