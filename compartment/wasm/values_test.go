package wasm

import (
	"context"
	"encoding/json"
	"math"
	"math/big"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestResultTable is the table of results: for each kind of value what it is called, how it is shown, whether there is JSON that says exactly that, and whether
// something was left out (R257).
func TestResultTable(t *testing.T) {
	for _, c := range []struct{ source, typ, text, data string }{
		{"undefined", "undefined", "undefined", ""},
		{"null", "null", "null", "null"},
		{"true", "boolean", "true", "true"},
		{"1.5", "number", "1.5", "1.5"},
		{"NaN", "number", "NaN", ""},
		{"-0", "number", "-0", "-0"},
		{"1n", "bigint", "1n", ""},
		{"Symbol('s')", "symbol", "Symbol(s)", ""},
		{"'a\u2028b'", "string", `"a\u{2028}b"`, `"a\u2028b"`},
		{"'\\ud800'", "string", `"` + "\uFFFD" + `"`, ""},
		{"new Date(0)", "date", "Date(1970-01-01T00:00:00.000Z)", ""},
		{"new Map([[1, 2]])", "map", "Map(1) {1 => 2}", ""},
		{"new Set([1])", "set", "Set(1) {1}", ""},
		{"/a/g", "regexp", "/a/g", ""},
		{"new Error('e')", "error", "[Error: e]", ""},
		{"new Uint8Array([1])", "bytes", "bytes[01]", ""},
		{"new Float32Array([1])", "other", "[Float32Array(1) 1]", ""},
		{"() => 1", "function", "[function]", ""},
		{"class A {}; A", "function", "[function A]", ""},
		{"new Proxy({}, {})", "proxy", "[proxy]", ""},
		{"({ get x() { return 1 } })", "object", "{x: [getter]}", ""},
		{"const o = {}; o.o = o; o", "object", "{o: [circular]}", ""},
		{"new String('x')", "boxed", `[String: "x"]`, ""},
		{"[1, [2], { a: 'b' }]", "array", `[1, [2], {a: "b"}]`, `[1,[2],{"a":"b"}]`},
		{"Promise.resolve({ a: 1 })", "object", "{a: 1}", `{"a":1}`},
	} {
		o := once(t, c.source, compartment.Config{})
		require.Equal(t, compartment.StatusOK, o.Status, c.source)
		require.Equal(t, c.typ, o.Value.Type, c.source)
		require.Equal(t, c.text, o.Value.Text, c.source)
		require.Equal(t, c.data, string(o.Data), c.source)
		require.Equal(t, c.data == "", o.Value.Partial, c.source)
	}
}

// TestResultsAreCut: depth, breadth and bytes are bounded, and what was left out is counted (R257, R258).
func TestResultsAreCut(t *testing.T) {
	limits := compartment.Limits{ValueDepth: 4, ValueNodes: 20, OutputBytes: 4096}
	for _, c := range []struct {
		source  string
		omitted int64
	}{
		{"Array.from({ length: 50 }, (_, i) => i)", 31},
		{"new Set(Array.from({ length: 50 }, (_, i) => i))", 31},
		{"Object.fromEntries(Array.from({ length: 50 }, (_, i) => ['k' + i, i]))", 31},
		{"'x'.repeat(5000)", 904},
		{"'é'.repeat(4000)", 0}, // it fits in units; bytes are counted after
		{"[[[[[1]]]]]", 1},
		{"new Uint8Array(5000)", 904},
	} {
		o := once(t, c.source, compartment.Config{Limits: limits})
		require.Equal(t, compartment.StatusOK, o.Status, c.source)
		require.Equal(t, c.omitted, o.Value.Omitted, c.source)
		if c.omitted > 0 {
			require.True(t, o.Value.Partial, c.source)
			require.Empty(t, o.Data, c.source)
		}
	}
}

// TestValuesBothWays: what a power returns, the guest gives back unchanged.
func TestValuesBothWays(t *testing.T) {
	deep := compartment.OfNumber(1)
	for range 30 {
		deep = compartment.OfArray(deep)
	}
	values := []compartment.Value{
		{}, compartment.OfNull(), compartment.OfBool(true), compartment.OfBool(false), compartment.OfNumber(math.Copysign(0, -1)), compartment.OfNumber(math.NaN()),
		compartment.OfNumber(math.Inf(-1)), compartment.OfNumber(math.MaxFloat64), compartment.OfInt(1<<53 + 1), compartment.OfBigInt(new(big.Int).Lsh(big.NewInt(-1), 900)),
		compartment.OfString(""), compartment.OfString("a\x00b"), compartment.OfString("\u2028\uFEFF😀"), compartment.OfBytes(nil), compartment.OfBytes([]byte{0, 255}),
		compartment.OfTime(time.UnixMilli(1234567890123)), compartment.OfDate(math.NaN()), compartment.OfArray(), compartment.OfObject(),
		compartment.OfObject(compartment.Field{Name: "1", Value: compartment.Value{}}, compartment.Field{Name: "__proto__", Value: compartment.OfNumber(1)},
			compartment.Field{Name: "then", Value: compartment.OfNull()}, compartment.Field{Name: "", Value: compartment.OfArray(compartment.OfNull())}),
		deep,
	}
	var give, got compartment.Value
	r := open(t, testEngine(t), compartment.Config{Powers: []compartment.Power{
		syncPower("give", func(*compartment.Call) (compartment.Value, error) { return give, nil }),
		syncPower("take", func(c *compartment.Call) (compartment.Value, error) { got = c.Arg(0); return compartment.Value{}, nil }, compartment.Param{Name: "v", Optional: true}),
	}})
	for _, give = range values {
		got = compartment.OfString("nothing was taken")
		o := evaluate(t, r, "take(give())")
		require.Equal(t, compartment.StatusOK, o.Status, "%s: %+v", give.Text(200), o.Value.Exception)
		require.Equal(t, give.Type(), got.Type())
		require.Equal(t, give.Text(1<<20), got.Text(1<<20))
	}
}

// FuzzValuesBothWays: any JSON is the same after it was in the guest, and whatever the guest makes of a text can be shown.
func FuzzValuesBothWays(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e-7,"\u2028é",null,true,{}]}`, `[]`, `"\ud83d\ude00"`, `{"__proto__":{"x":1},"":2}`, `1e308`, `[[[[[[[[]]]]]]]]`} {
		f.Add(s)
	}
	r := open(f, testEngine(f), compartment.Config{Powers: []compartment.Power{
		syncPower("echo", func(c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil }, compartment.Param{Name: "v"}),
	}})
	f.Fuzz(func(t *testing.T, text string) {
		literal, err := json.Marshal(text)
		if err != nil || len(text) > 10_000 {
			t.Skip()
		}
		o := evaluate(t, r, "JSON.stringify(echo(JSON.parse("+string(literal)+")))")
		direct := evaluate(t, r, "JSON.stringify(JSON.parse("+string(literal)+"))")
		if o.Kind == compartment.KindArguments {
			return // too deep, or a lone surrogate: said so
		}
		require.Equal(t, direct.Status, o.Status)
		require.Equal(t, direct.Value.Text, o.Value.Text)
	})
}

// FuzzSource: no source is an error of the boundary, outlives its time, or shows something that is not text.
func FuzzSource(f *testing.F) {
	for _, s := range []string{
		"1+1", "let a = await 1", "throw {}", "class {", "for(;;);", "\x00", "\xff\xfe", "`${`", "/(?<a>", "'use strict'; with(a){}", "import('x')",
		"#!x\n<!--", "a\u2028b", "[...Array(9)].map(function f(){ return f })",
	} {
		f.Add(s)
	}
	e := testEngine(f)
	f.Fuzz(func(t *testing.T, source string) {
		begun := time.Now()
		r, err := e.Open(context.Background(), compartment.Config{Limits: compartment.Limits{Time: 50 * time.Millisecond}})
		require.NoError(t, err)
		defer r.Close()
		o, err := r.Evaluate(context.Background(), source)
		require.NoError(t, err)
		require.Less(t, time.Since(begun), 2*time.Second)
		require.NotEqual(t, compartment.StatusEngineLost, o.Status, "%v", o.Cause)
		if w := o.Where; w != nil {
			require.Positive(t, w.Line)
			require.Positive(t, w.Column)
		}
		_, err = json.Marshal(o)
		require.NoError(t, err)
	})
}
