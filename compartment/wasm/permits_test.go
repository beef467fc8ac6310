package wasm

import (
	"strings"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestPermitsMatchTheEngine compares the table with the live realm: what was removed is exactly what is denied by name, so a name that a new version of the
// engine adds fails here until somebody has thought about it (R252).
func TestPermitsMatchTheEngine(t *testing.T) {
	base, err := testEngine(t).base(compartment.RefuseCode)
	require.NoError(t, err)
	removed := base.fixed.removed
	denied := map[string]string{}
	for _, d := range compartment.Denials() {
		require.NotEmpty(t, d.Why, d.Name)
		denied[d.Name] = d.Why
	}
	for _, name := range removed {
		require.Contains(t, denied, name, "the engine has a name that is neither permitted nor denied")
	}
	for _, name := range []string{"WeakRef", "performance", "Function.prototype.caller", "RegExp.prototype.compile"} {
		require.Contains(t, removed, name, "the walk removed nothing")
	}
	require.Greater(t, base.fixed.objects, 650)
}

// TestPermitsAreThere is the other way: the engine has what the table permits, but for a few names that only other engines have, so that a row with a wrong
// name does not stay.
func TestPermitsAreThere(t *testing.T) {
	var missing compartment.Value
	report := syncPower("report", func(c *compartment.Call) (compartment.Value, error) {
		missing = c.Arg(0)
		return compartment.Value{}, nil
	},
		compartment.Param{Name: "names"})
	o := once(t, strings.Replace(findMissing, "PERMITS", compartment.PermitsJSON(), 1), compartment.Config{Powers: []compartment.Power{report}})
	require.Equal(t, compartment.StatusOK, o.Status, "%+v", o.Value.Exception)
	names := []string{}
	for i := range missing.Len() {
		name, _ := missing.Item(i).AsString()
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"BigInt.prototype.toLocaleString"}, names)
}

// findMissing looks for everything in the table and reports what is not there.
const findMissing = `const table = PERMITS
const proto = Object.getPrototypeOf, agen = (async function* () {})
const hidden = {
  "%TypedArray%": proto(Int8Array), "%GeneratorFunction%": (function* () {}).constructor, "%AsyncFunction%": (async () => {}).constructor,
  "%AsyncGeneratorFunction%": agen.constructor, "%ArrayIteratorPrototype%": proto([].values()), "%StringIteratorPrototype%": proto(""[Symbol.iterator]()),
  "%MapIteratorPrototype%": proto(new Map().keys()), "%SetIteratorPrototype%": proto(new Set().keys()), "%RegExpStringIteratorPrototype%": proto("".matchAll(/a/g)),
  "%IteratorHelperPrototype%": proto([].values().map((x) => x)), "%WrapForValidIteratorPrototype%": proto(Iterator.from({ next() {} })),
  "%AsyncIteratorPrototype%": proto(proto(agen.prototype)), "%ThrowTypeError%": Object.getOwnPropertyDescriptor((function () { "use strict"; return arguments })(), "callee").get,
}
const key = (k) => k.startsWith("@@") ? Symbol[k.slice(2)] : k
const missing = []
for (const [path, names] of Object.entries(table)) {
  let o = globalThis
  if (path !== "globalThis") for (const k of path.split(".")) o = o === undefined ? o : hidden[k] ?? o[key(k)]
  for (const n of names) if (o === undefined || !Object.hasOwn(o, key(n))) missing.push(path + "." + n)
}
report(missing)`
