package live

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"testing"

	"sallyport/policy"
	"sallyport/shell"
)

// bulkBody is the size of the large body.
const bulkBody = 100 << 20

// bench is a way of loading a server: what is compared, and in which of the two numbers.
type networkLoad struct {
	name, path, clients, connections string
	bulk                             bool
}

var networkLoads = []networkLoad{
	{"keep-alive, 1 client", "/", "1", "kept", false},
	{"keep-alive, 8 clients", "/", "8", "kept", false},
	{"new connections", "/", "1", "new", false},
	{"100 MB body", "/bulk", "1", "kept", true},
}

// BenchmarkNetwork compares requests from inside a sandbox, by proxy and captured, with the same client directly, all on
// loopback and in one run, in turn. The ratio is to the direct one; each part takes a second, three times, the best counts.
func BenchmarkNetwork(b *testing.B) {
	zeros := make([]byte, 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bulk" {
			_, _ = io.WriteString(out, "hello")
			return
		}
		out.Header().Set("Content-Length", strconv.Itoa(bulkBody))
		for range bulkBody / len(zeros) {
			if _, err := out.Write(zeros); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	port := strconv.Itoa(server.Listener.Addr().(*net.TCPAddr).Port)
	box, err := shell.Open(context.Background(), policy.Policy{Network: policy.Network{AllowedDomains: []string{"localhost:" + port}}}, shell.Options{})
	if err != nil {
		b.Fatal(explain(err))
	}
	defer box.Close()
	for _, l := range networkLoads {
		b.Run(l.name, func(b *testing.B) {
			for b.Loop() {
				l.compare(b, box, "http://localhost:"+port+l.path)
			}
		})
	}
}

func (l networkLoad) compare(b *testing.B, box *shell.Sandbox, url string) {
	var direct, proxy, captured float64
	for range 3 {
		direct = max(direct, l.run(b, nil, url, ""))
		proxy = max(proxy, l.run(b, box, url, "http://127.0.0.1:3128"))
		captured = max(captured, l.run(b, box, url, ""))
	}
	unit, per := "/s", 1.0
	if l.bulk {
		unit, per = "MB/s", 1e6
	}
	b.ReportMetric(direct/per, "direct-"+unit)
	b.ReportMetric(proxy/per, "proxy-"+unit)
	b.ReportMetric(captured/per, "captured-"+unit)
	b.ReportMetric(proxy/direct, "proxy-ratio")
	b.ReportMetric(captured/direct, "captured-ratio")
}

// run loads the server for a second and gives requests a second, or bytes.
func (l networkLoad) run(b *testing.B, box *shell.Sandbox, url, proxy string) float64 {
	args := []string{"load", url, proxy, l.clients, l.connections, "1s"}
	var out []byte
	var err error
	if box == nil {
		out, err = exec.Command(attacker(), args...).CombinedOutput()
	} else {
		cmd := box.Command(context.Background(), attacker(), args...)
		cmd.Dir = "/"
		out, err = cmd.CombinedOutput()
	}
	var requests, bytes float64
	if n, scanErr := fmt.Sscan(string(out), &requests, &bytes); err != nil || n != 2 {
		b.Fatal(err, scanErr, string(out))
	}
	if l.bulk {
		return bytes
	}
	return requests
}

// BenchmarkSpawnWithAList is a cold true without a network, and with a list of hosts.
func BenchmarkSpawnWithAList(b *testing.B) {
	for name, domains := range map[string][]string{"none": nil, "list": {"example.com"}} {
		b.Run(name, func(b *testing.B) {
			box, err := shell.Open(context.Background(), policy.Policy{Network: policy.Network{AllowedDomains: domains}}, shell.Options{Warm: -1})
			if err != nil {
				b.Fatal(explain(err))
			}
			defer box.Close()
			for b.Loop() {
				cmd := box.Command(context.Background(), "true")
				cmd.Dir = "/"
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
