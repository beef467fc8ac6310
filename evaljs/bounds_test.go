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
		"types":              {maxTypes, func(n int) string { return "let z: any; [" + strings.Repeat("a<b,", n) + "1]" }},
		"commas":             {maxCommas, func(n int) string { return "f(" + strings.Repeat("1,", n) + "1)" }},
		"inferred":           {maxInferred, func(n int) string { return strings.Repeat("type A<T> = T extends (infer U)[] ? U : never;", n) }},
		"chain":              {maxChain, func(n int) string { return "let a = " + strings.Repeat("- ", n) + "1" }},
		"doubling":           {maxDoubling, func(n int) string { return strings.Repeat("x ? (y): z => (", n) + "1" + strings.Repeat(")", n) }},
		"unsure doubling":    {maxUnsureDoubling, func(n int) string { return "{}/a/;" + strings.Repeat("x ? y : () => z;", n) }},
		"unsure types":       {maxUnsureTypes, func(n int) string { return "{}/a/;" + strings.Repeat("a<b;", n) }},
		"unsure stack":       {maxUnsureStack / operatorStack, func(n int) string { return "{}/a/;" + strings.Repeat(";", n-6) }},
		"stack of operators": {maxEraserStack / operatorStack, func(n int) string { return strings.Repeat(";", n) }},
		"stack of letters":   {maxEraserStack / letterStack, func(n int) string { return strings.Repeat("a", n) }},
		"texts that double":  {18, members},
		"texts that are named": {1000, func(n int) string {
			return "enum A { a = \"" + strings.Repeat("x", 16<<10) + "\" }\n" + strings.Repeat("A.a;\n", n)
		}},
	} {
		require.NotEmpty(t, tooMuch(lex(c.make(c.most+c.most/10+2))), name)
		require.Empty(t, tooMuch(lex(c.make(c.most/2))), name)
	}
	require.Empty(t, tooMuch(lex("enum F { A = 1 << 0, B = 1 << 1, C = A | B, D = A | B | C, E = D | C | B | A, G = E | D | C | B }\n"+strings.Repeat("F.A;", 500))), "numbers do not grow")
	require.NotEmpty(t, tooMuch(lex("{}/a/; enum A { a = \"x\" }")), "what a slash is was guessed")
}
