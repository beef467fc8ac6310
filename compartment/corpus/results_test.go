package corpus

import (
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// result is a row of the table of results: a value of the language, how it is shown, and its JSON when there is JSON that says exactly the same.
type result struct {
	what, source string
	text         string // empty: too long for a table; see begins
	begins       string
	json         string // empty: none, and the result says that it is partial
	kind         compartment.Kind
	lacks        bool   // goja does not have it: a syntax or a reference error
	goja         string // text and JSON on goja, where they are not the same
}

// results is the table. Each row is run on each engine, and is a row of docs/compartment.md (R257).
var results = []result{
	{what: "undefined", source: "undefined", text: "undefined"},
	{what: "a statement without a value", source: "var x = 1;", text: "undefined"},
	{what: "null", source: "null", text: "null", json: "null"},
	{what: "a boolean", source: "true", text: "true", json: "true"},
	{what: "a number", source: "0.1 + 0.2", text: "0.30000000000000004", json: "0.30000000000000004"},
	{what: "a large number", source: "2 ** 70", text: "1.1805916207174113e+21", json: "1.1805916207174113e+21"},
	{what: "minus zero", source: "-0", text: "-0", json: "-0"},
	{what: "NaN", source: "NaN", text: "NaN"},
	{what: "infinity", source: "-Infinity", text: "-Infinity"},
	{what: "a BigInt", source: "2n ** 70n", text: "1180591620717411303424n"},
	{what: "a symbol", source: "Symbol('s')", text: "Symbol(s)"},
	{what: "a text", source: `'a"\n' + '\u{1f600}'`, text: `"a\"\n😀"`, json: `"a\"\n😀"`},
	{what: "a text that steers a terminal", source: `'\x1b[2J\u202e'`, text: `"\x1b[2J\u{202e}"`, json: `"\u001b[2J\u202e"`},
	{what: "a lone surrogate", source: `'\ud800x'`, text: "\"\uFFFDx\""},
	{what: "an array", source: "[1, 'a', null]", text: `[1, "a", null]`, json: `[1,"a",null]`},
	{what: "an array with a hole", source: "[1, , 3]", text: "[1, (empty), 3]"},
	{what: "an array with undefined in it", source: "[undefined]", text: "[undefined]"},
	{what: "an object", source: "({ a: 1, 'b c': [] })", text: `{a: 1, "b c": []}`, json: `{"a":1,"b c":[]}`},
	{what: "an object without a prototype", source: "Object.create(null, { a: { value: 1, enumerable: true } })", text: "{a: 1}", json: `{"a":1}`},
	{what: "a field called __proto__", source: `JSON.parse('{"__proto__": 1}')`, text: "{__proto__: 1}", json: `{"__proto__":1}`},
	{what: "an instance of a class", source: "class P { constructor() { this.x = 1 } get y() { return 2 } }; new P()", text: "{x: 1}", json: `{"x":1}`},
	{what: "a field with a symbol for a name", source: "({ a: 1, [Symbol('s')]: 2 })", text: "{a: 1, … 1 more}"},
	{what: "a getter", source: "({ get a() { return 1 } })", text: "{a: [getter]}"},
	{what: "an object with toJSON", source: "({ a: 1, toJSON() { return 'lie' } })", text: "{a: 1, toJSON: [function toJSON]}"},
	{what: "an object with toString", source: "({ toString() { for (;;); } })", text: "{toString: [function toString]}"},
	{what: "an object with then", source: "({ then(resolve) { resolve('adopted') } })", text: "{then: [function then]}"},
	{what: "an object in itself", source: "const o = { a: 1 }; o.o = o; o", text: "{a: 1, o: [circular]}"},
	{what: "an object twice", source: "const o = {}; [o, o]", text: "[{}, {}]", json: "[{},{}]"},
	{what: "a proxy", source: "new Proxy({}, { get() { for (;;); } })", text: "[proxy]"},
	{what: "a function", source: "(function f() {})", text: "[function f]"},
	{what: "an arrow function", source: "() => 1", text: "[function]"},
	{what: "a class", source: "(class C {})", text: "[function C]"},
	{what: "a power", source: "readFile", text: "[capability readFile]"},
	{what: "an object with powers", source: "store", text: "[capability store]"},
	{what: "a date", source: "new Date(0)", text: "Date(1970-01-01T00:00:00.000Z)"},
	{what: "a date that is none", source: "new Date(NaN)", text: "Invalid Date"},
	{what: "a Map", source: "new Map([['a', 1], [{}, new Map()]])", text: `Map(2) {"a" => 1, {} => Map(0) {}}`},
	{what: "a Set", source: "new Set([1, 'a'])", text: `Set(2) {1, "a"}`},
	{what: "a weak map", source: "new WeakMap()", text: "[WeakMap]"},
	{what: "a pattern", source: "/a+/gi", text: "/a+/gi"},
	{what: "an error", source: "new TypeError('x')", text: "[TypeError: x]"},
	{what: "an error of the program's own", source: "class E extends Error { name = 'E' }; new E('x')", text: "[E: x]"},
	{what: "bytes", source: "new Uint8Array([1, 255])", text: "bytes[01 ff]"},
	{what: "a buffer", source: "new Uint8Array([1, 2]).buffer", text: "bytes[01 02]"},
	{what: "a view of a buffer", source: "new DataView(new Uint8Array([1, 2, 3]).buffer, 1)", text: "[view]", goja: "{}"},
	{what: "numbers of another size", source: "new Float64Array([1.5, NaN])", text: "[Float64Array(2) 1.5, NaN]"},
	{what: "a String object", source: "new String('x')", text: `[String: "x"]`},
	{what: "a Number object", source: "Object(1)", text: "[Number: 1]"},
	{what: "a generator", source: "(function* () { yield 1 })()", text: "[iterator]"},
	{what: "an iterator", source: "[1][Symbol.iterator]()", text: "[iterator]"},
	{what: "an async generator", source: "(async function* () {})()", text: "[iterator]", lacks: true},
	{what: "a promise", source: "Promise.resolve(7)", text: "7", json: "7"},
	{what: "a promise of a promise", source: "(async () => (async () => 'x')())()", text: `"x"`, json: `"x"`},
	{what: "a promise in an object", source: "({ p: Promise.resolve(7), q: new Promise(() => {}) })", text: "{p: [promise fulfilled], q: [promise pending]}"},
	{what: "a promise that nothing settles", source: "new Promise(() => {})", text: "[promise pending]", kind: compartment.KindNeverSettles},
	{what: "a promise that is rejected", source: "Promise.reject(7)", text: "7", kind: compartment.KindRejected},
	{what: "the arguments of a call", source: "(function () { return arguments })(1, 2)", text: `{"0": 1, "1": 2}`, json: `{"0":1,"1":2}`},
	{what: "the global object", source: "globalThis", text: "{}", json: "{}"},
	{what: "a huge text", source: "'a'.repeat(11e6)", begins: `"aaa`},
	{what: "an array that is too wide", source: "Array.from({ length: 20000 }, (_, i) => i)", begins: "[0, 1, 2, 3"},
	{what: "an array that is long and empty", source: "const a = []; a.length = 4294967295; a", begins: "[(empty)"},
	{what: "an object that is too wide", source: "Object.fromEntries(Array.from({ length: 20000 }, (_, i) => ['k' + i, i]))", begins: "{k0: 0, k1: 1"},
	{what: "an object that is too deep", source: "let o = {}; for (let i = 0; i < 40; i++) o = { o }; o", begins: "{o: {o: {o: "},
}

// TestResults runs the table: on each engine the same text, the same JSON, and "partial" exactly where there is none.
func TestResults(t *testing.T) {
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		for _, row := range results {
			t.Run(row.what, func(t *testing.T) { row.run(t, e) })
		}
	})
}

func (row result) run(t *testing.T, e compartment.Engine) {
	o := evaluate(t, e, row.source, compartment.Config{Powers: newWorld().powers("readFile store")})
	if row.lacks && e.Name() == "goja" {
		require.Contains(t, []compartment.Status{compartment.StatusSyntax, compartment.StatusException}, o.Status, "goja has it now: take the mark off")
		return
	}
	if row.goja != "" && e.Name() == "goja" {
		require.Equal(t, row.goja, o.Value.Text, "a difference that is gone is taken off the table")
		return
	}
	require.Equal(t, row.kind, o.Kind, "%+v", o.Value)
	if row.begins != "" {
		require.Equal(t, row.begins, o.Value.Text[:min(len(row.begins), len(o.Value.Text))])
		require.Positive(t, o.Value.Omitted, "how much was left out is counted")
	} else {
		require.Equal(t, row.text, o.Value.Text)
	}
	require.Equal(t, row.json, string(o.Data))
	require.Equal(t, row.json == "" && row.kind == "", o.Value.Partial)
}
