package jail

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// launch runs a program of system calls in a new process, in no namespace of its own, and gives what it sent, if
// anything, and how it ended.
func launch(t *testing.T, s *Setup) (packet []byte, status unix.WaitStatus) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	defer null.Close()
	pid, err := Launch(s, 0, Files{Socket: fds[1], Plan: int(null.Fd()), Trace: int(null.Fd()), Null: int(null.Fd())})
	require.NoError(t, err)
	unix.Close(fds[1])
	packet = make([]byte, 64)
	n, err := unix.Read(fds[0], packet)
	require.NoError(t, err)
	unix.Close(fds[0])
	_, err = unix.Wait4(pid, &status, 0, nil)
	require.NoError(t, err)
	return packet[:n], status
}

// TestLaunchSaysWhatFailed: the first call that fails ends the process, and the host learns which it was, and how.
func TestLaunchSaysWhatFailed(t *testing.T) {
	after := filepath.Join(t.TempDir(), "after")
	b := newBuilder()
	b.layer = "first"
	b.do("do what works", "getpid", unix.SYS_GETPID)
	b.layer = "second"
	b.get("open what is not there", "openat", unix.SYS_OPENAT, atCWD, "/no/such/path", unix.O_PATH, 0)
	b.do("go on", "mkdirat", unix.SYS_MKDIRAT, atCWD, after, 0o755)
	require.NoError(t, b.err)
	packet, status := launch(t, &b.Setup)
	f, ok := b.ParseFailure(packet)
	require.True(t, ok)
	require.Equal(t, Failure{Layer: "second", Syscall: "openat", Errno: unix.ENOENT, Detail: "open what is not there"}, *f)
	require.True(t, status.Exited())
	require.NotZero(t, status.ExitStatus())
	require.NoDirExists(t, after, "nothing is done after a failure")
}

// TestLaunchRuns: calls are made in order with their arguments, results go into later calls, optional ones are passed
// over when what they open is not there, and the setup is not used up by running.
func TestLaunchRuns(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "there"), 0o755))
	b := newBuilder()
	for _, name := range []string{"absent", "there"} {
		b.optional(func() reg {
			return b.get("open "+name, "openat", unix.SYS_OPENAT, atCWD, filepath.Join(dir, name), unix.O_PATH, 0)
		}, func(fd reg) {
			b.do("make a directory in it", "mkdirat", unix.SYS_MKDIRAT, fd, "made", 0o755)
			b.ignore(unix.EEXIST)
			b.close(fd)
		})
	}
	b.do("remember the end", "mkdirat", unix.SYS_MKDIRAT, atCWD, filepath.Join(dir, "end"), 0o755)
	b.ignore(unix.EEXIST)
	b.do("end", "exit_group", unix.SYS_EXIT_GROUP, 7)
	require.NoError(t, b.err)
	for range 2 {
		packet, status := launch(t, &b.Setup)
		require.Empty(t, packet)
		require.Equal(t, 7, status.ExitStatus())
		require.DirExists(t, filepath.Join(dir, "there/made"))
		require.DirExists(t, filepath.Join(dir, "end"))
		require.NoDirExists(t, filepath.Join(dir, "absent"))
	}
}

// TestLaunchTogether: many at once, of one setup, do not disturb each other.
func TestLaunchTogether(t *testing.T) {
	b := newBuilder()
	fd := b.get("open the root", "openat", unix.SYS_OPENAT, atCWD, "/", unix.O_PATH, 0)
	b.close(fd)
	b.do("end", "exit_group", unix.SYS_EXIT_GROUP, 3)
	var group sync.WaitGroup
	for range 30 {
		group.Go(func() {
			packet, status := launch(t, &b.Setup)
			assert.Empty(t, packet)
			assert.Equal(t, 3, status.ExitStatus())
		})
	}
	group.Wait()
}

// TestRegistersAreGivenBack: a plan of thousands of mounts does not run out of registers, and one that does is refused
// and not cut.
func TestRegistersAreGivenBack(t *testing.T) {
	b := newBuilder()
	for range 5000 {
		b.close(b.get("open", "openat", unix.SYS_OPENAT, atCWD, "/", unix.O_PATH, 0))
	}
	require.NoError(t, b.err)
	for range 300 {
		b.get("open", "openat", unix.SYS_OPENAT, atCWD, "/", unix.O_PATH, 0)
	}
	require.Error(t, b.err)
}

// TestSetupRefusesNUL: a path with a NUL would be cut there by the kernel.
func TestSetupRefusesNUL(t *testing.T) {
	_, err := NewSetup(&Plan{Root: RootReadOnly, Network: NetworkNone, Layers: AllLayers, Ops: []Op{{Kind: Cover, Path: []byte("/a\x00b")}}}, "/proc/self/exe", 0, 0)
	require.Error(t, err)
	_, err = NewSetup(&Plan{Layers: AllLayers << 1}, "/proc/self/exe", 0, 0)
	require.Error(t, err, "unknown layers")
}

// TestFailureText: one line, with the noun in hand, the call and the errno.
func TestFailureText(t *testing.T) {
	require.Equal(t, "open /w: openat2: no such file or directory", (&Failure{Layer: "mounts", Syscall: "openat2", Errno: unix.ENOENT, Detail: "open /w"}).Error())
	require.Equal(t, "read the plan", (&Failure{Detail: "read the plan"}).Error())
	require.NoError(t, fail("mounts", "openat", nil, "open /w"))
	require.Equal(t, &Failure{Layer: "l", Syscall: "c", Errno: unix.EPERM, Detail: "d"}, asFailure(fail("l", "c", unix.EPERM, "d")))
	require.Equal(t, "d: odd", asFailure(fail("l", "c", errors.New("odd"), "d")).Detail)
	require.Equal(t, &Failure{Detail: "odd"}, asFailure(errors.New("odd")))
}

// FuzzParseFailure: the packet comes from a process that may have been broken into; whatever it says, the host does not
// panic, and takes nothing else for a failure.
func FuzzParseFailure(f *testing.F) {
	b := newBuilder()
	b.layer = "layer"
	b.do("the only step", "getpid", unix.SYS_GETPID)
	good := binary.NativeEndian.AppendUint32(nil, failureMark)
	good = binary.NativeEndian.AppendUint32(good, 0)
	good = binary.NativeEndian.AppendUint32(good, uint32(unix.EPERM))
	f.Add(good)
	f.Add([]byte(`{"Exited":{}}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packet []byte) {
		failure, ok := b.ParseFailure(packet)
		require.Equal(t, ok, failure != nil)
		if ok {
			require.Len(t, packet, 12)
			require.NotEmpty(t, failure.Error())
		}
	})
}
