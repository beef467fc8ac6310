package wasm

import (
	"context"
	"strconv"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestMemoryLimit: the limit holds to the byte, whatever it is; one that has no room for the realm is refused (R258).
func TestMemoryLimit(t *testing.T) {
	for _, limit := range []int64{4 << 20, 16 << 20, 200 << 20} {
		o := once(t, "const k = []; for (;;) k.push(new Uint8Array(1 << 20).fill(1))", compartment.Config{Limits: compartment.Limits{MemoryBytes: limit}})
		require.Equal(t, compartment.KindMemory, o.Kind)
		require.LessOrEqual(t, o.Used.PeakBytes.Used, limit)
		require.Greater(t, o.Used.PeakBytes.Used, limit/2)
		require.Equal(t, limit, o.Used.PeakBytes.Limit)
	}
	_, err := testEngine(t).Open(context.Background(), compartment.Config{Limits: compartment.Limits{MemoryBytes: 1 << 20}})
	require.ErrorIs(t, err, compartment.ErrConfig)
	require.ErrorContains(t, err, "limits.memory_bytes")
}

// TestHostMemoryStaysSmall: a guest that takes all it may have costs the host about that, and what the host copies of it is bounded.
func TestHostMemoryStaysSmall(t *testing.T) {
	e := newTestEngine(t, Options{})
	before := resident(t)
	r := open(t, e, compartment.Config{Powers: []compartment.Power{syncPower("echo", func(c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil },
		compartment.Param{Name: "v"})}, Limits: compartment.Limits{MemoryBytes: 32 << 20}})
	o := evaluate(t, r, "const s = 'x'.repeat(10 << 20); for (let i = 0; i < 20; i++) { try { echo(s) } catch (e) {} try { echo([s, s]) } catch (e) {} } s.length")
	require.Equal(t, compartment.StatusOK, o.Status, "%+v", o.Value)
	require.Less(t, resident(t)-before, 48<<20)
}

// TestStackDepth: the limit is about the number of calls.
func TestStackDepth(t *testing.T) {
	for _, depth := range []int{16, 100, 1000} {
		r := open(t, testEngine(t), compartment.Config{Limits: compartment.Limits{StackDepth: depth}})
		o := evaluate(t, r, "let n = 0; const f = () => { n++; f() }; try { f() } catch (e) { globalThis.name = e.name } [n, name]")
		require.Equal(t, compartment.StatusOK, o.Status)
		require.Regexp(t, `^\[\d+, "RangeError"\]$`, o.Value.Text)
		n, err := strconv.Atoi(evaluate(t, r, "n").Value.Text)
		require.NoError(t, err)
		require.InDelta(t, depth, n, float64(depth)*0.2)
	}
}

// TestHostCallLimits: calls are counted, and one more than allowed is a stop.
func TestHostCallLimits(t *testing.T) {
	w := &snippetWorld{}
	c := compartment.Config{Powers: w.powers(), Limits: compartment.Limits{HostCalls: 5}}
	o := once(t, "for (let i = 0; i < 5; i++) echo(i); 'done'", c)
	require.Equal(t, `"done"`, o.Value.Text)
	require.Equal(t, compartment.Gauge{Used: 5, Limit: 5}, o.Used.HostCalls)
	o = once(t, "try { for (;;) echo(1) } catch (e) { 'caught' }", c)
	require.Equal(t, compartment.KindHostCalls, o.Kind)
	require.NotNil(t, o.Where)
	o = once(t, "await Promise.allSettled(Array.from({ length: 10 }, () => later(1)))", c)
	require.Equal(t, compartment.KindHostCalls, o.Kind)
}

// TestSourceLimit: a source that is too long is not read.
func TestSourceLimit(t *testing.T) {
	o := once(t, "1+1+1+1+1", compartment.Config{Limits: compartment.Limits{SourceBytes: 5}})
	require.Equal(t, compartment.KindSourceSize, o.Kind)
	o = once(t, "("+string(make([]byte, 100_000))+"1)", compartment.Config{})
	require.Equal(t, compartment.KindParse, o.Kind)
	deep := make([]byte, 100_000)
	for i := range deep {
		deep[i] = '['
	}
	o = once(t, string(deep), compartment.Config{})
	require.Equal(t, compartment.KindSourceDepth, o.Kind)
}

// TestUsed: fuel and memory are reported, and more work is more fuel.
func TestUsed(t *testing.T) {
	small := once(t, "let n = 0; for (let i = 0; i < 1000; i++) n++; n", compartment.Config{})
	large := once(t, "let n = 0; for (let i = 0; i < 100000; i++) n++; n", compartment.Config{})
	require.Positive(t, small.Used.Fuel.Used)
	require.Greater(t, large.Used.Fuel.Used, 50*small.Used.Fuel.Used)
	require.Greater(t, small.Used.PeakBytes.Used, int64(1<<20))
	again := once(t, "let n = 0; for (let i = 0; i < 100000; i++) n++; n", compartment.Config{})
	require.Equal(t, large.Used.Fuel.Used, again.Used.Fuel.Used, "the same program uses the same fuel")
}

// TestUnhandledRejections are counted.
func TestUnhandledRejections(t *testing.T) {
	for source, want := range map[string]int{
		"Promise.reject(1); 5":                                                1,
		"Promise.reject(1).catch(() => 2); 5":                                 0,
		"const p = Promise.reject(1); p.catch(() => 2); Promise.reject(3); 5": 1,
		"Promise.resolve().then(() => { throw 1 }); 5":                        1,
		"for (let i = 0; i < 5000; i++) Promise.reject(i); 5":                 maxUnhandled,
		"5": 0,
	} {
		o := once(t, source, compartment.Config{})
		require.Equal(t, want, o.Console.UnhandledRejections, source)
		require.Equal(t, "5", o.Value.Text)
	}
}

// TestEndings: name and message of what was thrown, its causes, its kind, and the boundary's own code only for the boundary's own errors.
func TestEndings(t *testing.T) {
	w := &snippetWorld{}
	c := compartment.Config{Powers: w.powers()}
	o := once(t, "const e = new TypeError('a', { cause: new Error('b', { cause: 'c' }) }); throw e", c)
	require.Equal(t, &compartment.Exception{Name: "TypeError", Message: "a", Causes: []string{"Error: b"}}, o.Value.Exception)
	o = once(t, "const e = new Error('a'); e.cause = e; throw e", c)
	require.Equal(t, []string{"[circular]"}, o.Value.Exception.Causes)
	o = once(t, "let e = new Error('0'); for (let i = 1; i < 20; i++) e = new Error(i, { cause: e }); throw e", c)
	require.Equal(t, []string{"Error: 18", "Error: 17", "Error: 16", "Error: 15", "Error: 14", "…"}, o.Value.Exception.Causes)
	o = once(t, "throw { name: 'N', message: 'm' }", c)
	require.Equal(t, "N", o.Value.Exception.Name)
	o = once(t, "throw 7", c)
	require.Equal(t, &compartment.Exception{Name: "thrown", Message: "7"}, o.Value.Exception)
	o = once(t, "no()", c)
	require.Equal(t, compartment.KindByPower, o.Kind)
	require.Equal(t, "not_today", o.Value.Exception.Code)
	o = once(t, "try { no() } catch (e) { const f = new Error(e.message); f.code = e.code; throw f }", c)
	require.Equal(t, compartment.KindThrown, o.Kind)
	require.Empty(t, o.Value.Exception.Code)
	o = once(t, "trouble()", c)
	require.Equal(t, compartment.KindPowerError, o.Kind)
	require.ErrorContains(t, o.Cause, "deadbeef", "the host's log has it")
	r := open(t, testEngine(t), c)
	evaluate(t, r, "try { no() } catch (e) { globalThis.kept = e }")
	require.Equal(t, compartment.KindByPower, evaluate(t, r, "throw kept").Kind, "an error of an earlier evaluation is still known")
}

// TestFailuresAreForgotten: the host remembers the latest, and no more than that.
func TestFailuresAreForgotten(t *testing.T) {
	var g failures
	first := g.add(&compartment.Failure{Text: "first"})
	require.Equal(t, "first", g.of(first).Text)
	for range maxFailures - 1 {
		g.add(&compartment.Failure{})
	}
	require.Equal(t, "first", g.of(first).Text)
	last := g.add(&compartment.Failure{Text: "last"})
	require.Nil(t, g.of(first))
	require.Equal(t, "last", g.of(last).Text)
	require.Nil(t, g.of(0))
	require.Nil(t, g.of(last+1))
	require.Len(t, g.kept, maxFailures)
}
