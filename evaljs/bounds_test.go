package evaljs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEraserBounds: each bound holds by itself: one unit more than it is refused, and half of it is not.
func TestEraserBounds(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		b.WriteString(`enum A { a0 = "xxxxxxxxxxxxxxxx"`)
		for i := range n {
			fmt.Fprintf(&b, ", a%d = a%d + a%d", i+1, i, i)
		}
		return b.String() + " }"
	}
	for name, c := range map[string]struct {
		most int
		make func(n int) string
	}{
		"types":              {maxTypes, func(n int) string { return "let z: any; [" + strings.Repeat("a<b,\n", n) + "1]" }},
		"commas":             {maxCommas, func(n int) string { return "f(" + strings.Repeat("1,\n", n) + "1)" }},
		"inferred":           {maxInferred, func(n int) string { return strings.Repeat("type A<T> = T extends (infer U)[] ? U : never;\n", n) }},
		"chain":              {maxChain, func(n int) string { return "let a = " + strings.Repeat("- \n", n) + "1" }},
		"doubling":           {maxDoubling, func(n int) string { return strings.Repeat("x ? (y): z => (", n) + "1" + strings.Repeat(")", n) }},
		"unsure doubling":    {maxUnsureDoubling, func(n int) string { return "{}/a/;" + strings.Repeat("x ? y : () => z;\n", n) }},
		"unsure types":       {maxUnsureTypes, func(n int) string { return "{}/a/;" + strings.Repeat("a<b;\n", n) }},
		"unsure stack":       {maxUnsureStack / operatorStack, func(n int) string { return "{}/a/;" + strings.Repeat(";;;;;;;\n", n/7) }},
		"stack of operators": {maxEraserStack / operatorStack, func(n int) string { return strings.Repeat(";;;;;;;\n", n/7) }},
		"stack of letters":   {maxEraserStack / letterStack, func(n int) string { return strings.Repeat("aaaaaaa\n", n/7) }},
		"texts that double":  {18, members},
		"texts that are named": {1000, func(n int) string {
			return "enum A { a = \"" + strings.Repeat("x", 16<<10) + "\" }\n" + strings.Repeat("A.a;\n", n)
		}},
	} {
		require.NotEmpty(t, tooMuch(lex(c.make(c.most+c.most/10+2))), name)
		require.Empty(t, tooMuch(lex(c.make(c.most/2))), name)
	}
	require.Empty(t, tooMuch(lex("enum F { A = 1 << 0, B = 1 << 1, C = A | B, D = A | B | C, E = D | C | B | A, G = E | D | C | B }\n"+strings.Repeat("F.A;", 500))), "numbers do not grow")
	for _, source := range []string{"let x\n/'/;%s//'", "let x: number\n/`/;%s//`", "type T = number[]\n/'/;%s//'", "break\n/'/;%s//'"} {
		require.NotEmpty(t, tooMuch(lex(fmt.Sprintf(source, strings.Repeat("x?1?1:(y):z=>(", 40)))), source)
		require.NotEmpty(t, tooMuch(lex(fmt.Sprintf(source, members(30)))), source)
	}
	for _, ordinary := range []string{
		strings.Repeat("type E<T> = T extends (infer U)[] ? U : never;\nfunction inferType(inferred: string) {} // infer\n", 8),
		"const size = (x: number): string => " + strings.Repeat("x < 5 ? 'a' : ", 120) + "'b'",
		"interface Api {\n" + strings.Repeat("  get(id: number): Promise<Array<Record<string, Map<string, number>>>>\n", 60) + "}",
		"enum Color { Red = 'red', Blue = 'blue' }\nenum F { A = 1, B = 2, C = A | B, D = A | B | C, E = A | B | C | D, G = A | B | C | D | E, H = A | B | C | D | E | G, I = A | B | C | D | E | G | H }",
		"enum Code { " + strings.Repeat("A = 'text_of_a_code',\n", 150) + " }\n" + strings.Repeat("row(a.b.c, d.e.f, 1.5);\n", 800) + strings.Repeat("use(Code.A);\n", 200),
	} {
		require.Empty(t, tooMuch(lex(ordinary)), ordinary[:60])
	}
	require.NotEmpty(t, tooMuch(lex("{}/a/; enum A { a = \"x\" }")), "what a slash is was guessed")
}
