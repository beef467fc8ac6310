package evaljs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/evaljs"
)

// modules are an import map.
var modules = map[string]string{
	"mathx":   "import { one } from 'base'; export const two = one + one; export default (n) => n * two; export function fail() { return null.x }",
	"base":    "export const one = 1; export let count = 0; export const bump = () => ++count;",
	"reaches": "export const all = [typeof fetch, typeof process, typeof readFile, typeof globalThis.secret].join();",
	"wants":   "import 'not-there'; export const x = 1;",
	"broken":  "export const = 1",
	"evals":   "export const made = () => Function('return 1')();",
}

// TestGuestModules: exactly the specifiers of the import map can be imported, by both ways of importing, and what a module imports is checked the
// same way (R260).
func TestGuestModules(t *testing.T) {
	e := engines(t)["wasm"]
	s, err := evaljs.New(evaljs.Options{Engine: e, Modules: modules, Language: evaljs.Auto})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for source, want := range map[string]string{
		"import { two } from 'mathx'; two":                                                       "2",
		"import times, { two as t2 } from \"mathx\"\ntimes(t2)":                                  "4",
		"import times, * as all from 'mathx';\n[times === all.default, Object.keys(all).length]": "[true,3]",
		"import * as base from 'base'; base.bump(); base.count":                                  "1",
		"import { default as f, 'two' as g } from 'mathx'; f(g)":                                 "4",
		"import 'base'; 7":                                            "7",
		"(await import('mathx')).two":                                 "2",
		"import('base').then((m) => m.one)":                           "1",
		"import { all } from 'reaches'; all":                          `"undefined,undefined,undefined,undefined"`,
		"import {\n  one,\n  bump,\n} from 'base'\none + bump()":      "2",
		"const importance = 3; importance":                            "3",
		"import x, { two }\n  from 'mathx' with { type: 'js' };\ntwo": "2",
		"import { one as n } from 'base';\nconst v: number = n;\nv":   "1",
	} {
		o := evaluate(t, s, source)
		require.Equal(t, want, string(o.Data), "%s\n%s %+v", source, o.Kind, o.Value.Exception)
	}
	for source, kind := range map[string]compartment.Kind{
		"import fs from 'fs'":                         compartment.KindNoModules,
		"await import('node:fs')":                     compartment.KindNoModules,
		"await import('./base')":                      compartment.KindNoModules,
		"await import('base/../base')":                compartment.KindNoModules,
		"await import('Base')":                        compartment.KindNoModules,
		"await import('bas\\u0435')":                  compartment.KindNoModules,
		"await import('file:///etc/passwd')":          compartment.KindNoModules,
		"await import('" + longText(5000) + "')":      compartment.KindNoModules,
		"await import({ toString() { return 'x' } })": compartment.KindNoModules,
		"import { x } from 'wants'; x":                compartment.KindNoModules,
		"import { made } from 'evals'; made()":        compartment.KindDynamicCode,
	} {
		o := evaluate(t, s, source)
		require.Equal(t, kind, o.Kind, "%s\n%+v", source, o.Value)
		require.NotContains(t, o.Value.Text, "export")
	}
	o := evaluate(t, s, "import { nope } from 'mathx'; 1")
	require.Contains(t, o.Value.Text, "there is no export nope in mathx")
	require.Equal(t, compartment.KindRejected, evaluate(t, s, "import nope from 'base'").Kind)
	o = evaluate(t, s, "try { await import('fs') } catch (e) { e.message }")
	require.Contains(t, string(o.Data), "there are base, broken, evals")
	require.Equal(t, compartment.StatusException, evaluate(t, s, "await import('broken')").Status)
	o = evaluate(t, s, "import { fail } from 'mathx';\n\nfail()")
	require.Equal(t, 3, o.Where.Line, "the place in the program that called; %+v", o.Where)
}

// longText is a text of n letters.
func longText(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a'
	}
	return string(b)
}

// TestGuestModulesLast: imported names stay, a module is loaded once in a session, and goes back with it.
func TestGuestModulesLast(t *testing.T) {
	s := lasting(t, evaljs.Options{Engine: engines(t)["wasm"], Modules: modules, Language: evaljs.Auto})
	dialogue{
		{"import { bump } from 'base'", ""}, {"bump()", "1"}, {"import { bump, count } from 'base'; bump()", "2"}, {"import { count } from 'base'; count", "2"},
		{"import { two } from 'mathx';\nlet typed: number = 1", ""}, {"two + typed", "3"},
	}.run(t, s)
	stopped := lasting(t, evaljs.Options{Engine: engines(t)["wasm"], Modules: modules, Language: evaljs.Auto, Limits: compartment.Limits{Time: 200 * time.Millisecond}})
	evaluate(t, stopped, "import { bump } from 'base'; bump()")
	o := evaluate(t, stopped, "bump(); import { two } from 'mathx'; for (;;) {}")
	require.Equal(t, compartment.SessionRolledBack, o.Session.State)
	require.Equal(t, `[2,"undefined"]`, string(evaluate(t, stopped, "[bump(), typeof two]").Data), "what the module counted went back too")
}

// TestGuestModulesConfig: an import map that cannot be is refused when the session is made.
func TestGuestModulesConfig(t *testing.T) {
	e := engines(t)["wasm"]
	for _, name := range []string{"", "./a", "/a", "a\x00b", "a\nb", "program", "boundary", "\xff", longText(300)} {
		_, err := evaljs.New(evaljs.Options{Engine: e, Modules: map[string]string{name: ""}})
		require.ErrorIs(t, err, compartment.ErrConfig, name)
	}
	_, err := evaljs.New(evaljs.Options{Engine: e, Modules: map[string]string{"a": "\xff"}})
	require.ErrorIs(t, err, compartment.ErrConfig)
	_, err = evaljs.New(evaljs.Options{Engine: goja.NewWithoutMemoryLimit(), Modules: modules, Language: evaljs.Auto})
	require.ErrorIs(t, err, compartment.ErrConfig)
	require.ErrorContains(t, err, "no modules")
}
