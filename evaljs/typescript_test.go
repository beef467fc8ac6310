package evaljs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/evaljs"
)

// TestTypeScript: types are erased, and what the language adds works.
func TestTypeScript(t *testing.T) {
	sources := map[string]string{
		"interface P { x: number; y?: string }\nconst p: P = { x: 1 };\np.x as number":                                                         "1",
		"type Row = { n: number };\nconst rows: Row[] = [{ n: 2 }, { n: 3 }];\nrows.reduce<number>((s: number, r: Row): number => s + r.n, 0)": "5",
		"enum Color { Red, Green = 5, Blue }\n[Color.Blue, Color[5]]":                                                                          `[6,"Green"]`,
		"class A<T> { constructor(private readonly v: T, public n = 1) {} get(): T { return this.v } }\nnew A<string>('x').get()":              `"x"`,
		"function f(this: void, a?: number, ...rest: string[]): asserts a is number {}\nf(1); 'ok' satisfies string":                           `"ok"`,
		"abstract class S { abstract area(): number }\nclass Q extends S { override area() { return 4 } }\nnew Q().area()!":                    "4",
		"namespace N { export const k: number = 3 }\nN.k":                                                                                      "3",
		"const m: Map<string, number> = new Map<string, number>([['a', 1]]);\nm.get('a')!":                                                     "1",
		"declare const x: string;\nimport type { T } from 'types';\nlet u: unknown = 1;\nconst w = <T,>(v: T): T => v;\nw(u as number)":        "1",
		"interface A { x: number }\ntype B = A":                                                                                                "",
		"const later: Promise<number> = Promise.resolve(8);\nawait later":                                                                      "8",
	}
	for engine, e := range engines(t) {
		for source, want := range sources {
			for _, lang := range []evaljs.Language{evaljs.Auto, evaljs.TypeScript} {
				s, err := evaljs.New(evaljs.Options{Engine: e, Language: lang})
				require.NoError(t, err)
				o := evaluate(t, s, source)
				require.Equal(t, want, string(o.Data), "%s: %s\n%s %+v", engine, source, o.Kind, o.Value.Exception)
				require.NoError(t, s.Close())
			}
		}
	}
}

// TestTypeScriptRefused: a session of JavaScript takes none; what is both is JavaScript unless TypeScript is asked for.
func TestTypeScriptRefused(t *testing.T) {
	e := engines(t)["wasm"]
	eval := func(lang evaljs.Language, source string) compartment.Outcome {
		s, err := evaljs.New(evaljs.Options{Engine: e, Language: lang})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		return evaluate(t, s, source)
	}
	require.Equal(t, compartment.KindParse, eval(evaljs.JavaScript, "let a: number = 1").Kind)
	both := "const f = <T,>(x: T) => x; const number = 1;\nf<number>(3)"
	require.Equal(t, "3", string(eval(evaljs.Auto, both).Data), "types elsewhere in it")
	require.Equal(t, "false", string(eval(evaljs.Auto, "var f = 1, n = 2;\nf<n>(3)").Data))
	require.Equal(t, compartment.KindThrown, eval(evaljs.TypeScript, "var f = 1, n = 2;\nf<n>(3)").Kind)
	_, err := evaljs.New(evaljs.Options{Engine: e, Language: 9})
	require.ErrorIs(t, err, compartment.ErrConfig)
}

// TestTypeScriptPlaces: places are those of the author's text, also of mistakes the eraser finds.
func TestTypeScriptPlaces(t *testing.T) {
	for engine, e := range engines(t) {
		s := lasting(t, evaljs.Options{Engine: e})
		source := "interface A {\n  x: number;\n}\ntype B = string;\n\nfunction fail(a: A): B {\n  return (a as any).x.y.z;\n}\nenum E { Q }\nfail({ x: 1 });"
		o := evaluate(t, s, source)
		require.Equal(t, compartment.KindThrown, o.Kind, engine)
		require.NotNil(t, o.Where, engine)
		require.Equal(t, 7, o.Where.Line, "%s: %+v", engine, o.Where)
		require.Equal(t, "  return (a as any).x.y.z;", o.Where.Source)
		require.Equal(t, 10, o.Where.Frames[len(o.Where.Frames)-1].Line, "%s: %+v", engine, o.Where.Frames)

		o = evaluate(t, s, "const a: number = 1;\nconst b: string = ;\n")
		require.Equal(t, compartment.KindParse, o.Kind)
		require.Equal(t, 2, o.Where.Line, "the mistake, not the first type")
		require.Equal(t, 19, o.Where.Column)
		require.Equal(t, compartment.SessionKept, o.Session.State)
	}
}

// TestTypeScriptBounded: no source keeps the eraser busy, or fills the stack of the host.
func TestTypeScriptBounded(t *testing.T) {
	s, err := evaljs.New(evaljs.Options{Engine: engines(t)["wasm"], Language: evaljs.TypeScript, Limits: compartment.Limits{Time: 5 * time.Second}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const n = 256 << 10
	for _, unit := range []string{"[", "(", "a=>", "({a:", "!", "- ", "typeof ", "a=", "a?", "`${", "if(1)", "f(", "class x{[", "1**", "{", "let x:", "keyof ", "(a:", "await ", "new ",
		"=>{", "for(;;)", "<T>", "import(", "[...", "x?.(", "@", "a,", "a.b", "x?(y):z=>(", "infer U extends `${", "x?/**/(y):z=>(", "a:"} {
		began := time.Now()
		o := evaluate(t, s, "let q: number = 1;"+strings.Repeat(unit, (n-100)/len(unit)))
		require.NotEqual(t, compartment.StatusOK, o.Status, unit)
		require.Less(t, time.Since(began), 20*time.Second, unit)
	}
	o := evaluate(t, s, strings.Repeat("x?(y):z=>(", 40))
	require.Equal(t, compartment.KindSourceDepth, o.Kind)
	o = evaluate(t, s, "const rows = ["+strings.Repeat("{ a: 1, b: [2, 3], c: (4 + 5) * 6 },\n", 2000)+"];\n(rows.length as number)")
	require.Equal(t, "2000", string(o.Data), "an ordinary long source is taken: %s %+v", o.Kind, o.Value.Exception)
}
