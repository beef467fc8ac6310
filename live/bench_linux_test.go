package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/shell"
)

func init() { modes["spawn-times"] = spawnTimes }

// envFirstProcess names the program for the first processes of the way "small".
const envFirstProcess = "SALLYPORT_LIVE_FIRST_PROCESS"

// starter runs one command to its end. What before does is not timed.
type starter struct {
	name   string
	run    func() error
	before func()
}

// bubblewrapArgs make bubblewrap do what a jail does by default, as far as it can.
var bubblewrapArgs = []string{"--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "true"}

// starters are the ways of running true that are compared. Bubblewrap is left out where it is not installed.
func starters() ([]starter, func(), error) {
	cold, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{Warm: -1})
	if err != nil {
		return nil, nil, err
	}
	warm, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{})
	if err != nil {
		return nil, nil, err
	}
	small := cold
	if program := os.Getenv(envFirstProcess); program != "" {
		if small, err = shell.Open(context.Background(), policy.Policy{}, shell.Options{Warm: -1, Helper: program}); err != nil {
			return nil, nil, err
		}
	}
	in := func(box *shell.Sandbox) error {
		cmd := box.Command(context.Background(), "true")
		cmd.Dir = "/"
		if err := cmd.Run(); err != nil {
			return err
		}
		return exitZero(cmd.Completion.ExitCode)
	}
	// The first command takes the jail that Open has made; those that are measured make their own.
	if err := errors.Join(in(cold), in(small)); err != nil {
		return nil, nil, err
	}
	list := []starter{
		{name: "plain", run: func() error { return exec.Command("true").Run() }},
		{name: "cold", run: func() error { return in(cold) }},
		{name: "small", run: func() error { return in(small) }},
		{name: "warm", run: func() error { return in(warm) }, before: func() { time.Sleep(untilReady) }},
		{name: "cold+open", run: func() error {
			box, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{Warm: -1})
			if err != nil {
				return err
			}
			defer box.Close()
			return in(box)
		}},
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		list = append(list, starter{name: "bwrap", run: func() error { return exec.Command("bwrap", bubblewrapArgs...).Run() }})
	}
	return list, func() { _, _, _ = cold.Close(), warm.Close(), small.Close() }, nil // nothing runs in them any more
}

// untilReady is the pause that a model makes at least between two commands: long enough for the next jail to be set up.
const untilReady = 20 * time.Millisecond

func exitZero(code int) error {
	if code != 0 {
		return fmt.Errorf("true exited with %d", code)
	}
	return nil
}

// medians runs every starter n times, in turn so that what else the machine does hits all alike, and gives the median of
// each.
func medians(n int) (map[string]time.Duration, error) {
	list, done, err := starters()
	if err != nil {
		return nil, err
	}
	defer done()
	times := map[string][]time.Duration{}
	for range n {
		for _, s := range list {
			if s.before != nil {
				s.before()
			}
			start := time.Now()
			if err := s.run(); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			times[s.name] = append(times[s.name], time.Since(start))
		}
	}
	out := map[string]time.Duration{}
	for name, d := range times {
		slices.Sort(d)
		out[name] = d[len(d)/2]
	}
	return out, nil
}

// spawnTimes measures as whoever runs it, in a host that uses the given number of MiB, and prints the medians.
func spawnTimes(args []string) int {
	heap := make([]byte, atoi(args[1])<<20)
	for i := 0; i < len(heap); i += 4096 {
		heap[i] = 1
	}
	m, err := medians(atoi(args[0]))
	runtime.KeepAlive(heap)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	b, err := json.Marshal(m)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(string(b))
	return 0
}

// BenchmarkSpawn compares what it costs to run true: a plain fork and exec; a command in an open sandbox with a jail that
// was not made before ("cold"), one whose first process is the program made for that ("small"), and one that was ready
// ("warm"); the first with opening and closing the sandbox; and bubblewrap with all namespaces. One operation is one of each, in turn; the metrics are the medians and their ratios. It runs as root
// and as an ordinary user, and once in a host that uses much memory, for what a fork copies grows with that (R4).
func BenchmarkSpawn(b *testing.B) {
	small := filepath.Join(base, "firstprocess")
	build := exec.Command("go", "build", "-o", small, "sallyport/shell/firstprocess")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.Setenv(envFirstProcess, small)
	if os.Getuid() == 0 {
		b.Run("root", func(b *testing.B) { report(b, again("spawn-times", strconv.Itoa(b.N), "0")) })
	}
	b.Run("user", func(b *testing.B) { report(b, asUser("spawn-times", strconv.Itoa(b.N), "0")) })
	b.Run("large_host", func(b *testing.B) { report(b, again("spawn-times", strconv.Itoa(b.N), "512")) })
}

// report runs the measurement in a process of its own and reports what it found.
func report(b *testing.B, cmd *exec.Cmd) {
	b.Helper()
	if err := probe(); err != nil {
		b.Fatal("no command can be confined here: ", err)
	}
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var m map[string]time.Duration
	if err := json.Unmarshal(out, &m); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for name, d := range m {
		b.ReportMetric(float64(d.Microseconds()), name+"-µs")
	}
	b.ReportMetric(ratio(m["cold"], m["plain"]), "cold/plain")
	b.ReportMetric(ratio(m["warm"], m["plain"]), "warm/plain")
	if bwrap, ok := m["bwrap"]; ok {
		b.ReportMetric(ratio(m["small"], bwrap), "small/bwrap")
		b.ReportMetric(ratio(m["cold"], bwrap), "cold/bwrap")
	}
	b.ReportMetric(0, "ns/op") // a sum of unlike things
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
