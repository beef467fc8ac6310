package corpus

import (
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// engineNames are the engines.
var engineNames = []string{"wasm", "goja"}

// eachEngine runs a test once on each engine.
func eachEngine(t *testing.T, test func(t *testing.T, e compartment.Engine)) {
	for _, name := range engineNames {
		t.Run(name, func(t *testing.T) {
			needEngine(t, name)
			e, closeEngine, err := makeEngine(name)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, closeEngine()) })
			test(t, e)
		})
	}
}

// evaluate runs a source in a compartment of its own.
func evaluate(t testing.TB, e compartment.Engine, source string, config compartment.Config) compartment.Outcome {
	t.Helper()
	c, err := e.Open(t.Context(), config)
	require.NoError(t, err)
	defer c.Close()
	o, err := c.Evaluate(t.Context(), source)
	require.NoError(t, err)
	return o
}

// TestUndeclaredNames: a name that sounds like a power, and is none, ends in advice that says what was granted and who can grant more.
func TestUndeclaredNames(t *testing.T) {
	config := compartment.Config{Powers: newWorld().powers("readFile")}
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		for _, source := range []string{`fetch("x")`, `await fetch("x")`, `(async () => { await 1; fetch("x") })()`, "function f() { return process.env }\nf()"} {
			o := evaluate(t, e, source, config)
			require.Equal(t, compartment.StatusException, o.Status, source)
			require.Contains(t, o.Next, "A name is not declared.", source)
			require.Contains(t, o.Next, "readFile(path: string)", source)
		}
		for _, source := range []string{`throw new TypeError("fetch is not defined")`, `throw { name: "ReferenceError" }`, `null.x`, `throw 1`} {
			require.NotContains(t, evaluate(t, e, source, config).Next, "not declared", source)
		}
	})
}
