package live

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/shell"
)

func init() { modes["http-load"] = httpLoad }

// httpLoad makes n requests with so many clients, each with a connection that it keeps or a new one for each, and prints how
// many there were in a second, or how many MB.
func httpLoad(args []string) int {
	url, kind, n, clients := args[0], args[1], atoi(args[2]), atoi(args[3])
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: clients, DisableKeepAlives: kind == "new"}
	c := &http.Client{Transport: transport}
	var wg sync.WaitGroup
	var bytes int64
	var mu sync.Mutex
	failed := false
	begin := time.Now()
	for range clients {
		wg.Go(func() {
			for range n / clients {
				r, err := c.Get(url)
				if err == nil {
					var m int64
					m, err = io.Copy(io.Discard, r.Body)
					r.Body.Close()
					mu.Lock()
					bytes += m
					mu.Unlock()
				}
				if err != nil || r.StatusCode != http.StatusOK {
					mu.Lock()
					failed = true
					mu.Unlock()
					fmt.Fprintln(os.Stderr, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if failed {
		return 1
	}
	rate := float64(n/clients*clients) / time.Since(begin).Seconds()
	if kind == "bulk" {
		rate = float64(bytes) / 1e6 / time.Since(begin).Seconds()
	}
	fmt.Printf("%.1f\n", rate)
	return 0
}

// networkLoads are what is measured: small requests on connections that are kept, by one client and by eight; a connection
// for each; a body of 100 MB.
var networkLoads = []struct {
	name, path, kind string
	n, clients       int
}{
	{"keep-alive 1", "/", "keep", 3000, 1},
	{"keep-alive 8", "/", "keep", 8000, 8},
	{"new", "/", "new", 1000, 1},
	{"bulk MB", "/bulk", "bulk", 5, 1},
}

// BenchmarkNetwork compares requests to a server on loopback, direct and from inside of a jail, by the proxy and by
// captured connections, in one run: rates a second, and the ratio to direct. The address is granted, so no name is looked up
// in either way.
func BenchmarkNetwork(b *testing.B) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 1<<20)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	mux.HandleFunc("/bulk", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(100<<20))
		for range 100 {
			if _, err := w.Write(body); err != nil {
				return
			}
		}
	})
	s := &http.Server{Handler: mux}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	p := policy.Policy{Network: policy.Network{AllowedDomains: []string{"localhost:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}}}
	box, err := shell.Open(b.Context(), p, shell.Options{})
	if err != nil {
		b.Fatal(explain(err))
	}
	defer box.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, load := range networkLoads {
		b.Run(strings.ReplaceAll(load.name, " ", "_"), func(b *testing.B) {
			ways := map[string]func() ([]byte, error){
				"direct": func() ([]byte, error) {
					cmd := exec.Command(attacker(), "http-load", "http://127.0.0.1:"+port+load.path, load.kind, strconv.Itoa(load.n), strconv.Itoa(load.clients))
					return cmd.Output()
				},
			}
			for way, env := range map[string][]string{"proxy": {"NO_PROXY=", "no_proxy="}, "captured": forgetful} {
				ways[way] = func() ([]byte, error) {
					// Go asks no proxy for localhost, so the name has a dot at its end.
					host := map[string]string{"proxy": "localhost.", "captured": "127.0.0.1"}[way]
					cmd := box.Command(b.Context(), attacker(), "http-load", "http://"+host+":"+port+load.path, load.kind, strconv.Itoa(load.n), strconv.Itoa(load.clients))
					cmd.Dir, cmd.Env = "/", env
					return cmd.Output()
				}
			}
			best := map[string]float64{}
			for range b.N {
				for way, run := range ways {
					out, err := run()
					if err != nil {
						b.Fatalf("%s: %v", way, err)
					}
					rate, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
					if err != nil {
						b.Fatalf("%s: %q", way, out)
					}
					best[way] = max(best[way], rate)
				}
			}
			for way, rate := range best {
				b.ReportMetric(rate, way+"/s")
				if way != "direct" {
					b.ReportMetric(rate/best["direct"], way+"/direct")
				}
			}
			b.ReportMetric(0, "ns/op") // a sum of unlike things
		})
	}
}
