package compartment

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestRendering has a row for each kind of value: how it is shown, and its JSON when there is one that says the same
// (R257).
func TestRendering(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, c := range []struct {
		name string
		v    Value
		text string
		json string // empty: none, the result is partial
	}{
		{"undefined", Value{}, "undefined", ""},
		{"null", OfNull(), "null", "null"},
		{"true", OfBool(true), "true", "true"},
		{"false", OfBool(false), "false", "false"},
		{"a number", OfNumber(1.5), "1.5", "1.5"},
		{"minus zero", OfNumber(math.Copysign(0, -1)), "-0", "-0"},
		{"a large number", OfNumber(1e21), "1e+21", "1e+21"},
		{"a small number", OfNumber(1e-7), "1e-7", "1e-7"},
		{"a number with many digits", OfNumber(123456789012345680000), "123456789012345680000", "123456789012345680000"},
		{"NaN", OfNumber(math.NaN()), "NaN", ""},
		{"infinity", OfNumber(math.Inf(1)), "Infinity", ""},
		{"minus infinity", OfNumber(math.Inf(-1)), "-Infinity", ""},
		{"a BigInt", OfBigInt(huge), "123456789012345678901234567890n", ""},
		{"a string", OfString("a\"b\\\n"), `"a\"b\\\n"`, `"a\"b\\\n"`},
		{"the empty string", OfString(""), `""`, `""`},
		{"a lone surrogate", OfString("\uFFFDx").Lossily(), "\"\uFFFDx\"", ""},
		{"an array", OfArray(OfNumber(1), OfNull()), "[1, null]", "[1,null]"},
		{"an empty array", OfArray(), "[]", "[]"},
		{"a hole", OfArray(OfMark(TypeHole, "")), "[(empty)]", ""},
		{"an object", OfObject(Field{"a", OfNumber(1)}, Field{"b c", OfString("x")}, Field{"", OfNull()}), `{a: 1, "b c": "x", "": null}`, `{"a":1,"b c":"x","":null}`},
		{"an object with __proto__", OfObject(Field{"__proto__", OfNumber(1)}), "{__proto__: 1}", `{"__proto__":1}`},
		{"bytes", OfBytes([]byte{1, 255}), "bytes[01 ff]", ""},
		{"a date", OfTime(time.UnixMilli(0)), "Date(1970-01-01T00:00:00.000Z)", ""},
		{"a far date", OfDate(8.64e15), "Date(+275760-09-13T00:00:00.000Z)", ""},
		{"a date before year 0", OfDate(-62198755200000), "Date(-000001-01-01T00:00:00.000Z)", ""},
		{"an invalid date", OfDate(math.NaN()), "Invalid Date", ""},
		{"a symbol", OfMark(TypeSymbol, "s"), "Symbol(s)", ""},
		{"a function", OfMark(TypeFunction, "f"), "[function f]", ""},
		{"a function without a name", OfMark(TypeFunction, ""), "[function]", ""},
		{"a power", OfMark(TypeCapability, "readFile"), "[capability readFile]", ""},
		{"a getter", OfObject(Field{"x", OfMark(TypeGetter, "")}), "{x: [getter]}", ""},
		{"a proxy", OfMark(TypeProxy, ""), "[proxy]", ""},
		{"a promise", OfMark(TypePromise, "pending"), "[promise pending]", ""},
		{"a Map", OfMark(TypeMap, "", OfString("a"), OfNumber(1)), `Map(1) {"a" => 1}`, ""},
		{"a Set", OfMark(TypeSet, "", OfNumber(1)).Omitting(2), "Set(3) {1, … 2 more}", ""},
		{"a pattern", OfMark(TypeRegExp, "/a/gi"), "/a/gi", ""},
		{"an error", OfMark(TypeErrorObject, "TypeError: x"), "[TypeError: x]", ""},
		{"a String object", OfMark(TypeBoxed, "String", OfString("x")), `[String: "x"]`, ""},
		{"a generator", OfMark(TypeOther, "Generator"), "[Generator]", ""},
		{"a cycle", OfMark(TypeCircular, ""), "[circular]", ""},
		{"too deep", OfMark(TypeTooDeep, ""), "[too deep]", ""},
		{"cut elements", OfArray(OfNumber(1)).Omitting(9), "[1, … 9 more]", ""},
		{"all elements cut", OfArray().Omitting(9), "[… 9 more]", ""},
		{"cut fields", OfObject(Field{"a", OfNumber(1)}).Omitting(2), "{a: 1, … 2 more}", ""},
		{"cut text", OfString("ab").Omitting(5), `"ab"… 5 more bytes`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.text, c.v.Text(1000))
			data, exact := c.v.JSON()
			require.Equal(t, c.json != "", exact)
			require.Equal(t, c.json, string(data))
			if exact {
				require.True(t, json.Valid(data))
			}
		})
	}
}

// TestValuesAreCopies: what goes in and what comes out is nobody else's.
func TestValuesAreCopies(t *testing.T) {
	b := []byte{1, 2}
	v := OfBytes(b)
	b[0] = 9
	got, ok := v.AsBytes()
	require.True(t, ok)
	require.Equal(t, []byte{1, 2}, got)
	got[0] = 9
	again, _ := v.AsBytes()
	require.Equal(t, []byte{1, 2}, again)

	n := big.NewInt(5)
	w := OfBigInt(n)
	n.SetInt64(6)
	back, _ := w.AsBigInt()
	require.Equal(t, int64(5), back.Int64())
}

// TestAs: a value is what it is, and nothing is converted.
func TestAs(t *testing.T) {
	_, ok := OfNumber(1).AsString()
	require.False(t, ok)
	_, ok = OfString("x").Omitting(1).AsString()
	require.False(t, ok, "a piece of a text is not the text")
	_, ok = OfString("\xff").AsString()
	require.False(t, ok, "bytes that are no text")
	_, ok = OfString("1").AsNumber()
	require.False(t, ok)
	_, ok = OfDate(math.NaN()).AsTime()
	require.False(t, ok)
	require.Equal(t, BigIntText(t, OfInt(math.MaxInt64)), "9223372036854775807")
	f, ok := OfInt(42).AsNumber()
	require.True(t, ok)
	require.Equal(t, 42.0, f)
	_, ok = OfObject().Get("toString")
	require.False(t, ok, "nothing is inherited")
	require.Equal(t, Value{}, OfArray().Item(3))
	require.Equal(t, "", OfArray(OfNull()).Key(0))
	require.Equal(t, Value{}, OfMark(TypeString, "not a mark"))
	twice := OfObject(Field{"a", OfNumber(1)}, Field{"b", OfNull()}, Field{"a", OfNumber(2)})
	require.Equal(t, "{a: 2, b: null}", twice.Text(100))
}

// BigIntText is the decimal text of a BigInt.
func BigIntText(t *testing.T, v Value) string {
	n, ok := v.AsBigInt()
	require.True(t, ok)
	return n.String()
}

// TestEscape: nothing that moves a terminal, reorders a line or cannot be seen stays.
func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä 漢 😀":            "plain ä 漢 😀",
		"\x1b[2J":                `\x1b[2J`,
		"\x1b]52;c;x\x07":        `\x1b]52;c;x\x07`,
		"a\nb\r\tc":              `a\nb\r\tc`,
		"pay \u202e0001\u202c":   `pay \u{202e}0001\u{202c}`,
		"\u2066x\u2069":          `\u{2066}x\u{2069}`,
		"\u200b\u200d\ufeff":     `\u{200b}\u{200d}\u{feff}`,
		"\U000e0041":             `\u{e0041}`,
		"\u0085\u009b31m":        `\x85\x9b31m`,
		"\u2028\u2029":           `\u{2028}\u{2029}`,
		"x\ufe0f":                `x\u{fe0f}`,
		"\u3164\u115f":           `\u{3164}\u{115f}`,
		"\xff":                   "\uFFFD",
		"\x00":                   `\x00`,
		"\x7f":                   `\x7f`,
		"\u00ad":                 `\xad`,
		"soft\u2060joiner\u034f": `soft\u{2060}joiner\u{34f}`,
	} {
		require.Equal(t, want, Escape(in), "%q", in)
	}
}

// TestTextIsBounded: showing a large value takes about the room that was given.
func TestTextIsBounded(t *testing.T) {
	many := make([]Value, 100000)
	require.LessOrEqual(t, len(OfArray(many...).Text(100)), 110)
	require.LessOrEqual(t, len(OfString(strings.Repeat("ä", 100000)).Text(100)), 110)
	require.True(t, utf8.ValidString(OfString(strings.Repeat("ä", 100000)).Text(100)))
	require.Equal(t, "ää… (8 bytes in all)", Clip("ääää", 5))
	require.Equal(t, "ääää", Clip("ääää", 8))
}

// FuzzShown: whatever the text, what is shown is one line of valid text that can be seen, and JSON reads back as the
// same.
func FuzzShown(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x1b[31m", "\u202e", "\xff", "\U000e0041", "😀\"\\", "\u2028"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max < 0 || max > 1<<16 {
			return
		}
		v := OfObject(Field{s, OfString(s)}, Field{"m", OfMark(TypeFunction, s)})
		for _, out := range []string{Escape(s), v.Text(max), v.Line(max), OfString(s).Line(max)} {
			require.True(t, utf8.ValidString(out))
			for _, r := range out {
				require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029, "%q", out)
			}
		}
		data, exact := OfString(s).JSON()
		require.Equal(t, utf8.ValidString(s), exact)
		if exact {
			var back string
			require.NoError(t, json.Unmarshal(data, &back))
			require.Equal(t, s, back)
		}
	})
}
