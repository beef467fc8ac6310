package evaljs

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seeds are sources of every kind.
var seeds = []string{
	"let a = 1, {b, c: [d]} = e\nclass F extends G {}\nconst h = `x${y}z`", "import x, { y as z } from 'w'; import * as n from \"m\"", "if (a) /re[/]/.test(b) / 2",
	"interface A<T> { x: T }\nenum E { A = 1 }\nlet v: A<number> = { x: 1 } as any", "let f = async (x) => { await x }, g\nfunction* h() {}", "a ? { b } : c; case: { d }",
	"#!x\nlet\u2028y = 1", "/* let */ // const\n'class A {}' `import ${`x`}`", "({ let: 1, [const]: 2 })", "import(", "let [", "class {", "`${", "}", "const", "\xff\xfe let x",
}

// FuzzReadTop: reading the top level of any source neither panics nor takes long, its edits are in the source and in order, and every place of the new text leads
// back into the old one.
func FuzzReadTop(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, source string, keep bool) {
		began := time.Now()
		top := readTop(source, keep)
		r := rewrite(source, append(top.imports, top.relax...))
		require.Less(t, time.Since(began), time.Second+time.Duration(len(source))*20*time.Microsecond)
		at := 0
		for _, e := range r.edits {
			require.True(t, at <= e.from && e.from <= e.to && e.to <= len(source), "%+v", r.edits)
			at = e.to
		}
		for i := 0; i <= len(r.text); i += 1 + len(r.text)/50 {
			o := r.origin(i)
			require.True(t, o >= 0 && o <= len(source), "%d of %d comes from %d of %d", i, len(r.text), o, len(source))
		}
		for _, d := range top.declared {
			require.True(t, d.at >= 0 && d.at < len(source))
		}
		_ = Incomplete(source)
	})
}

// FuzzErase: no source makes the eraser panic or run on, and what it makes has no place outside of the source.
func FuzzErase(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 64<<10 || tooMuch(source) != "" {
			return
		}
		done := make(chan erased, 1)
		go func() { done <- transform(source, false) }()
		select {
		case e := <-done:
			if e.end != nil {
				return
			}
			lines := strings.Count(source, "\n") + strings.Count(source, "\r") + strings.Count(source, "\u2028") + strings.Count(source, "\u2029") + 1
			if line, column, ok := e.back(1, 1); ok {
				require.True(t, line >= 1 && line <= lines && column >= 1, "%d:%d of %d lines", line, column, lines)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the eraser does not come to an end")
		}
	})
}
