package goja

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
)

// TestPlaces: whatever is wrong is placed in the author's own lines, also where await makes the source the body of a
// function.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, source string
		line, column int
		frames       int
	}{
		{"a throw", "1\n  throw new Error('x')", 2, 9, 1},
		{"a throw after await", "await 1\n  throw new Error('x')", 2, 9, 1},
		{"on the first line", "throw new Error(await 1)", 1, 7, 1},
		{"in a function", "function f() {\n  throw new Error('x')\n}\nf()", 2, 9, 2},
		{"in a function after await", "function f() {\n  throw new Error('x')\n}\nawait 1; f()", 2, 9, 2},
		{"after wide characters", "'ä😀'; undeclared", 1, 8, 1},
		{"a syntax error", "1\nconst x = ;", 2, 11, 0},
		{"a syntax error after await", "await 1\nconst x = ;", 2, 11, 0},
		{"on the first line of an await", "await 1; const x = ;", 1, 20, 0},
		{"at the end of an await", "await f(", 1, 9, 0},
		{"a return", "await 1\n if (1) { return 2 }", 2, 11, 0},
		{"twice the same name", "let a = 1\nlet a = 2", 2, 5, 0},
		{"a loop that is stopped by its depth", "function f() {\n  f()\n}\nf()", 2, 4, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := evaluate(t, c.source)
			require.NotNil(t, o.Where, "%+v", o)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{o.Where.Line, o.Where.Column}, "%+v", o.Where)
			require.Len(t, o.Where.Frames, c.frames)
		})
	}
}

// TestStackText: the stack a guest reads is in its own lines too, and shows no position inside of the engine or the
// host.
func TestStackText(t *testing.T) {
	o := evaluate(t, "await 1\nfunction f() { return new Error('x').stack }\nf()")
	require.Contains(t, string(o.Data), "program:2:23")
	require.Contains(t, string(o.Data), "program:3:2")
}

// TestFunctionsOfAnAwait: the later of two functions wins, and one with the name of a constant is refused.
func TestFunctionsOfAnAwait(t *testing.T) {
	require.Equal(t, "2", string(evaluate(t, "await 0; function f() { return 1 } function f() { return 2 } f()").Data))
	require.Equal(t, compartment.KindParse, evaluate(t, "const twice = await 1; function twice() {}").Kind)
}

// FuzzCompile: a source that is not a program is a syntax error, and no source of any kind gets out of the function
// that await makes of it.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"await 1", "await 1})(); (async () => {", "await 1\n//", "await 1}\n/*", "return await 1", "({ async f() { await 1 } })", "await `${1", "await 1}, x = async () => {"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if scanKind(t, source) != "" {
			return
		}
		tree, _ := awaiting(source, func(string) bool { return false })
		if tree == nil {
			return
		}
		require.Len(t, tree.Body, 1)
		_, bad := parse("(async function () {" + source + "\n})")
		require.Nil(t, bad, "what is the body of an arrow function is the body of any function")
	})
}
