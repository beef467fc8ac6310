package shell_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestNothingLeaks: after 200 commands, and after 40 that could not be started, the process has the descriptors, the
// children and the goroutines that it had before (R164). Mounts live in the namespaces of the dead.
func TestNothingLeaks(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	run := func() {
		var out bytes.Buffer
		cmd := script(t, box, `cat; echo err >&2`)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader([]byte("in")), &out, &bytes.Buffer{}
		require.NoError(t, cmd.Run())
		require.Equal(t, "in", out.String())
	}
	fail := func() {
		cmd := command(t, box, "no-such-command")
		cmd.Stdin = bytes.NewReader([]byte("in"))
		_, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.Error(t, cmd.Start())
	}
	run() // uses up what Open had made ready, and opens the runtime's own descriptors
	fail()
	withoutGC(t)
	mounts := read(t, "/proc/self/mountinfo")
	before, goroutines := descriptors(t), runtime.NumGoroutine()
	for i := range 200 / slowness {
		run()
		if i%5 == 0 {
			fail()
		}
	}
	noNewDescriptors(t, before)
	noChildren(t)
	require.Equal(t, mounts, read(t, "/proc/self/mountinfo"))
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines }, "goroutines are left")
}

// TestNothingOfANetworkLeaks: after 100 commands that were refused hosts by name, by proxy and by connect, that reached a
// service of the host and were killed with a connection open, nothing of their networks is left. A name of a port is freed
// by the command that had it exposed.
func TestNothingOfANetworkLeaks(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello")) // the command may be gone
			_ = c.Close()
		}
	}()
	defer func() {
		require.NoError(t, l.Close())
		<-served
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	box := open(t, policy.Policy{Network: policy.Network{AllowedDomains: []string{"localhost:" + port}}}, shell.Options{Warm: -1})
	attempts := `for to in 127.0.0.1/` + port + ` 198.51.100.1/80 127.0.0.1/3128 evil.test/80; do bash -c "exec 3<>/dev/tcp/$to && head -c 5 <&3" & done 2>/dev/null; sleep 0.03; kill -9 $$`
	run := func() {
		cmd := script(t, box, attempts)
		require.NoError(t, cmd.Start())
		_, err := cmd.Expose("127.0.0.1:0", 8000)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
		require.Equal(t, "SIGKILL", cmd.Completion.Signal)
	}
	run()
	withoutGC(t)
	before, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 100 / slowness {
		run()
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines }, "goroutines are left")
	// The runtime keeps a few pipes to splice with, whoever it was for; a pipe a command would be a hundred.
	const kept = 8
	eventually(t, func() bool {
		now := descriptors(t)
		return pipes(now) <= pipes(before)+kept && len(now)-pipes(now) <= len(before)-pipes(before)
	}, "descriptors are left")
	noChildren(t)
}

func pipes(open []string) (n int) {
	for _, d := range open {
		if strings.HasPrefix(d, "pipe:") {
			n++
		}
	}
	return n
}

// TestPipesAreClosed: the pipes that a caller asked for and did not close are closed by Wait.
func TestPipesAreClosed(t *testing.T) {
	box := open(t, policy.Policy{}, shell.Options{})
	require.NoError(t, command(t, box, "true").Run())
	withoutGC(t)
	before := descriptors(t)
	cmd := command(t, box, "cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, in.Close())
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	_, err = out.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrClosed)
	noNewDescriptors(t, before)
}

// TestOpenAndCloseLeaks: nor does a sandbox leave anything.
func TestOpenAndCloseLeaks(t *testing.T) {
	dir := workspace(t)
	write(t, filepath.Join(dir, ".bashrc"), "", 0o644)
	cycle := func() {
		box, err := shell.Open(t.Context(), writable(dir), shell.Options{})
		require.NoError(t, err)
		require.NoError(t, command(t, box, "true").Run())
		require.NoError(t, box.Close())
	}
	needBoundary(t)
	cycle()
	withoutGC(t)
	before := descriptors(t)
	for range 20 / slowness {
		cycle()
	}
	noNewDescriptors(t, before)
	noChildren(t)
	names, err := readNames(dir)
	require.NoError(t, err)
	require.Equal(t, []string{".bashrc"}, names, "nothing was left in the workspace")
}
