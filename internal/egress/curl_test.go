package egress

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCurl: what a real curl does, and what it prints when it is refused.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		if os.Getenv("SALLYPORT_LIVE") == "require" {
			t.Fatal("there is no curl")
		}
		t.Skip("there is no curl")
	}
	w := newWorld(t, allow(t, "example.com", "www.test"), Limits{})
	s, _ := w.secure()
	w.web("www.test", func(rw http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		io.WriteString(rw, r.Method+" "+r.Host+" "+itoa(int(n)))
	})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	proxy := w.proxy()
	run := func(args ...string) (string, string, int) {
		cmd := exec.CommandContext(t.Context(), curl, append([]string{"-q", "-sS", "--max-time", "10", "--noproxy", "", "--cacert", roots}, args...)...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			require.IsType(t, &exec.ExitError{}, err)
		}
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	upload := filepath.Join(t.TempDir(), "upload")
	require.NoError(t, os.WriteFile(upload, make([]byte, 3<<20), 0o600))

	for _, through := range [][]string{{"--proxy", "http://" + proxy}, {"--socks5-hostname", proxy}, {"--proxy", "http://" + proxy, "--proxytunnel"}} {
		out, errs, code := run(append(through, "http://www.test/")...)
		require.Zero(t, code, errs)
		require.Equal(t, "GET www.test 0", out)
		out, errs, code = run(append(through, "https://example.com/")...)
		require.Zero(t, code, errs)
		require.Equal(t, "over TLS to example.com", out)
		out, errs, code = run(append(through, "-T", upload, "-H", "Transfer-Encoding: chunked", "http://www.test/")...)
		require.Zero(t, code, errs)
		require.Equal(t, "PUT www.test 3145728", out)
	}
	require.Empty(t, w.records.all())

	out, _, _ := run("--proxy", "http://"+proxy, "-i", "http://evil.test/x")
	require.Contains(t, out, "HTTP/1.1 403 Connection blocked by network allowlist: evil.test:80")
	require.Contains(t, out, "X-Proxy-Error: blocked-by-allowlist")
	require.Contains(t, out, policyNotFault)
	out, _, _ = run("--proxy", "http://"+proxy, "-H", "Accept: application/json", "http://evil.test/x")
	require.True(t, json.Valid([]byte(out)), out)
	_, errs, code := run("--proxy", "http://"+proxy, "https://evil.test/")
	require.Equal(t, 56, code)
	require.Contains(t, errs, "403")
	_, errs, code = run("--socks5-hostname", proxy, "https://evil.test/")
	require.Equal(t, 97, code, errs)
	_, errs, code = run("--proxy", "http://"+proxy, "--connect-to", "evil.test:443:example.com:443", "https://evil.test/")
	require.Equal(t, 35, code, errs)
	require.Contains(t, errs, "access denied")
	_, errs, code = run("--proxy", "http://"+proxy, "-H", "Host: evil.test", "http://www.test/")
	require.Zero(t, code, errs)
	require.Len(t, w.records.all(), 6)
	require.Contains(t, w.records.all()[5].Reason, "a Host that is not the target")
}
