package live

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// greetAs serves a path socket with a greeting of its own.
func greetAs(t *testing.T, path, text string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(text)) // the attacker may be gone
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-done
	})
	return path
}

// socketGrant is a policy that grants one path socket.
func (f *field) socketGrant(path string) policy.Policy {
	p := f.writable()
	p.Network.AllowUnixSockets = []string{path}
	return p
}

// A granted path socket is reached, and nothing else of its kind: neither another path, nor an abstract name, nor
// packets (process cases 19, 28, 29). Without the grant none is. The grant holds with every kind of network.
func TestGrantedSocket(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, network := range map[string]policy.Network{
			"none": {}, "list": {AllowedDomains: []string{"example.com"}}, "unrestricted": {Unrestricted: true},
		} {
			t.Run(name, func(t *testing.T) {
				f := newField(t)
				mine, other := greetAs(t, f.dir+"/mine", greeting), greetAs(t, f.dir+"/other", greeting)
				p := f.writable()
				p.Network = network
				without := attackIn(t, open(t, p, shell.Options{}), f.ws, nil, "connect-to-path", mine)
				require.Equal(t, refused, without.verdict, without.detail)
				p.Network.AllowUnixSockets = []string{mine}
				box := open(t, p, shell.Options{})
				found := attackIn(t, box, f.ws, nil, "connect-to-path", mine)
				require.Equal(t, through, found.verdict, found.detail)
				for attack, arg := range map[string]string{
					"connect-to-path": other, "reach-abstract-socket": abstractServer(f)[0], "reach-path-by-datagram-pair": datagramServer(f)[0],
					"bind-abstract": "name", "bind-path": f.outside + "/made",
				} {
					found := attackIn(t, box, f.ws, nil, attack, arg)
					require.Equal(t, refused, found.verdict, "%s: %s", attack, found.detail)
				}
				require.Empty(t, f.touched())
				for _, attack := range []string{"connect-to-path", "bind-path"} {
					outside := outsideAny(t, attack, map[string]string{"connect-to-path": other, "bind-path": f.dir + "/free"}[attack])
					require.Equal(t, through, outside.verdict, "%s: %s", attack, outside.detail)
				}
				made := attackIn(t, box, f.ws, nil, "bind-path", f.ws+"/made")
				require.Equal(t, through, made.verdict, made.detail)
			})
		}
	})
}

// What was refused is recorded with the path, and what would allow it.
func TestRefusedSocketIsRecorded(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		mine, other := greetAs(t, f.dir+"/mine", greeting), greetAs(t, f.dir+"/other", greeting)
		cmd := command(t, open(t, f.socketGrant(mine), shell.Options{}), f.ws, attacker(), "attack", "connect-to-path", other)
		require.NoError(t, explain(cmd.Run()))
		records := cmd.Violations()
		require.Len(t, records, 1, "%v", records)
		v := records[0]
		require.Equal(t, "unix", v.Operation)
		require.Equal(t, other, v.Target)
		require.Equal(t, "EACCES", v.Errno)
		require.Contains(t, v.Remedy, "network.allowUnixSockets")
		require.NotContains(t, v.Text(f.ws), other)
	})
}

// While a link, an address or a descriptor is exchanged, only what was granted is connected to.
func TestSwappedSockets(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		mine, other := greetAs(t, f.dir+"/mine", grantedGreeting), greetAs(t, f.dir+"/other", greeting)
		for _, network := range []policy.Network{{}, {AllowedDomains: []string{"example.com"}}} {
			p := f.writable()
			network.AllowUnixSockets = []string{mine}
			p.Network = network
			box := open(t, p, shell.Options{})
			for attack, args := range map[string][]string{
				"reach-by-swapped-link": {f.ws + "/link", mine, other}, "reach-by-swapped-address": {mine, other},
			} {
				found := attackIn(t, box, f.ws, nil, attack, args...)
				require.Equal(t, refused, found.verdict, "%s: %s", attack, found.detail)
				outside := outsideAny(t, attack, args...)
				require.Equal(t, through, outside.verdict, "%s: %s", attack, outside.detail)
			}
		}
	})
}

// A socket that is not granted is not reached by moving or linking it, or a directory above it, to where a granted one is,
// in a directory that may be written. A server of the command's own can still be made there.
func TestSocketsStayWhereTheyAre(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, how := range []string{"rename", "link", "exchange", "directory", "exchange directories"} {
			t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
				f := newField(t)
				for _, arm := range []string{f.ws, f.dir} { // in the sandbox, and outside of any
					for _, dir := range []string{"granted", "other"} {
						require.NoError(t, os.Mkdir(filepath.Join(arm, dir), 0o755))
						greetAs(t, filepath.Join(arm, dir, "s"), map[string]string{"granted": grantedGreeting, "other": greeting}[dir])
					}
				}
				box := open(t, f.socketGrant(f.ws+"/granted/s"), shell.Options{})
				found := attackIn(t, box, f.ws, nil, "reach-by-moving", how, f.ws)
				require.Equal(t, refused, found.verdict, found.detail)
				outside := outsideAny(t, "reach-by-moving", how, f.dir)
				require.Equal(t, through, outside.verdict, outside.detail)
				require.NoError(t, os.MkdirAll(f.ws+"/granted", 0o755)) // one of them moves it away
				require.NoError(t, ignoring(os.Remove(f.ws+"/granted/s"), os.ErrNotExist))
				made := attackIn(t, box, f.ws, nil, "bind-path", f.ws+"/granted/s")
				require.Equal(t, through, made.verdict, made.detail)
			})
		}
	})
}

// A real ssh-agent is reached where it is granted, also when it listens in a directory of which commands have their own.
func TestSSHAgent(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		if _, err := exec.LookPath("ssh-agent"); err != nil {
			skip(t, err.Error())
		}
		dir, err := os.MkdirTemp("/tmp", "sallyport-agent")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		path := filepath.Join(dir, "agent")
		agent := exec.Command("ssh-agent", "-D", "-a", path)
		require.NoError(t, agent.Start())
		t.Cleanup(func() {
			_ = agent.Process.Kill()
			_ = agent.Wait()
		})
		eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, "the agent does not listen")
		f := newField(t)
		env := shell.Options{Env: []string{"SSH_AUTH_SOCK=" + path}}
		code, out := runIn(t, open(t, f.socketGrant(path), env), f.ws, "ssh-add", "-l")
		require.Equal(t, 1, code, "%s", out) // the agent has no identities
		code, out = runIn(t, open(t, f.writable(), env), f.ws, "ssh-add", "-l")
		require.Equal(t, 2, code, "%s", out) // no agent
	})
}
