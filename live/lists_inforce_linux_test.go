package live

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// What may not be exposed is refused: other addresses than loopback, no port, and a command with the host's network.
func TestExposeRefuses(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		p := f.writable()
		cmd := command(t, open(t, p, shell.Options{}), f.ws, "sleep", "30")
		_, err := cmd.Expose("127.0.0.1:0", 80)
		require.Error(t, err, "not started")
		require.NoError(t, explain(cmd.Start()))
		for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "localhost:0", "93.184.216.34:0", "127.0.0.1"} {
			_, err := cmd.Expose(address, 80)
			require.Error(t, err, address)
		}
		for _, port := range []int{0, -1, 65536} {
			_, err := cmd.Expose("127.0.0.1:0", port)
			require.Error(t, err, port)
		}
		p.Network.Unrestricted = true
		shared := command(t, open(t, p, shell.Options{}), f.ws, "sleep", "30")
		require.NoError(t, explain(shared.Start()))
		_, err = shared.Expose("127.0.0.1:0", 80)
		require.ErrorContains(t, err, "host's network")
	})
}

// A list that is swapped holds at once, for running commands too: what it does not allow is cut, and what it does goes on.
// Nothing else of the network can be changed (R126).
func TestSwappedList(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		box := w.listed(t, f, granted, "other.example.test")
		start := func(host string) (*shell.Cmd, *bufio.Reader) {
			cmd := command(t, box, f.ws, "curl", "-sS", "-N", "--noproxy", "*", "http://"+host+"/slow")
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, explain(cmd.Start()))
			out := bufio.NewReader(stdout)
			line, err := out.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "still here\n", line)
			return cmd, out
		}
		cut, _ := start(granted)
		kept, out := start("other.example.test")
		require.NoError(t, explain(box.SetNetwork(policy.Network{AllowedDomains: []string{"other.example.test"}})))
		require.NoError(t, explain(cut.Wait()))
		require.NotEqual(t, 0, cut.Completion.ExitCode)
		require.NotEmpty(t, ofHost(cut.Violations(), granted), "%v", cut.Violations())
		for range 50 { // well after the other one is gone
			_, err := out.ReadString('\n')
			require.NoError(t, err)
		}
		ok, text, err := fetch(t.Context(), box, "http://"+granted+"/")
		require.NoError(t, err)
		require.False(t, ok, text)
		require.NoError(t, explain(box.SetNetwork(policy.Network{})))
		require.NoError(t, explain(kept.Wait()))
		require.NotEqual(t, 0, kept.Completion.ExitCode)
		require.NoError(t, explain(box.SetNetwork(policy.Network{AllowedDomains: []string{granted}})))
		ok, text, err = fetch(t.Context(), box, "http://"+granted+"/")
		require.NoError(t, err)
		require.True(t, ok, text)
		for _, n := range []policy.Network{{Unrestricted: true}, {AllowUnixSockets: []string{f.dir + "/s"}}, {AllowedDomains: []string{"http://x"}}} {
			require.Error(t, box.SetNetwork(n), "%+v", n)
		}
		closed := open(t, f.writable(), shell.Options{})
		require.Error(t, closed.SetNetwork(policy.Network{AllowedDomains: []string{granted}}), "its commands have no way out")
	})
}

// A proxy of the host's, passed on by name, loses against the sandbox's own (R172).
func TestStaleProxyLoses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		p := f.writable()
		p.Network.AllowedDomains = []string{granted}
		names := []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"}
		for _, name := range names {
			t.Setenv(name, "http://stale.test:1")
		}
		box := open(t, p, shell.Options{EnvAllow: append([]string{"PATH"}, names...), Env: w.environment()})
		code, out := runIn(t, box, f.ws, "env")
		require.Equal(t, 0, code)
		require.NotContains(t, out, "stale.test")
		require.Equal(t, 6, strings.Count(out, "=http://127.0.0.1:3128\n"), out)
		ok, text, err := fetch(t.Context(), box, "http://"+granted+"/")
		require.NoError(t, err)
		require.True(t, ok, text)
		code, out = runIn(t, open(t, f.writable(), shell.Options{}), f.ws, "env")
		require.Equal(t, 0, code)
		require.NotContains(t, strings.ToLower(out), "proxy=", "without a list there is no proxy")
	})
}

// connectPython connects in the way its first argument says, and prints how it went.
const connectPython = `import errno, os, select, socket, sys
how, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
s = socket.socket(family, socket.SOCK_STREAM)
s.setblocking(how == "blocking")
e = s.connect_ex((host, port))
first = errno.errorcode.get(e, e)
if e == errno.EINPROGRESS:
    p = select.poll(); p.register(s, select.POLLOUT)
    events = p.poll(15000)
    e = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if not e:
        s.setblocking(True)
        try: s.sendall(b"GET / HTTP/1.0\r\nHost: x\r\n\r\n"); s.recv(1)
        except OSError as err: e = err.errno
print(first, errno.errorcode.get(e, e))`

// connect(2) says the truth about a captured connection, to programs that wait and to those that do not: a refusal is
// EACCES, a host that refuses is ECONNREFUSED, and what is allowed connects.
func TestConnectSaysTheTruth(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		box := w.listed(t, f, "93.184.216.34", "2606:4700::/32")
		for _, c := range []struct{ how, host, port, want string }{
			{"blocking", "93.184.216.34", "80", "0 0"}, {"nonblocking", "93.184.216.34", "80", "EINPROGRESS 0"},
			{"blocking", "93.184.216.34", "81", "ECONNREFUSED ECONNREFUSED"}, {"nonblocking", "93.184.216.34", "81", "ECONNREFUSED ECONNREFUSED"},
			{"blocking", "93.184.217.1", "80", "EACCES EACCES"}, {"nonblocking", "93.184.217.1", "80", "EACCES EACCES"},
			{"blocking", "2606:4700::1", "80", "0 0"}, {"nonblocking", "2606:4700::1", "80", "EINPROGRESS 0"},
			{"blocking", "2001:4860::1", "80", "EACCES EACCES"}, {"blocking", "::ffff:93.184.216.34", "80", "0 0"},
			{"blocking", "127.0.0.1", "81", "ECONNREFUSED ECONNREFUSED"}, {"nonblocking", "127.0.0.1", "81", "ECONNREFUSED ECONNREFUSED"},
			{"blocking", "169.254.169.254", "80", "EACCES EACCES"},
		} {
			code, out := runIn(t, box, f.ws, "python3", "-c", connectPython, c.how, c.host, c.port)
			require.Equal(t, 0, code, out)
			require.Equal(t, c.want, trimmed(out), "%+v", c)
		}
	})
}

// The limits of a child's network: connections at once, bytes, and idle time. Each is recorded by its name.
func TestNetworkLimits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		p := f.writable()
		p.Network.AllowedDomains = []string{granted}
		for _, c := range []struct {
			limits shell.Limits
			script string
			record string
		}{
			{shell.Limits{NetworkBytes: 100_000}, "! curl -sS -f --noproxy '*' 'http://api.example.test/bytes?n=20000000' >/dev/null", "bytes"},
			{shell.Limits{Connections: 2}, "for i in 1 2; do curl -sS -N -o f$i http://api.example.test/slow & done; until test -s f1 && test -s f2; do sleep 0.05; done; curl -sS http://api.example.test/ | grep 'connections at once'", "connections"},
		} {
			cmd := command(t, open(t, p, shell.Options{Limits: c.limits, Env: w.environment()}), f.ws, "sh", "-c", c.script)
			out, err := cmd.CombinedOutput()
			require.NoError(t, explain(err))
			require.Equal(t, 0, cmd.Completion.ExitCode, "%s", out)
			found := ""
			for _, v := range cmd.Violations() {
				found += fmt.Sprintf("%s; ", v.Rule)
			}
			require.Contains(t, found, c.record)
		}
		idle := open(t, p, shell.Options{Limits: shell.Limits{NetworkIdle: 200 * time.Millisecond}, Env: w.environment()})
		code, out := runIn(t, idle, f.ws, "python3", "-c", "import socket\ns = socket.create_connection(('api.example.test', 80)); s.settimeout(20); print(s.recv(1))")
		require.NotContains(t, out, "timed out", "%d", code)
	})
}

// The configuration that programs see leads to the name server inside, and the host's files are as they were.
func TestNameConfigurationInside(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		before, err := os.ReadFile("/etc/hosts")
		require.NoError(t, err)
		p := f.writable()
		p.Network.AllowedDomains = []string{"example.com"}
		code, out := runIn(t, open(t, p, shell.Options{}), f.ws, "sh", "-c", "cat /etc/hosts; grep hosts: /etc/nsswitch.conf; cat /etc/resolv.conf; ! echo x >>/etc/hosts")
		require.Equal(t, 0, code, out)
		require.Contains(t, out, "127.0.0.1 localhost")
		require.NotContains(t, out, "resolve ")
		if _, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
			require.Contains(t, out, "nameserver 127.0.0.1")
		}
		after, err := os.ReadFile("/etc/hosts")
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}
