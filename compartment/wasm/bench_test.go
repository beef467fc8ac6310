package wasm

import (
	"context"
	"os"
	"testing"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/goja"

	"github.com/stretchr/testify/require"
)

// The benchmarks compare, in one run, this engine, the same without metering, and goja in its compartment. "make bench" puts beside them goja without
// the boundary and, with BENCH_PEERS=1, QuickJS and V8 on Node, and prints ratios:
//
//	go test -run '^$' -bench . ./compartment/wasm

// benchEngines are the engines to compare.
func benchEngines(b *testing.B) []namedEngine {
	needGuest(b)
	unmetered, err := newEngine(context.Background(), Options{CacheDir: codeDir}, newMemorySystem(), 0)
	require.NoError(b, err)
	b.Cleanup(func() { unmetered.Close() })
	return []namedEngine{{"wasm", testEngine(b)}, {"unmetered", unmetered}, {"goja", goja.NewWithoutMemoryLimit()}}
}

type namedEngine struct {
	name string
	compartment.Engine
}

// benchPower is a function of the host that gives back a number.
func benchPower() compartment.Power {
	p := syncPower("f", func(c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil },
		compartment.Param{Name: "n", Types: []compartment.Type{compartment.TypeNumber}})
	p.Local = true
	return p
}

func benchConfig() compartment.Config {
	return compartment.Config{Powers: []compartment.Power{benchPower()}, Limits: compartment.Limits{Time: time.Minute}}
}

// BenchmarkFreshRealm is a hardened realm and its first evaluation, and its end.
func BenchmarkFreshRealm(b *testing.B) {
	for _, e := range benchEngines(b) {
		b.Run(e.name, func(b *testing.B) {
			for b.Loop() {
				r, err := e.Open(context.Background(), benchConfig())
				require.NoError(b, err)
				_, err = r.Evaluate(context.Background(), "1+1")
				require.NoError(b, err)
				require.NoError(b, r.Close())
			}
		})
	}
}

// BenchmarkNewInstance is the same when there is no instance to use again.
func BenchmarkNewInstance(b *testing.B) {
	e := testEngine(b)
	var rooms []compartment.Compartment
	for b.Loop() {
		r, err := e.Open(context.Background(), benchConfig())
		require.NoError(b, err)
		_, err = r.Evaluate(context.Background(), "1+1")
		require.NoError(b, err)
		if rooms = append(rooms, r); len(rooms) == 500 {
			b.StopTimer()
			for _, r := range rooms {
				require.NoError(b, r.Close())
			}
			rooms = rooms[:0]
			b.StartTimer()
		}
	}
	for _, r := range rooms {
		require.NoError(b, r.Close())
	}
}

// benchPrograms are what evaluations do; the sources are in ../testdata/bench, for other engines to run too. Calls is how often the host is called.
var benchPrograms = []struct {
	name  string
	calls int
}{{"WarmEval", 0}, {"HostCall", 10000}, {"Fib", 0}, {"JSON", 0}, {"Sort", 0}, {"Strings", 0}, {"CopyOut", 0}}

// BenchmarkPrograms runs them again and again in one realm.
func BenchmarkPrograms(b *testing.B) {
	engines := benchEngines(b)
	for _, p := range benchPrograms {
		source, err := os.ReadFile("../testdata/bench/" + p.name + ".js")
		require.NoError(b, err)
		b.Run(p.name, func(b *testing.B) {
			for _, e := range engines {
				b.Run(e.name, func(b *testing.B) {
					c := benchConfig()
					r, err := e.Open(context.Background(), c)
					require.NoError(b, err)
					defer r.Close()
					for b.Loop() {
						o, err := r.Evaluate(context.Background(), string(source))
						if err != nil || o.Status != compartment.StatusOK { // require would be in what is measured
							b.Fatal(err, o.Kind, o.Value)
						}
					}
					if p.calls > 0 {
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.calls), "ns/call")
					}
				})
			}
		})
	}
}

// BenchmarkStart is making the engine with its code in the cache.
func BenchmarkStart(b *testing.B) {
	testEngine(b)
	for b.Loop() {
		e, err := New(context.Background(), Options{CacheDir: codeDir})
		require.NoError(b, err)
		require.NoError(b, e.Close())
	}
}
