package shell_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// BenchmarkSetup shows where the time of a cold jail goes: with -v, each kind of system call of the set-up by the time that
// it takes, in the median over all jails. "executed" is when the first process has been executed, "ready" when it has
// put up what it can only put up itself and has read everything back.
func BenchmarkSetup(b *testing.B) {
	needBoundary(b)
	box := open(b, policy.Policy{}, shell.Options{})
	took := map[[2]string][]time.Duration{}
	calls := map[[2]string]int{}
	var executed, ready []time.Duration
	for b.Loop() {
		steps, x, r, err := shell.TimedStart(b.Context(), box)
		require.NoError(b, err)
		sums := map[[2]string]time.Duration{}
		clear(calls)
		for _, s := range steps {
			key := [2]string{s.Layer, s.Call}
			sums[key] += s.Took
			calls[key] += s.Calls
		}
		for key, sum := range sums {
			took[key] = append(took[key], sum)
		}
		executed, ready = append(executed, x), append(ready, r)
	}
	middle := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/2]
	}
	b.ReportMetric(float64(middle(executed).Microseconds()), "executed-µs")
	b.ReportMetric(float64(middle(ready).Microseconds()), "ready-µs")
	type line struct {
		key  [2]string
		took time.Duration
	}
	var lines []line
	for key, all := range took {
		lines = append(lines, line{key, middle(all)})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(b.took, a.took) })
	for _, l := range lines {
		b.Logf("%6d µs  %3d × %s: %s", l.took.Microseconds(), calls[l.key], l.key[0], l.key[1])
	}
}
