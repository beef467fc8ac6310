package search_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/shell"
	"sallyport/shell/search"
)

// BenchmarkGoTree searches Go's own sources with bare ripgrep, and with each engine confined, one after the other in each
// round, jail and all. It tells the medians in milliseconds, and what they are times bare ripgrep.
func BenchmarkGoTree(b *testing.B) {
	needsRipgrep(b)
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(filepath.Join(string(out[:len(out)-1]), "src"))
	if err != nil {
		b.Fatal(err)
	}
	for name, pattern := range map[string]string{
		"word":    "GOMAXPROCS",
		"regexp":  `func \(\w+ \*?\w+\) (Read|Write)\(`,
		"nothing": "no such text anywhere",
		"many":    "return nil, err",
	} {
		b.Run(name, func(b *testing.B) {
			box, w := place(b, root, policy.Filesystem{}, shell.Options{})
			arms := map[string]func(){
				"bare": func() {
					cmd := exec.Command("rg", "--no-config", "-n", "-e", pattern, "./")
					cmd.Dir = root
					_, _ = cmd.Output() // that nothing was found is its exit code 1
				},
			}
			for _, engine := range engines(b) {
				s := search.New(box, w.Dir, search.Options{Engine: engine})
				arms[string(engine)] = func() {
					if _, err := s.Lines(b.Context(), search.Query{Pattern: pattern}, func(search.Match) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			}
			times := map[string][]time.Duration{}
			for b.Loop() {
				for _, arm := range []string{"bare", "ripgrep", "builtin"} {
					runtime.GC()
					began := time.Now()
					arms[arm]()
					times[arm] = append(times[arm], time.Since(began))
				}
			}
			bare := median(times["bare"])
			for arm := range arms {
				b.ReportMetric(float64(median(times[arm]).Microseconds())/1000, arm+"-ms")
				b.ReportMetric(float64(median(times[arm]))/float64(bare), arm+"/bare")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
