package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

// warmed opens a sandbox that keeps n jails ready, and waits until they are.
func warmed(t testing.TB, p policy.Policy, n int) *shell.Sandbox {
	t.Helper()
	box := open(t, p, shell.Options{Warm: n})
	require.NoError(t, command(t, box, "true").Run())
	eventually(t, func() bool { return shell.Waiting(box) == n && len(children()) == n }, "%d jails are ready", n)
	return box
}

// A command takes a jail that waits, one takes its place, and closing the sandbox ends those that wait.
func TestJailsAreReady(t *testing.T) {
	for _, n := range []int{1, 3} {
		box := warmed(t, policy.Policy{}, n)
		waiting := children()
		cmd := command(t, box, "cat")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		require.Contains(t, waiting, shell.FirstProcess(cmd), "the command runs in a jail that had been waiting")
		eventually(t, func() bool { return shell.Waiting(box) == n }, "another one is ready")
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
		require.NoError(t, box.Close())
		require.Empty(t, children())
	}
}

// No jail waits when none is to.
func TestNoJailIsReady(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{Warm: -1})
	for range 3 {
		require.NoError(t, command(t, box, "true").Run())
		require.Zero(t, shell.Waiting(box))
	}
	noChildren(t)
}

// What one command leaves is not there for the next, though its jail was set up before: files in the private directories,
// shared memory, message queues, the host name, processes, directories, limits, the terminal.
func TestNothingOfACommandIsLeftForTheNext(t *testing.T) {
	box := warmed(t, policy.Policy{}, 2)
	const leave = `for d in /tmp /var/tmp /dev/shm; do [ -z "$(ls -A $d)" ] || echo "$d holds $(ls $d)"; echo x >$d/left; done
		[ "$(ipcs -q 2>/dev/null | grep -c 0x)" = 0 ] || echo queues; ipcmk -Q >/dev/null 2>&1
		hostname other 2>/dev/null; [ "$(uname -n)" = sallyport ] || echo "the name is $(uname -n)"
		n=0; for p in /proc/[0-9]*; do n=$((n + 1)); done; echo "$n processes"; (sleep 100 &) ; ulimit -n 64; cd /tmp; umask 777; trap "" TERM; echo done`
	for i := range 6 {
		out := output(t, script(t, box, leave))
		require.Equal(t, "2 processes\ndone\n", out, "command %d", i)
	}
}

// A jail that waited while the host changed what it shows is not used: a denied file that came to be after it was set up
// is covered in the next command all the same.
func TestWaitingJailsAreNotStale(t *testing.T) {
	dir := workspace(t)
	secret := filepath.Join(dir, "secret")
	write(t, secret, "old", 0o644)
	p := writable(dir)
	p.Filesystem.DenyRead = policy.Paths(secret)
	box := warmed(t, p, 2)
	for i := range 5 {
		write(t, secret+".new", "new secret", 0o644)
		require.NoError(t, os.Rename(secret+".new", secret))
		out, err := script(t, box, `cat "$1" 2>&1`, secret).Output()
		require.NoError(t, err)
		require.NotContains(t, string(out), "new secret", "round %d", i)
	}
}

// A jail that was killed while it waited is not used.
func TestKilledWaitingJail(t *testing.T) {
	box := warmed(t, policy.Policy{}, 2)
	for _, pid := range children() {
		fd, err := unix.PidfdOpen(pid, 0)
		require.NoError(t, err)
		require.NoError(t, unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000) // all of its threads
		require.NoError(t, errors.Join(err, unix.Close(fd)))
		require.Equal(t, 1, n)
	}
	require.Equal(t, "here\n", output(t, command(t, box, "echo", "here")))
}

// Many commands at once find fewer jails than they are: each runs all the same, and one that is cancelled while it waits
// for a jail leaves nothing.
func TestMoreCommandsThanReadyJails(t *testing.T) {
	box := warmed(t, policy.Policy{}, 1)
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := box.Command(ctx, "echo", fmt.Sprint(i))
			cmd.Dir = "/"
			if i%3 == 0 {
				cancel()
			}
			out, err := cmd.Output()
			if i%3 != 0 && (err != nil || string(out) != fmt.Sprintln(i)) {
				t.Errorf("%d: %v %q", i, err, out)
			}
		})
	}
	group.Wait()
	eventually(t, func() bool { return shell.Waiting(box) == 1 && len(children()) == 1 }, "one jail is ready")
	require.NoError(t, box.Close())
	require.Empty(t, children())
}
