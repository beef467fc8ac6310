package live

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/shell"
)

func init() { modes["throughput"] = throughput }

// throughput runs a number of commands with a number of workers, in each way, one way after the other, twice, and prints the
// better rate of each: commands a second.
func throughput(args []string) int {
	commands, workers := atoi(args[0]), atoi(args[1])
	ways, done, err := throughputWays(workers)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer done()
	rates := map[string]float64{}
	for range 2 {
		for _, w := range ways {
			rate, err := rateOf(w.run, commands, workers)
			if err != nil {
				fmt.Println(w.name, err)
				return 1
			}
			rates[w.name] = max(rates[w.name], rate)
		}
	}
	b, err := json.Marshal(rates)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(string(b))
	return 0
}

func throughputWays(workers int) ([]starter, func(), error) {
	box, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{Warm: workers})
	if err != nil {
		return nil, nil, err
	}
	ways := []starter{
		{name: "plain", run: func() error { return exec.Command("true").Run() }},
		{name: "ours", run: func() error {
			cmd := box.Command(context.Background(), "true")
			cmd.Dir = "/"
			if err := cmd.Run(); err != nil {
				return err
			}
			return exitZero(cmd.Completion.ExitCode)
		}},
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		ways = append(ways, starter{name: "bwrap", run: func() error { return exec.Command("bwrap", bubblewrapArgs...).Run() }})
	}
	return ways, func() { _ = box.Close() }, nil // nothing runs in it any more
}

// rateOf runs the commands and gives how many there were in a second.
func rateOf(run func() error, commands, workers int) (float64, error) {
	var left, failed atomic.Int64
	left.Store(int64(commands))
	var first error
	var once sync.Once
	var group sync.WaitGroup
	begin := time.Now()
	for range workers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := run(); err != nil {
					failed.Add(1)
					once.Do(func() { first = err })
				}
			}
		})
	}
	group.Wait()
	return float64(commands) / time.Since(begin).Seconds(), first
}

// BenchmarkThroughput compares how many commands run in a second, one after another and four at a time, as an ordinary user:
// plain, in a sandbox that keeps as many jails ready as there are workers, and by bubblewrap. One operation is one command of
// each.
func BenchmarkThroughput(b *testing.B) {
	for _, workers := range []int{1, 4} {
		b.Run(strconv.Itoa(workers)+"_workers", func(b *testing.B) {
			if err := probe(); err != nil {
				b.Fatal("no command can be confined here: ", err)
			}
			out, err := asUser("throughput", strconv.Itoa(b.N), strconv.Itoa(workers)).Output()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			var rates map[string]float64
			if err := json.Unmarshal(out, &rates); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			for name, r := range rates {
				b.ReportMetric(r, name+"/s")
			}
			if rates["bwrap"] > 0 {
				b.ReportMetric(rates["ours"]/rates["bwrap"], "ours/bwrap")
			}
			b.ReportMetric(0, "ns/op") // a sum of unlike things
		})
	}
}
