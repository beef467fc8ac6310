package goja

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
)

func scanKind(t *testing.T, source string) compartment.Kind {
	t.Helper()
	l, err := compartment.Limits{}.Resolve()
	require.NoError(t, err)
	if f := scan(source, l); f != nil {
		return f.Kind
	}
	return ""
}

// TestScanTakesPrograms: what people write is taken: large tables, long strings of brackets, patterns, templates, our
// own scripts.
func TestScanTakesPrograms(t *testing.T) {
	table := "const rows = [\n" + strings.Repeat(`  { id: 1, tags: ["a", "b"], at: { x: 1.5, y: -2 }, f: (a, b = 1) => a + b },`+"\n", 2500) + "]"
	require.Greater(t, len(table), 190_000)
	for name, source := range map[string]string{
		"a table":                table,
		"brackets in a text":     `const s = "` + strings.Repeat("[({", 5000) + `"`,
		"brackets in a template": "const s = `" + strings.Repeat("[({", 5000) + "${1}`",
		"brackets in a comment":  "/* " + strings.Repeat("[({", 5000) + " */ 1 // " + strings.Repeat("[", 5000),
		"brackets in a pattern":  "/" + strings.Repeat(`\[`, 300) + "/.test('x'); 1 / 2 / 3",
		"a division is none":     "const a = (1) / 2 + b[0] / c(1) / 3; /[/]/.test('x')",
		"arrows in arrows":       "a => b => c => (d => (e => (f => f)))",
		"callbacks in callbacks": strings.Repeat("f((x) => {", 100) + strings.Repeat("})", 100),
		"defaults":               "const f = (a = (b = (c) => c) => b) => a",
	} {
		require.Equal(t, compartment.Kind(""), scanKind(t, source), name)
		if _, err := parse(source); err != nil {
			t.Errorf("%s: %s", name, err.message)
		}
	}
	for _, file := range []string{"harden.js", "date.js"} {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, compartment.Kind(""), scanKind(t, string(text)), file)
	}
}

// TestScanRefuses: what would take the parser's stack or time is refused before it is parsed.
func TestScanRefuses(t *testing.T) {
	for name, source := range map[string]string{
		"brackets":                      strings.Repeat("[", 300) + strings.Repeat("]", 300),
		"mixed":                         strings.Repeat("({a:[", 200),
		"templates":                     strings.Repeat("`${", 300) + strings.Repeat("}`", 300),
		"arrows with defaults":          strings.Repeat("(a=", 8) + "1" + strings.Repeat(")=>1", 8),
		"the same, in lists":            strings.Repeat("(a=[b,", 8) + "1" + strings.Repeat("])\t=>1", 8),
		"after a division":              "a = (1) / 2; " + strings.Repeat("[", 300),
		"after a pattern with a quote":  "a = /\"/; " + strings.Repeat("[", 300),
		"after a quote in a comment":    "// it's\n" + strings.Repeat("[", 300),
		"after a text over a line":      "'a\\\nb'; " + strings.Repeat("[", 300),
		"hidden as texts, but too many": strings.Repeat("[x++ /\"/]\", ", 20<<10),
	} {
		require.Equal(t, compartment.KindSourceDepth, scanKind(t, source), name)
	}
	require.Equal(t, compartment.KindSourceSize, scanKind(t, strings.Repeat(" ", 256<<10+1)))
}

// TestStackIsBoundedWhateverTheScanGuesses: the bound on stack counts bytes, so no text can mislead it. The worst
// source it lets through is parsed here, on this test's own stack.
func TestStackIsBoundedWhateverTheScanGuesses(t *testing.T) {
	n := maxStack/int(stackCost['[']) - 1
	source := "'" + strings.Repeat("[", n) + "'"
	require.Equal(t, compartment.Kind(""), scanKind(t, source))
	require.Equal(t, compartment.KindSourceDepth, scanKind(t, source[:10]+strings.Repeat("[", 10000)+source[10:]))
	_, bad := parse(source[1 : len(source)-1]) // as if the quotes had been a wrong guess
	require.NotNil(t, bad)
}

// FuzzScan: the scan ends, and does not panic, for any text.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"`${`${1}`}`", "/[/]/", "a / b", "'\\", "/*", "//", "(a=(b)=>1)=>2", "}])", "`$", "\\"} {
		f.Add(s)
	}
	l, err := compartment.Limits{}.Resolve()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) { scan(s, l) })
}
