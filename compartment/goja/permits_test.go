package goja

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
)

// TestPermitsMatchTheEngine compares the table with the live realm: what was removed is exactly what is denied by name, so a name that a new version
// of the engine adds fails here until somebody has thought about it (R252).
func TestPermitsMatchTheEngine(t *testing.T) {
	denied := map[string]bool{}
	for _, d := range compartment.Denials() {
		denied[d.Name] = true
	}
	for code := range compartment.OwnGlobal + 1 {
		p, err := plans[code]()
		require.NoError(t, err)
		for _, name := range p.removed {
			require.True(t, denied[name], "the engine has a name that is neither permitted nor denied: %s", name)
		}
		for _, name := range []string{"GoError", "Function.prototype.caller", "RegExp.prototype.compile"} {
			require.Contains(t, p.removed, name, "the walk removed nothing")
		}
		require.Greater(t, p.objects, 550)
	}
}

// TestPlanIsTheWalk: a realm that was hardened by the plan is the same as one that the script walked through: the same objects have the same
// properties, and all of them are frozen.
func TestPlanIsTheWalk(t *testing.T) {
	for code := range compartment.OwnGlobal + 1 {
		host, err := compartment.NewHost(compartment.Config{DynamicCode: code})
		require.NoError(t, err)
		walked, err := prepare(host, func(r *realm) error { _, err := r.harden(nil); return err })
		require.NoError(t, err)
		followed, err := newRealm(host)
		require.NoError(t, err)
		want, got := census(t, walked, host), census(t, followed, host)
		require.Equal(t, want, got)
		require.Greater(t, len(want), 550)
		for path, what := range got {
			require.Equal(t, path != "globalThis", what.Frozen, path)
		}
	}
}

// held is what the census says of one object.
type held struct {
	Frozen bool
	Keys   []string
}

// census goes to every object that can be reached in a realm, by properties, accessors and prototypes.
func census(t *testing.T, r *realm, host *compartment.Host) map[string]held {
	t.Helper()
	const walk = `const seen = new Map([[globalThis, 'globalThis']]), out = {}
		const reach = (o, path) => { if ((typeof o === 'object' && o !== null || typeof o === 'function') && !seen.has(o)) seen.set(o, path) }
		for (const f of [function* () {}, async () => {}, [].values(), ''[Symbol.iterator](), new Map().keys(), new Set().keys(), ''.matchAll(/a/g)]) reach(Object.getPrototypeOf(f), 'proto of ' + Object.prototype.toString.call(f))
		seen.forEach((path, o) => {
			reach(Object.getPrototypeOf(o), path + '.__proto__')
			const keys = Reflect.ownKeys(o).filter((k) => !(o === globalThis && typeof k === 'string' && /^(seen|out|reach|report)$/.test(k)))
			for (const k of keys) {
				const d = Reflect.getOwnPropertyDescriptor(o, k)
				for (const part of ['value', 'get', 'set']) reach(d[part], path + '.' + String(k) + ' ' + part)
			}
			out[path] = { Frozen: Object.isFrozen(o), Keys: keys.map(String) }
		})
		JSON.stringify(out)`
	ev := host.Begin(context.Background(), walk, func() {})
	end := r.run(ev, walk)
	ev.Quiesce()
	require.Equal(t, compartment.Kind(""), end.Kind, "%+v", end)
	text, whole := end.Value.AsString()
	require.True(t, whole)
	out := map[string]held{}
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}
