package jail

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A server that accepts nothing holds a thread of the first process for no longer than the patience, and a connection that
// was made has no time limit left on it.
func TestDialOwnHasAnEnd(t *testing.T) {
	before := patienceForAccept
	patienceForAccept = unix.Timeval{Usec: 50_000}
	t.Cleanup(func() { patienceForAccept = before })
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(server)) })
	require.NoError(t, unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(server, 0))
	to, err := unix.Getsockname(server)
	require.NoError(t, err)
	var open []int
	t.Cleanup(func() {
		for _, fd := range open {
			require.NoError(t, unix.Close(fd))
		}
	})
	for begun := time.Now(); ; {
		fd, errno := dialAt(to)
		if errno != 0 {
			require.Equal(t, unix.EINPROGRESS, errno)
			require.Less(t, time.Since(begun), 10*time.Second)
			break
		}
		open = append(open, fd)
		require.Less(t, len(open), 10, "the queue is never full")
	}
	require.NotEmpty(t, open)
	left, err := unix.GetsockoptTimeval(open[0], unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	require.NoError(t, err)
	require.Zero(t, *left)
}
