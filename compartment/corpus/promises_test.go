package corpus

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// guarantee is a row of the table of what holds in which engine: a program that puts it to the test, and how it ends there.
type guarantee struct {
	what   string
	source string
	limits compartment.Limits
	wasm   end
	goja   end
}

// end is how a program of a guarantee ends.
type end struct {
	kinds   []compartment.Kind
	session string // "" is not looked at
	// not says why the guarantee does not hold; empty says that it does. The end is then that of what happens instead.
	not string
	// elsewhere names the attack that shows it, where it may cost the process; no program is run then.
	elsewhere string
}

func kinds(k ...compartment.Kind) []compartment.Kind { return k }

var quick = compartment.Limits{Time: shortTime}

// guarantees are R261: which availability guarantee holds in which environment.
var guarantees = []guarantee{
	{what: "Guest code reaches its own realm and the powers handed in, nothing else.",
		source: "if (typeof process + typeof require + typeof fetch + typeof setTimeout !== 'undefined'.repeat(4)) throw 1; Function('return 1')",
		wasm:   end{kinds: kinds(compartment.KindDynamicCode)}, goja: end{kinds: kinds(compartment.KindDynamicCode)}},
	{what: "Guest code that loops is stopped at its time limit, within 250 ms, and cannot catch that.", limits: quick,
		source: "for (;;) { try { for (;;); } catch (e) {} finally { continue } }",
		wasm:   end{kinds: kinds(compartment.KindTime)}, goja: end{kinds: kinds(compartment.KindTime)}},
	{what: "Jobs that make jobs are stopped as well.", limits: quick, source: "(async () => { for (;;) await null })()",
		wasm: end{kinds: kinds(compartment.KindTime)}, goja: end{kinds: kinds(compartment.KindTime)}},
	{what: "Evaluate returns within 250 ms of the limit, whatever the guest does.", limits: quick, source: "/^(?=a)(a+)+$/.test('a'.repeat(20) + 'b')",
		wasm: end{kinds: kinds(compartment.KindTime, "")},
		goja: end{kinds: kinds(compartment.KindTime, compartment.KindStillRunning, ""), not: "an operation that makes gigabytes at once keeps the whole process busy, and it returns later"}},
	{what: "A stop lands inside one built-in too; nothing of the guest goes on after it.", limits: quick, source: "/^(a+)+$/.test('a'.repeat(40) + 'b')",
		wasm: end{kinds: kinds(compartment.KindTime)},
		goja: end{not: "a built-in that does not look for a stop goes on in a goroutine until it is through (engine_lost/still_running)", elsewhere: "RX-26"}},
	{what: "A guest cannot hold more memory than its limit.", source: "const k = []; for (;;) k.push(new Uint8Array(1 << 20))",
		limits: compartment.Limits{MemoryBytes: 16 << 20},
		wasm:   end{kinds: kinds(compartment.KindMemory)}, goja: end{not: "there is no limit, and a configuration that asks for one is refused"}},
	{what: "One call that asks for a terabyte allocates nothing.", source: "'x'.repeat(2 ** 40)",
		wasm: end{kinds: kinds(compartment.KindMemory, compartment.KindThrown)}, goja: end{kinds: kinds(compartment.KindTooLarge)}},
	{what: "A guest cannot end the process by allocating.", source: "const k = []; for (;;) { try { k.push(new Array(1e5).fill(0)) } catch (e) {} }", limits: quick,
		wasm: end{kinds: kinds(compartment.KindMemory, compartment.KindTime)}, goja: end{not: "a process that has not the memory ends", elsewhere: "RX-19"}},
	{what: "Recursion of guest code ends in a RangeError, or a stop.", source: "(function f() { return 1 + f() })()",
		wasm: end{kinds: kinds(compartment.KindThrown, compartment.KindDepth)}, goja: end{kinds: kinds(compartment.KindDepth)}},
	{what: "A source that nests deeply is refused before it fills the stack.", source: manyBrackets,
		wasm: end{kinds: kinds(compartment.KindSourceDepth)}, goja: end{kinds: kinds(compartment.KindSourceDepth)}},
	{what: "Recursion inside built-ins never fills the stack of the host.", source: "let f = [1]; for (let i = 0; i < 1e5; i++) f = [f]; String(f)", limits: compartment.Limits{Time: 5 * time.Second},
		wasm: end{kinds: kinds(compartment.KindThrown, compartment.KindDepth)},
		goja: end{kinds: kinds(compartment.KindTooLarge, compartment.KindThrown)}},
	{what: "After a stop the session has what it had before the stopped evaluation.", source: "globalThis.half = 1; for (;;);", limits: quick,
		wasm: end{kinds: kinds(compartment.KindTime), session: compartment.SessionRolledBack},
		goja: end{kinds: kinds(compartment.KindTime), session: compartment.SessionLost, not: "the realm is lost, and the outcome says so"}},
	{what: "After an error of the guest the session is kept.", source: "globalThis.half = 1; null.x",
		wasm: end{kinds: kinds(compartment.KindThrown), session: compartment.SessionKept},
		goja: end{kinds: kinds(compartment.KindThrown), session: compartment.SessionKept}},
	{what: "Calls of powers are counted and bounded.", source: "for (;;) readFile('ok.txt')", limits: compartment.Limits{HostCalls: 10},
		wasm: end{kinds: kinds(compartment.KindHostCalls)}, goja: end{kinds: kinds(compartment.KindHostCalls)}},
	{what: "Looking at a result runs no code of the guest.", source: "({ get a() { for (;;); }, toJSON() { for (;;); }, [Symbol.toPrimitive]() { for (;;); } })", limits: quick,
		wasm: end{kinds: kinds("")}, goja: end{kinds: kinds("")}},
}

// manyBrackets is deeper than any parser recurses.
var manyBrackets = string(slices.Repeat([]byte("["), 100_000))

// TestGuarantees runs a program for each row that is claimed, on each engine, and one for what happens where it is not. Afterwards another compartment
// answers (R261).
func TestGuarantees(t *testing.T) {
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		for _, g := range guarantees {
			want := g.wasm
			if e.Name() == "goja" {
				want = g.goja
			}
			t.Run(g.what, func(t *testing.T) { g.run(t, e, want) })
		}
	})
}

func (g guarantee) run(t *testing.T, e compartment.Engine, want end) {
	if want.kinds == nil {
		require.NotEmpty(t, want.not)
		require.False(t, e.Promises().Memory && e.Promises().Stack && e.Promises().Time, "an engine that promises all may not leave one out")
		if want.elsewhere != "" {
			require.True(t, slices.ContainsFunc(gojaExceptions, func(x exception) bool { return x.id == want.elsewhere }), "no exception %s", want.elsewhere)
		}
		if g.limits.MemoryBytes != 0 {
			_, err := e.Open(t.Context(), compartment.Config{Limits: g.limits})
			require.ErrorIs(t, err, compartment.ErrConfig)
		}
		return
	}
	config := compartment.Config{Powers: newWorld().powers("readFile"), Limits: g.limits}
	var o compartment.Outcome
	late := time.Duration(0)
	for range tries {
		begun := time.Now()
		o = evaluate(t, e, g.source, config)
		if late = time.Since(begun) - g.limits.Time; late < tolerance {
			break
		}
	}
	if g.limits.Time != 0 {
		require.Less(t, late, tolerance, "%d times", tries)
	}
	require.Contains(t, want.kinds, o.Kind, "%+v", o.Value)
	if want.session != "" {
		require.Equal(t, want.session, o.Session.State)
	}
	require.Equal(t, "2", string(evaluate(t, e, "1 + 1", compartment.Config{}).Data), "another compartment")
}

// cell is what the document says of a guarantee on an engine.
func (w end) cell() string {
	switch {
	case w.not == "":
		return "yes"
	case w.elsewhere != "":
		return fmt.Sprintf("no: %s (%s)", w.not, w.elsewhere)
	}
	return "no: " + w.not
}
