package live

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// holder is a server that keeps every connection until its other side ends it.
type holder struct {
	port             int
	open, most, made atomic.Int64
}

func newHolder(t *testing.T) *holder {
	t.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	require.NoError(t, err)
	h := &holder{port: l.Addr().(*net.TCPAddr).Port}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.made.Add(1)
			h.most.Store(max(h.most.Load(), h.open.Add(1)))
			wg.Go(func() {
				_, _ = c.Read(make([]byte, 1)) // an end or a reset, both are one
				h.open.Add(-1)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		wg.Wait()
	})
	return h
}

// Connections that were made and are picked up by nobody count: a command cannot have the host hold more of them than it
// may have (R46).
func TestConnectionsLeftBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const limit, tries = 4, 60
		f, h := newField(t), newHolder(t)
		p := f.writable()
		p.Network = policy.Network{AllowedDomains: []string{"93.184.216.0/24"}}
		box := open(t, p, shell.Options{Limits: shell.Limits{Connections: limit}})
		cmd := command(t, box, f.ws, attacker(), "attack", "connect-and-go", fmt.Sprintf("93.184.216.34:%d", h.port), fmt.Sprint(tries))
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, explain(cmd.Start()))
		_, err = bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		eventually(t, func() bool { return h.open.Load() == 0 }, "connections are left while the command runs")
		require.NoError(t, stdin.Close())
		require.NoError(t, explain(cmd.Wait()))
		require.Equal(t, 0, cmd.Completion.ExitCode)
		require.Positive(t, h.made.Load(), "none was made at all")
		require.LessOrEqual(t, h.most.Load(), int64(limit))
		records := cmd.Violations()
		require.Len(t, records, 1, "%v", records)
		require.Equal(t, "limit \"connections at once\": a limit of this sandbox", records[0].Rule)
		require.Equal(t, tries-int(h.made.Load()), records[0].Count)
	})
}

// The limits of bytes and of idle time end a command's connections, and not those of a command without them (R46).
func TestLimitsOfTheNetwork(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f, h := newField(t), newHolder(t)
		const size = 3 << 20
		idle := fmt.Sprintf(`import socket
s = socket.create_connection(('93.184.216.34', %d))
s.settimeout(2)
try: print(s.recv(1))
except ConnectionResetError: print('reset')
except TimeoutError: print('still there')`, h.port)
		for _, limited := range []bool{false, true} {
			p := f.writable()
			p.Network = policy.Network{AllowedDomains: []string{granted, "93.184.216.34"}}
			var l shell.Limits
			if limited {
				l = shell.Limits{NetworkBytes: size / 2, NetworkIdle: 200 * time.Millisecond}
			}
			box := open(t, p, shell.Options{Limits: l, Env: w.environment()})
			for _, options := range []string{"", "--noproxy '*'"} {
				cmd := command(t, box, f.ws, "sh", "-c", fmt.Sprintf("curl -sS --max-time 20 %s 'http://%s/bytes?n=%d' | wc -c", options, granted, size))
				b, err := cmd.Output()
				require.NoError(t, explain(err))
				require.Equal(t, limited, atoi(trimmed(string(b))) < size, "%s of %d", b, size)
				require.Equal(t, limited, len(ofHost(cmd.Violations(), granted+":80")) > 0, "%v", cmd.Violations())
			}
			code, out := runIn(t, box, f.ws, "python3", "-c", idle)
			require.Zero(t, code, out)
			want := "still there"
			if limited {
				want = "reset" // what was cut does not look like an answer that is whole
			}
			require.Equal(t, want, trimmed(out))
		}
	})
}
