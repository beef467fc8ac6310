package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// client is a program that people run, as it comes. HOST in its arguments stands for the host that it is to reach.
type client struct {
	name     string
	optional bool // CI does not install it
	argv     []string
	env      []string
	noProxy  bool   // it knows nothing of the proxy variables, or has been told to forget them
	welcome  string // what it prints when it reached the server
	kind     string // of the hit that the server has seen
}

// forgetful takes the variables away, in both spellings.
var forgetful = []string{"HTTP_PROXY=", "HTTPS_PROXY=", "ALL_PROXY=", "http_proxy=", "https_proxy=", "all_proxy=", "no_proxy=*", "NO_PROXY=*"}

const nodeFetch = `fetch(process.argv[1]).then(r => r.text().then(t => { process.stdout.write(t); process.exit(r.ok ? 0 : 1) }),
  e => { console.error(String(e.cause || e)); process.exit(1) })`

const pythonClient = `import http.client, ssl, sys
c = http.client.HTTPSConnection(sys.argv[1], timeout=10)
c.request("GET", "/")
print(c.getresponse().read().decode())`

const pythonRequest = `import urllib.request, sys
print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())`

const javaClient = `import java.net.URI; import java.net.http.*;
class Fetch { public static void main(String[] a) throws Exception {
  var c = HttpClient.newHttpClient();
  System.out.println(c.send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
} }`

// clients are every way that programs take to the network, by hand measured to differ: the C library's resolver and
// blocking connect, libuv's threads and non-blocking connect, Go's own resolver, Java's dual-stack sockets.
var clients = []client{
	{name: "curl through the proxy", argv: []string{"curl", "-sS", "--max-time", "20", "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "curl plain HTTP", argv: []string{"curl", "-sS", "-f", "--max-time", "20", "http://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "curl without proxy", noProxy: true, argv: []string{"curl", "-sS", "--noproxy", "*", "--max-time", "20", "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "curl over SOCKS5", argv: []string{"curl", "-sS", "--max-time", "20", "--proxy", "socks5h://127.0.0.1:3128", "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "git over https", argv: []string{"git", "ls-remote", "https://HOST/git/repo.git"}, welcome: "refs/heads/main", kind: "git"},
	{name: "git without proxy", noProxy: true, env: forgetful, argv: []string{"git", "ls-remote", "https://HOST/git/repo.git"}, welcome: "refs/heads/main", kind: "git"},
	{name: "node fetch", noProxy: true, argv: []string{"node", "-e", nodeFetch, "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "python http.client", noProxy: true, argv: []string{"python3", "-c", pythonClient, "HOST"}, welcome: "welcome to", kind: "http"},
	{name: "python urllib", argv: []string{"python3", "-c", pythonRequest, "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "Go through the proxy", argv: []string{"ATTACKER", "fetch", "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "Go without proxy", noProxy: true, env: forgetful, argv: []string{"ATTACKER", "fetch", "https://HOST/"}, welcome: "welcome to", kind: "http"},
	{name: "ssh", noProxy: true, argv: []string{"ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no", "git@HOST", "true"}, kind: "ssh"},
	{name: "psql", optional: true, noProxy: true, argv: []string{"psql", "-h", "HOST", "-U", "u", "-d", "d", "-c", "select 1"}, welcome: "welcome to the database", kind: "postgres"},
	{name: "Java HttpClient", optional: true, noProxy: true, argv: []string{"java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "JAVA", "http://HOST/"}, welcome: "welcome to", kind: "http"},
}

// The hosts of the test: the first is on the list. Both can be reached by whoever is not confined.
const granted, ungranted = "api.example.test", "evil.test"

// Programs as they come reach what is on the list and nothing else, whether they know of a proxy or not (R39, R42;
// process case 30). Unconfined, each reaches both.
func TestClientsReachWhatIsAllowed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.serveSSH()
		w.servePostgres()
		w.serveGit()
		java := filepath.Join(w.dir, "Fetch.java")
		require.NoError(t, os.WriteFile(java, []byte(javaClient), 0o644))
		f := newField(t)
		p := f.writable()
		p.Network = policy.Network{AllowedDomains: []string{granted}}
		box := open(t, p, shell.Options{Env: append(w.environment(), "HOME="+f.ws, "GIT_TERMINAL_PROMPT=0")})
		for _, c := range clients {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { c.test(t, w, f, box, java) })
		}
	})
}

func (c client) command(host, java string) []string {
	replace := strings.NewReplacer("HOST", host, "ATTACKER", attacker(), "JAVA", java)
	var argv []string
	for _, a := range c.argv {
		argv = append(argv, replace.Replace(a))
	}
	return argv
}

func (c client) test(t *testing.T, w *world, f *field, box *shell.Sandbox, java string) {
	if _, err := exec.LookPath(c.command(granted, java)[0]); err != nil {
		if !c.optional {
			skip(t, err.Error())
		}
		t.Logf("not installed: %v", err)
		return
	}
	c.unconfined(t, w, f, java)
	cmd, out := c.confined(t, f, box, granted, java)
	c.requireReached(t, w, granted, out)
	require.Empty(t, ofHost(cmd.Violations(), granted), "%s", out)
	cmd, out = c.confined(t, f, box, ungranted, java)
	seen := w.seen()
	require.Empty(t, seen, "what was refused has left: %s", out)
	require.NotZero(t, cmd.Completion.ExitCode, "%s", out)
	records := ofHost(cmd.Violations(), ungranted)
	require.NotEmpty(t, records, "no record; the command said:\n%s\nall: %v", out, cmd.Violations())
	require.Contains(t, records[0].Text(f.ws), ungranted)
	t.Logf("refused: exit %d, prints %q, record: %s", cmd.Completion.ExitCode, clipped(out), records[0].Text(f.ws))
}

// unconfined is the open arm: the client reaches both hosts.
func (c client) unconfined(t *testing.T, w *world, f *field, java string) {
	t.Helper()
	if strings.Contains(c.name, "SOCKS5") {
		return // there is no proxy here
	}
	for _, host := range []string{granted, ungranted} {
		argv := c.command(host, java)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = append(os.Environ(), append(w.environment(), "HOME="+f.ws, "GIT_TERMINAL_PROMPT=0")...), f.ws
		out, _ := cmd.CombinedOutput() // ssh and psql end in a failure of their own, after they have reached the server
		c.requireReached(t, w, host, string(out))
	}
}

func (c client) confined(t *testing.T, f *field, box *shell.Sandbox, host, java string) (*shell.Cmd, string) {
	t.Helper()
	argv := c.command(host, java)
	cmd := command(t, box, f.ws, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, c.env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, explain(err), "%s", out)
	return cmd, string(out)
}

func (c client) requireReached(t *testing.T, w *world, host, out string) {
	t.Helper()
	if c.welcome != "" {
		require.Contains(t, out, c.welcome)
	}
	var where []string
	for _, h := range w.seen() {
		if strings.HasPrefix(h, c.kind) && strings.Contains(h, worldZone[host+"."][0]) {
			where = append(where, h)
		}
	}
	if c.kind != "git" { // the repository's handler is git's own
		require.NotEmpty(t, where, "%s was not reached:\n%s", host, out)
	}
}

// ofHost are the records that are about a host.
func ofHost(all []shell.Violation, host string) []shell.Violation {
	var of []shell.Violation
	for _, v := range all {
		if strings.Contains(v.Target, host) {
			of = append(of, v)
		}
	}
	return of
}

func clipped(s string) string { return s[:min(len(s), 300)] }
