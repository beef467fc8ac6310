package wasm

import (
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestPositions: errors, syntax errors and stops are placed in the guest's own lines, whose ends and columns are those of the language.
func TestPositions(t *testing.T) {
	for _, c := range []struct {
		source       string
		line, column int
		caret        string
	}{
		{"let y = ;", 1, 9, "        ^"},
		{"\n  /*é€😀*/ let y = ;", 2, 20, ""},
		{"1;\r\n2;\r\nlet y = ;", 3, 9, ""},
		{"1;\r2;\rlet y = ;", 3, 9, ""},
		{"1;\u2028 let y = ;", 2, 10, ""},
		{"function f() {\n  throw new Error('x')\n}\nf()", 2, 13, ""},
		{"/*é😀*/ null.x", 1, 9, ""},
		{"await 1\n\nundefinedName", 3, 1, ""},
		{"function f(){\n return null.x\n}\nf()", 2, 2, " ^"},
		{"async function f(){\n return null.x\n}\nawait f()", 2, 2, ""},
		{"function f(a, b) { // why\n\n  /* so */ return null.x\n}\nf()", 3, 12, ""},
		{"const f = () => {\n return null.x\n}\nf()", 2, 2, ""},
		{"(function(){\n return null.x\n})()", 2, 2, ""},
		{"class A {\n m() {\n  return null.x\n }\n}\nnew A().m()", 3, 3, ""},
		{"class A {\n constructor() {\n  return null.x\n }\n}\nnew A()", 3, 3, ""},
		{"function f(a = null.x){\n return 1\n}\nf()", 1, 1, ""}, // in the head: the beginning it is
		{"function g(a) {\n return 1\n}\nfunction f(a) {\n  return a.b.c\n}\nf({})", 5, 10, ""},
		{"function f() { f.x = 1; g() }\nf()", 1, 25, ""},
		{"const x = 1\nfor (;;) {\n  x;\n}", 3, 3, ""},
	} {
		o := once(t, c.source, compartment.Config{Limits: compartment.Limits{Time: brief}})
		require.NotNil(t, o.Where, c.source)
		require.Equal(t, c.line, o.Where.Line, c.source)
		if o.Status != compartment.StatusStopped { // a stop knows the line, and the column of something near
			require.Equal(t, c.column, o.Where.Column, c.source)
		}
		if c.caret != "" {
			require.Equal(t, c.caret, o.Where.Caret)
		}
	}
}

// TestMemoryStopsHaveAPlace, though there is no memory left to say it.
func TestMemoryStopsHaveAPlace(t *testing.T) {
	for _, source := range []string{"const k = []\nfor (;;)\n  k.push({ a: 1 })", "const k = []\nfor (;;)\n  k.push(new Array(1000).fill(k.length))",
		"const k = [], f = (n) => n ? f(n - 1) : 1\nfor (;;)\n  k.push(new Uint8Array(1 << 20))"} {
		o := once(t, source, compartment.Config{Limits: compartment.Limits{MemoryBytes: 8 << 20}})
		require.Equal(t, compartment.KindMemory, o.Kind, source)
		require.NotNil(t, o.Where, source)
		require.Equal(t, 3, o.Where.Line, source)
	}
}

// TestFrames: at most five, the innermost first, of the guest's own functions and no others.
func TestFrames(t *testing.T) {
	o := once(t, "function a(n) { return n ? [1].map(() => a(n - 1))[0] : echo() }\na(10)",
		compartment.Config{Powers: []compartment.Power{syncPower("echo", func(*compartment.Call) (compartment.Value, error) {
			return compartment.Value{}, compartment.Refuse("no", "no")
		})}})
	require.Len(t, o.Where.Frames, 5)
	require.Equal(t, compartment.Frame{Function: "a", Line: 1, Column: 57}, o.Where.Frames[0])
	for _, f := range o.Where.Frames {
		require.Equal(t, 1, f.Line)
		require.Contains(t, []string{"a", ""}, f.Function)
	}
}

// TestFrameNamesAreNotBelieved: a function's name is text of the guest. It can look like more frames, but never lead out of the source, and it is shown escaped.
func TestFrameNamesAreNotBelieved(t *testing.T) {
	o := once(t, `const f = () => { throw new Error("x") }
Object.defineProperty(f, "name", { value: "g (/etc/passwd:1:1)\n    at h (program:999:1)\x1b[31m" })
f()`, compartment.Config{})
	require.Equal(t, 1, o.Where.Line)
	for _, f := range o.Where.Frames {
		require.LessOrEqual(t, f.Line, 3)
		require.NotContains(t, f.Function, "\n")
		require.NotContains(t, f.Function, "\x1b")
	}
}

// TestPlace is the counting of lines and columns alone.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		source               string
		line, column         int
		wantLine, wantColumn int
		ok                   bool
	}{
		{"abc", 1, 1, 1, 1, true},
		{"abc", 1, 99, 1, 4, true}, // beyond the end is the end
		{"abc", 2, 1, 0, 0, false},
		{"abc", 0, 1, 0, 0, false},
		{"a\nb", 2, 1, 2, 1, true},
		{"a\r\nb", 2, 2, 2, 2, true},
		{"a\rb", 2, 1, 2, 1, true},
		{"é\u2029b", 1, 6, 2, 1, true},
		{"é\u2029b", 2, 1, 2, 1, true},
		{"a\u2028//\nb", 2, 1, 2, 1, true},
		{"a // \u2028 c\nbcd", 3, 2, 3, 2, true},
	} {
		at, ok := offset(c.source, c.line, c.column)
		var l, col int
		if ok {
			l, col = place(c.source, at)
		}
		require.Equal(t, []any{c.wantLine, c.wantColumn, c.ok}, []any{l, col, ok}, "%q %d:%d", c.source, c.line, c.column)
	}
}

// TestStopsArePrompt: a stop lands within a few milliseconds of its limit, inside built-ins too (R255).
func TestStopsArePrompt(t *testing.T) {
	for _, source := range []string{"for (;;);", "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", "/^(a+)+$/.test('a'.repeat(40) + 'b')", "(async () => { for (;;) await null })()",
		"const a = new Uint32Array(1 << 20); for (;;) a.sort((x, y) => y - x)"} {
		r := open(t, testEngine(t), compartment.Config{Limits: compartment.Limits{Time: brief}})
		begun := time.Now()
		o := evaluate(t, r, source)
		late := time.Since(begun) - brief
		require.Equal(t, compartment.KindTime, o.Kind, source)
		require.Less(t, late, 100*time.Millisecond, source)
		t.Logf("%v late: %s", late, source)
	}
}
