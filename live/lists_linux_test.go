package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// listed opens a sandbox that may reach what the list names.
func (w *world) listed(t *testing.T, f *field, domains ...string) *shell.Sandbox {
	t.Helper()
	p := f.writable()
	p.Network = policy.Network{AllowedDomains: domains}
	return open(t, p, shell.Options{Env: w.environment()})
}

// fetch gets a page in a sandbox, through the proxy or not, and says whether it came.
func fetch(ctx context.Context, box *shell.Sandbox, url string, options ...string) (bool, string, error) {
	cmd := box.Command(ctx, "curl", append(append([]string{"-sS", "-f", "--max-time", "20"}, options...), url)...)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return false, string(out), explain(err)
	}
	return cmd.Completion.ExitCode == 0 && strings.Contains(string(out), "welcome to"), string(out), nil
}

// Many children at once, each with a list of its own: each reaches its own host, and none another's, by proxy or without
// (R146, R147; process case 25). Every child's neighbour is reached by that neighbour at the same time.
func TestManyListsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const children, atOnce = 64, 8
		host := func(i int) string { return fmt.Sprintf("h%02d.test", i%children) }
		for i := range children {
			w.set(host(i), fmt.Sprintf("93.184.218.%d", i+1))
		}
		f := newField(t)
		var boxes []*shell.Sandbox
		for i := range children {
			boxes = append(boxes, w.listed(t, f, host(i)))
		}
		turns := make(chan struct{}, atOnce)
		var wg sync.WaitGroup
		problems := make(chan string, 4*children)
		for i, box := range boxes {
			wg.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				for _, options := range [][]string{nil, {"--noproxy", "*"}} {
					ok, out, err := fetch(t.Context(), box, "http://"+host(i)+"/", options...)
					if !ok || err != nil || !strings.Contains(out, host(i)) {
						problems <- fmt.Sprintf("%d does not reach its own host %v: %v %s", i, options, err, out)
					}
					if ok, out, _ := fetch(t.Context(), box, "http://"+host(i+1)+"/", options...); ok {
						problems <- fmt.Sprintf("%d reaches the host of its neighbour %v: %s", i, options, out)
					}
				}
			})
		}
		wg.Wait()
		close(problems)
		for p := range problems {
			t.Error(p)
		}
		require.Len(t, reached(w.seen(), "http"), children, "each host was reached, and by its own child")
	})
}

// A child that tries every port of its loopback, and every way of naming its neighbour there, gets at the neighbour's host
// by none of them (process cases 20, 25, 26; R333).
func TestNoPortLeadsToTheNeighbour(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		mine, theirs := w.listed(t, f, granted), w.listed(t, f, ungranted)
		ok, out, err := fetch(t.Context(), theirs, "http://"+ungranted+"/")
		require.NoError(t, err)
		require.True(t, ok, out)
		w.seen()
		found := attackIn(t, mine, f.ws, nil, "reach-neighbour", ungranted, "93.184.217.1")
		require.Equal(t, refused, found.verdict, found.detail)
		require.Empty(t, w.seen(), "what was tried: %s", found.detail)
		open := outsideAny(t, "reach-neighbour-directly", ungranted, "93.184.217.1")
		require.Equal(t, through, open.verdict, open.detail)
	})
}

// outsideAny runs an attacker unconfined: the open arm of an attack on the network of a world.
func outsideAny(t *testing.T, name string, args ...string) finding {
	t.Helper()
	out, err := again(append([]string{"attack", name}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	found, ok := parseVerdict(string(out))
	require.True(t, ok, "the attacker gave no verdict:\n%s", out)
	return found
}

// Nothing is reached without a list, and no name is looked up (R39, A6). Both kinds of nothing, and a list that only denies.
func TestNothingWithoutAList(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		for name, n := range map[string]policy.Network{
			"none": {}, "an empty list": {AllowedDomains: []string{}}, "denied alone": {DeniedDomains: []string{ungranted}},
		} {
			p := f.writable()
			p.Network = n
			box := open(t, p, shell.Options{Env: w.environment()})
			for _, script := range []string{
				"getent ahosts " + granted, "curl -sS --max-time 5 http://" + granted + "/", "curl -sS --max-time 5 --noproxy '*' http://93.184.216.34/",
				"curl -sS --max-time 5 'http://[2606:4700::1]/'", "curl -sS --max-time 5 --proxy http://127.0.0.1:3128 http://" + granted + "/",
			} {
				code, out := runIn(t, box, f.ws, "sh", "-c", script)
				require.NotEqual(t, 0, code, "%s: %s: %s", name, script, out)
			}
			require.Empty(t, w.seen(), name)
		}
		ok, out, err := fetch(t.Context(), w.listed(t, f, granted), "http://"+granted+"/")
		require.NoError(t, err)
		require.True(t, ok, "the world itself answers: %s", out)
	})
}

// Packets of every other kind do not leave either, with a list as without one (R39; process cases 19, 27).
func TestNoPacketLeaves(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		packets, err := net.ListenPacket("udp4", "0.0.0.0:9999")
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			buf := make([]byte, 64)
			for {
				n, _, err := packets.ReadFrom(buf)
				if err != nil {
					return
				}
				w.note("udp " + string(buf[:n]))
			}
		}()
		t.Cleanup(func() {
			require.NoError(t, packets.Close())
			<-done
		})
		open := outsideAny(t, "send-everywhere", "93.184.217.1")
		require.Equal(t, through, open.verdict, open.detail)
		eventually(t, func() bool { return len(reached(w.seen(), "udp")) > 0 }, "the test itself sees no packet")
		for _, list := range [][]string{nil, {granted}, {"*"}} {
			found := attackIn(t, w.listed(t, f, list...), f.ws, nil, "send-everywhere", "93.184.217.1")
			require.Equal(t, refused, found.verdict, "list %v: %s", list, found.detail)
			require.Empty(t, w.seen(), "list %v", list)
		}
	})
}

// The attacks on servers of the host fail under a list as they do without one (process cases 19, 28, 29).
func TestNetworkAttacksUnderAList(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, a := range networkAttacks {
			f := newField(t)
			args := a.args(f)
			found := attackIn(t, w.listed(t, f, granted, "*.example.test"), f.ws, nil, a.name, args...)
			if a.mayBeAbsent == "" || found.verdict != absent {
				require.Equal(t, refused, found.verdict, "%s: %s", a.name, found.detail)
			}
		}
	})
}

// refusalText is what a program prints when it is refused, and what is recorded.
type refusalText struct {
	name   string
	script string
	code   int // of the script; -1 is any but 0
	out    []string
	record string // in a record's target
	text   []string
}

var refusalTexts = []refusalText{
	{"plain HTTP", "curl -sS -i --max-time 9 http://evil.test/", 0,
		[]string{"HTTP/1.1 403 ", "X-Proxy-Error: blocked-by-allowlist", "Connection blocked by network allowlist", "not a fault"}, "evil.test:80", []string{"evil.test:80", "allow-list", "other flags will not help"}},
	{"JSON when asked for", "curl -sS -H 'Accept: application/json' --max-time 9 http://evil.test/", 0,
		[]string{`"error":"blocked-by-allowlist"`, `"host":"evil.test"`, `"remedy":`}, "evil.test:80", nil},
	{"a tunnel", "curl -sS --max-time 9 https://evil.test/", 56, []string{"403"}, "evil.test:443", []string{"evil.test:443"}}, // R334
	{"SOCKS", "curl -sS --max-time 9 --proxy socks5h://127.0.0.1:3128 http://evil.test/", 97, nil, "evil.test:80", nil},
	{"a name that is looked up", "python3 -c 'import socket; socket.getaddrinfo(\"evil.test\", 80)'", 1, []string{"gaierror"}, "evil.test", []string{"resolve", "allow-list"}},
	{"an address that is connected to", "python3 -c 'import socket; socket.create_connection((\"93.184.217.1\", 80), 9)'", 1,
		[]string{"PermissionError: [Errno 13]"}, "93.184.217.1:80", []string{"allow-list"}},
	{"an address of version 6", "python3 -c 'import socket; socket.create_connection((\"2606:4700::1\", 80), 9)'", 1, nil, "2606:4700::1", []string{"allow-list"}},
	{"a denied name with a reason", "curl -sS --max-time 9 http://no.example.test/", 0,
		[]string{"the archive is closed"}, "no.example.test:80", []string{"the archive is closed"}},
	{"an allowed name that leads to loopback", "curl -sS -i --max-time 9 http://loop.example.test/", 0,
		[]string{"403", "blocked-by-sandbox-runtime", "loopback"}, "loop.example.test:80", []string{"loopback"}},
	{"one that leads to metadata", "curl -sS --max-time 9 --noproxy '*' http://metadata.example.test/", -1, nil, "metadata.example.test:80", []string{"metadata"}},
	{"one that leads to a private address", "curl -sS --max-time 9 http://private.example.test/", 0, []string{"private"}, "private.example.test:80", []string{"private"}},
	{"another server name in the tunnel", "curl -sS --max-time 9 --connect-to evil.test:443:api.example.test:443 https://evil.test/", -1, nil, "api.example.test:443", []string{"evil.test"}},
	{"another server name without proxy", "curl -sS --noproxy '*' --max-time 9 --connect-to evil.test:443:api.example.test:443 https://evil.test/", -1, nil, "api.example.test:443", []string{"evil.test"}},
	{"a port that is not granted", "curl -sS --max-time 9 http://port.test:81/", 0, []string{"not on the allow-list for port 81"}, "port.test:81", nil},
	{"a name that ends like an allowed one", "curl -sS --max-time 9 http://evilexample.test/", 0, []string{"not on the allow-list"}, "evilexample.test:80", nil},
	{"a name that begins like an allowed one", "curl -sS --max-time 9 http://api.example.test.evil/", 0, []string{"not on the allow-list"}, "api.example.test.evil:80", nil},
}

// What a refused program prints, and what is recorded, says the truth: what was tried, which rule, what would allow it
// (R43, R334; process cases 21 to 24, 30; conformance 11, 16, 18, 20, 22).
func TestRefusalsSayWhy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		p := f.writable()
		p.Network = policy.Network{
			AllowedDomains:      []string{"*.example.test", "port.test:80"},
			DeniedDomains:       []string{"no.example.test"},
			DeniedDomainReasons: map[string]string{"no.example.test": "the archive is closed"},
		}
		box := open(t, p, shell.Options{Env: w.environment()})
		for _, r := range refusalTexts {
			t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) { r.test(t, w, f, box) })
		}
	})
}

func (r refusalText) test(t *testing.T, w *world, f *field, box *shell.Sandbox) {
	cmd := command(t, box, f.ws, "sh", "-c", r.script)
	b, err := cmd.CombinedOutput()
	out := string(b)
	require.NoError(t, explain(err), "%s", out)
	if r.code < 0 {
		require.NotEqual(t, 0, cmd.Completion.ExitCode, "%s", out)
	} else {
		require.Equal(t, r.code, cmd.Completion.ExitCode, "%s", out)
	}
	for _, s := range r.out {
		require.Contains(t, out, s)
	}
	require.Empty(t, reached(w.seen(), "http"), "reached a server: %s", out)
	records := ofHost(cmd.Violations(), r.record)
	require.NotEmpty(t, records, "no record of %s among %v; the command said:\n%s", r.record, cmd.Violations(), out)
	for _, s := range r.text {
		require.Contains(t, records[0].Text(f.ws), s)
	}
}

// Allowed names are reached with every spelling that means them, and with each port only where it is granted (R44;
// conformance 10, 11, 16).
func TestAllowedSpellings(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		box := w.listed(t, f, "*.example.test", "EXAMPLE.test:80", "93.184.220.0/24")
		for _, options := range [][]string{nil, {"--noproxy", "*"}} {
			for _, url := range []string{
				"http://api.example.test/", "http://API.Example.TEST/", "http://api.example.test./", "http://deep.sub.example.test/",
				"http://example.test/", "https://api.example.test/", "http://mixed.example.test/", "http://93.184.220.7/",
			} {
				ok, out, err := fetch(t.Context(), box, url, options...)
				require.NoError(t, err)
				require.True(t, ok, "%s %v: %s", url, options, out)
			}
			for _, url := range []string{"https://example.test/", "http://93.184.221.7/"} {
				ok, out, err := fetch(t.Context(), box, url, options...)
				require.NoError(t, err)
				require.False(t, ok, "%s %v: %s", url, options, out)
			}
		}
	})
}

// A service of the host is reached by the grant of its port and by nothing else, and a server of the child's own is reached
// inside, whatever is granted (conformance 24).
func TestHostServices(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		granted, other := w.hostService(t, "granted"), w.hostService(t, "other")
		box := w.listed(t, f, "localhost:"+strconv.Itoa(granted))
		for _, options := range [][]string{nil, {"--noproxy", "*"}} {
			for _, name := range []string{"localhost", "127.0.0.1"} {
				if options == nil && name != "localhost" {
					continue // a proxy is asked for what is written; the grant is of a name
				}
				ok, out, err := fetch(t.Context(), box, fmt.Sprintf("http://%s:%d/", name, granted), options...)
				require.NoError(t, err)
				require.True(t, ok, "%s %v: %s", name, options, out)
				ok, out, err = fetch(t.Context(), box, fmt.Sprintf("http://%s:%d/", name, other), options...)
				require.NoError(t, err)
				require.False(t, ok, "%s %v: %s", name, options, out)
			}
		}
		require.Equal(t, []string{"granted"}, reached(w.seen(), "service"))
		nobody := command(t, box, f.ws, "python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 2))")
		b, err := nobody.CombinedOutput()
		require.NoError(t, explain(err))
		require.Contains(t, string(b), "ConnectionRefusedError", "where neither listens, it is as without a sandbox")
		require.Empty(t, ofHost(nobody.Violations(), "127.0.0.1:2"))
		for _, domains := range [][]string{nil, {"api.example.test"}, {"localhost:" + strconv.Itoa(granted)}} {
			found := attackIn(t, w.listed(t, f, domains...), f.ws, nil, "serve-inside")
			require.Equal(t, through, found.verdict, "%v: %s", domains, found.detail)
		}
	})
}

// hostService starts a server on the host's loopback and gives its port.
func (w *world) hostService(t *testing.T, name string) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		w.note("service " + name)
		fmt.Fprintln(out, "welcome to", name)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return l.Addr().(*net.TCPAddr).Port
}

// Each request of a connection that is kept alive is judged (process case 24).
func TestEachRequestIsJudged(t *testing.T) {
	const script = `import http.client
c = http.client.HTTPConnection("127.0.0.1", 3128, timeout=10)
for host in ("api.example.test", "evil.test", "api.example.test"):
    c.request("GET", "http://%s/" % host)
    r = c.getresponse()
    r.read()
    print(r.status)`
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		code, out := runIn(t, w.listed(t, f, granted), f.ws, "python3", "-c", script)
		require.Equal(t, 0, code, out)
		require.Equal(t, []string{"200", "403", "200"}, strings.Fields(out))
		require.Equal(t, []string{"api.example.test at 93.184.216.34:80"}, reached(w.seen(), "http"))
	})
}

// A name that led to a public address when it was looked up and to a private one when it is connected to is refused: the
// address that was checked is the one that is dialled (process case 22).
func TestRebinding(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		port := w.hostService(t, "inner")
		w.set("rebind.test", "93.184.219.1")
		box := w.listed(t, f, "rebind.test:"+strconv.Itoa(port))
		for i := range 20 {
			address := []string{"93.184.219.1", "127.0.0.1"}[i%2]
			w.set("rebind.test", address)
			_, _, err := fetch(t.Context(), box, fmt.Sprintf("http://rebind.test:%d/", port), "--noproxy", "*", "--max-time", "3")
			require.NoError(t, err)
		}
		require.Empty(t, reached(w.seen(), "service"))
	})
}

// A tunnel ends when its command is killed and when its sandbox is closed; nothing of it stays open on the host.
func TestTunnelsEndWithTheirCommand(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, options := range [][]string{nil, {"--noproxy", "*"}} {
			f := newField(t)
			p := f.writable()
			p.Network = policy.Network{AllowedDomains: []string{granted}}
			box, err := shell.Open(t.Context(), p, shell.Options{})
			require.NoError(t, explain(err))
			cmd := box.Command(t.Context(), "curl", append([]string{"-sS", "-N", "http://" + granted + "/slow"}, options...)...)
			cmd.Dir = "/"
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, explain(cmd.Start()))
			line := make([]byte, 11)
			_, err = stdout.Read(line)
			require.NoError(t, err)
			require.Equal(t, "still here\n", string(line))
			require.NoError(t, box.Close())
			_ = cmd.Wait() // killed
			eventually(t, func() bool { return len(reached(w.seen(), "gone")) > 0 }, "the server still has the connection")
		}
	})
}

// What an unconfined curl and one in a sandbox without network rules reach is the same (A6, R40).
func TestUnrestrictedReachesTheWorld(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		f := newField(t)
		p := f.writable()
		p.Network = policy.Network{Unrestricted: true}
		box := open(t, p, shell.Options{Env: w.environment()})
		for _, url := range []string{"http://evil.test/", "https://api.example.test/", "http://203.0.113.9/"} {
			plain := exec.Command("curl", "-sS", "-f", url)
			plain.Env = append(os.Environ(), w.environment()...)
			b, err := plain.Output()
			require.NoError(t, err)
			ok, out, err := fetch(t.Context(), box, url)
			require.NoError(t, err)
			require.True(t, ok, out)
			require.Equal(t, string(b), out)
		}
	})
}
