package evaljs_test

import (
	"context"
	"fmt"
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
		"export const kk: number = 4; export interface Q { x: 1 }\nexport function fn(): number { return kk }\nfn()":                           "4",
		"function log(v: any, c: any) { return v }\nclass D { @log m(): number { return 6 } accessor x: number = 1 }\nnew D().m() + new D().x": "7",
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
		s := lasting(t, evaljs.Options{Engine: e, Language: evaljs.Auto})
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

// TestTypeScriptSessionPlaces: a place goes back through both readings, and a source map in a comment is not followed.
func TestTypeScriptSessionPlaces(t *testing.T) {
	s := lasting(t, evaljs.Options{Engine: engines(t)["wasm"], Language: evaljs.Auto})
	source := "interface A { x: number }\n\nclass P { x = 1 } let q\nlet typed: number = 1; missing.thing"
	o := evaluate(t, s, source)
	require.Equal(t, compartment.KindThrown, o.Kind)
	require.Equal(t, []int{4, 24}, []int{o.Where.Line, o.Where.Column}, "%+v", o.Where)
	require.Equal(t, "let typed: number = 1; missing.thing", o.Where.Source)

	o = evaluate(t, s, "let b: number = 1;\n\nmissing.thing\n//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIngiXSwibmFtZXMiOltdLCJtYXBwaW5ncyI6IkFBQUE7QUFBQTtBQUFBIn0=")
	require.Equal(t, 3, o.Where.Line, "%+v", o.Where)

	o = evaluate(t, s, "interface B {\n  x: number\n}\n\nlet console: number = 1")
	require.Equal(t, compartment.KindParse, o.Kind)
	require.Equal(t, []int{5, 5}, []int{o.Where.Line, o.Where.Column})
	require.Equal(t, "let console: number = 1", o.Where.Source)
}

// TestTypeScriptSession: enums and namespaces replace those of an earlier source.
func TestTypeScriptSession(t *testing.T) {
	for engine, e := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			dialogue{
				{"enum E { A }", ""}, {"enum E { B }", ""}, {"Object.keys(E)", `["0","B"]`}, {"let E = 5", ""}, {"enum E { A = 3 }", ""}, {"E.A", "3"},
				{"namespace N { export const a = 1 }", ""}, {"namespace N { export const b = 2 }\nObject.keys(N)", `["b"]`},
			}.run(t, lasting(t, evaljs.Options{Engine: e, Language: evaljs.Auto}))
		})
	}
}

// TestTypeScriptCancelled: a source that waits for the eraser hears its context, and one that is no program is told apart from one that was stopped.
func TestTypeScriptCancelled(t *testing.T) {
	s, err := evaljs.New(evaljs.Options{Engine: engines(t)["wasm"], Language: evaljs.Auto})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	free := evaljs.HoldEraser()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o, err := s.Evaluate(ctx, "let a: number = 1")
	free()
	require.NoError(t, err)
	require.Equal(t, compartment.KindCancelled, o.Kind)
	require.Equal(t, "1", string(evaluate(t, s, "let a: number = 1; a").Data))
	o = evaluate(t, s, "let a: number = "+strings.Repeat("[", 1000))
	require.Equal(t, compartment.KindParse, o.Kind)
}

// TestTypeScriptBounded: no source keeps the eraser busy, or fills the stack of the host.
func TestTypeScriptBounded(t *testing.T) {
	s, err := evaljs.New(evaljs.Options{Engine: engines(t)["wasm"], Language: evaljs.TypeScript, Limits: compartment.Limits{Time: 5 * time.Second}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const n = 256 << 10
	for _, unit := range []string{"[", "(", "a=>", "({a:", "!", "- ", "typeof ", "a=", "a?", "`${", "if(1)", "f(", "class x{[", "1**", "{", "let x:", "keyof ", "(a:", "await ", "new ",
		"=>{", "for(;;)", "<T>", "import(", "[...", "x?.(", "@", "a,", "a.b", "x?(y):z=>(", "infer U extends `${", "x?/**/(y):z=>(", "a:", "1,", "x?1?1:(y):z=>(", "x?\f(y):z=>(", "a<", "declare ", "class A{public ", "x?[(y):z=>[", "a;", "a\n", "x?1:2;", "if(x){}/a/;x?1?1:(y):z=>("} {
		began := time.Now()
		o := evaluate(t, s, "let q: number = 1;"+strings.Repeat(unit, (n-100)/len(unit)))
		require.NotEqual(t, compartment.StatusOK, o.Status, unit)
		require.NotEqual(t, compartment.KindTime, o.Kind, unit)
		require.Less(t, time.Since(began), 20*time.Second, unit)
	}
	for _, unit := range []string{"x?(y):z=>(", "x?1?1:(y):z=>(", "x?\v(y):z=>(", "x?[(y):z=>[", "if(x){}/a/;x?1?1:(y):z=>("} {
		require.Equal(t, compartment.KindSourceDepth, evaluate(t, s, strings.Repeat(unit, 40)).Kind, unit)
	}
	var ordinary strings.Builder
	for i := range 300 {
		fmt.Fprintf(&ordinary, "const f%d = (x: number): number => x > %d ? (x + 1) * 2 : x;\n", i, i)
	}
	o := evaluate(t, s, ordinary.String()+"f7(9)")
	require.Equal(t, "20", string(o.Data), "many conditions side by side: %s %+v", o.Kind, o.Value.Exception)
	o = evaluate(t, s, strings.Repeat("// it's (a comment), [with] {marks} ? : => ... /x/ <b>\n", 4000)+"const n: number = 1; n")
	require.Equal(t, "1", string(o.Data), "%s %+v", o.Kind, o.Value.Exception)
	o = evaluate(t, s, "const rows = ["+strings.Repeat("{ a: 1, b: [2, 3], c: (4 + 5) * 6 },\n", 6000)+"];\n(rows.length as number)")
	require.Equal(t, "6000", string(o.Data), "an ordinary long source is taken: %s %+v", o.Kind, o.Value.Exception)
}
