package goja

import (
	"context"
	"testing"

	"sallyport/compartment"
)

// echoPower is what a host call costs at least: a Local one runs on the guest's own goroutine.
func echoPower(local bool) compartment.Power {
	return compartment.Power{Name: "echo", Sync: true, Local: local, OnCancel: compartment.CancelDiscards, Params: []compartment.Param{{Name: "v"}},
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil }}
}

// BenchmarkFresh is a compartment with its first evaluation.
func BenchmarkFresh(b *testing.B) {
	e := NewWithoutMemoryLimit()
	for b.Loop() {
		c, err := e.Open(b.Context(), compartment.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if o, err := c.Evaluate(b.Context(), "1 + 1"); err != nil || o.Status != compartment.StatusOK {
			b.Fatal(o.Kind, err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkWarm runs one source over and over in one compartment.
func benchmarkWarm(b *testing.B, source string, powers ...compartment.Power) {
	c, err := NewWithoutMemoryLimit().Open(b.Context(), compartment.Config{Powers: powers, Limits: compartment.Limits{HostCalls: 1 << 30}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		if o, err := c.Evaluate(b.Context(), source); err != nil || o.Status != compartment.StatusOK {
			b.Fatal(o.Kind, err)
		}
	}
}

// BenchmarkWarm is an evaluation in a compartment that is there.
func BenchmarkWarm(b *testing.B) { benchmarkWarm(b, "1 + 1") }

// BenchmarkCalls1000 is a thousand calls of a power.
func BenchmarkCalls1000(b *testing.B) {
	const source = "for (let i = 0; i < 1000; i++) echo(i)"
	b.Run("local", func(b *testing.B) { benchmarkWarm(b, source, echoPower(true)) })
	b.Run("host", func(b *testing.B) { benchmarkWarm(b, source, echoPower(false)) })
}

// BenchmarkFib is guest code that calls nothing.
func BenchmarkFib(b *testing.B) {
	benchmarkWarm(b, "(function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) })(20)")
}
