package evaljs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/compartment/wasm"
	"sallyport/evaljs"
)

// engines are what a session has to be the same on.
func engines(t *testing.T) map[string]compartment.Engine {
	t.Helper()
	w, err := wasm.New(t.Context(), wasm.Options{CacheDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return map[string]compartment.Engine{"wasm": w, "goja": goja.NewWithoutMemoryLimit()}
}

// lasting makes a session that lasts.
func lasting(t *testing.T, o evaljs.Options) *evaljs.Session {
	t.Helper()
	o.Persist = true
	s, err := evaljs.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// dialogue is a session as a table: what is evaluated, and what comes: JSON, or a kind. "" is undefined.
type dialogue []struct{ source, want string }

func (d dialogue) run(t *testing.T, s *evaljs.Session) {
	t.Helper()
	for _, step := range d {
		o := evaluate(t, s, step.source)
		got := string(o.Data)
		if o.Kind != "" {
			got = string(o.Kind)
		}
		require.Equal(t, step.want, got, "%s\n%s %+v", step.source, o.Value.Text, o.Value.Exception)
		require.Equal(t, compartment.SessionKept, o.Session.State, step.source)
	}
}

// TestSessionDeclarations: what is declared at the top level stays, can be declared again, and is not poisoned by a failure.
func TestSessionDeclarations(t *testing.T) {
	dialogues := map[string]dialogue{
		"a second let replaces": {
			{"let total = 1; total", "1"}, {"total += 1; total", "2"}, {"let total = 10; total", "10"}, {"const total = 20", ""}, {"total", "20"},
			{"let total", ""}, {"typeof total", `"undefined"`}, {"var total = 3; total", "3"}, {"function total() { return 4 }; total()", "4"}, {"let total = 5; total", "5"},
		},
		"a failed const does not poison": {
			{"const v = (() => { throw new Error('x') })()", "exception/thrown"}, {"typeof v", `"undefined"`}, {"const v = 7; v", "7"},
			{"const a = 1, b = boom()", "exception/thrown"}, {"a", "1"}, {"const b = a + 1; b", "2"},
		},
		"patterns": {
			{"const { a, b: [c, { d = 4 }], ...rest } = { a: 1, b: [2, {}], x: 9 }", ""}, {"[a, c, d, rest.x]", "[1,2,4,9]"},
			{"let [p, , q = p + 1, ...r] = [1, 2], { ['k' + 1]: s } = { k1: 5 }", ""}, {"[p, q, r.length, s]", "[1,2,0,5]"},
			{"const { a, b: [c] } = { a: 'n', b: ['m'] }; a + c", `"nm"`},
		},
		"classes and functions": {
			{"class A { static n = 1; m() { return A.n } }\n(new A).m()", "1"}, {"class A { m() { return 2 } }", ""}, {"(new A).m() + A.name", `"2A"`},
			{"class B extends A { m() { return super.m() + 1 } }\n[new B].map((b) => b.m())", "[3]"},
			{"function f() { return g() }\nfunction g() { return 1 }", ""}, {"function g() { return 2 }\nf()", "2"}, {"async function h() { return 6 }", ""}, {"await h()", "6"},
			{"function* gen() { yield 1; yield 2 }", ""}, {"[...gen()]", "[1,2]"},
		},
		"closures see the session": {
			{"let n = 0; function inc() { n++ }", ""}, {"inc(); inc(); n", "2"}, {"let n = 10", ""}, {"inc(); n", "11"},
		},
		"inside of blocks nothing is different": {
			{"{ let hidden = 1 } typeof hidden", `"undefined"`}, {"let fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); fs.map((f) => f())", "[0,1,2]"},
			{"(() => { const c = 1; try { c = 2 } catch (e) { return e.name } })()", `"TypeError"`}, {"if (true) { const k = 1; k } else { 2 }", "1"},
		},
		"words that look like declarations": {
			{"({ let: 1, const: 2, class: 3 }).class", "3"}, {"let o = { let: 4 }; o.let", "4"}, {"const x = class { m() { return 1 } }; (new x).m()", "1"},
			{"`let ${'total'} = 1`", `"let total = 1"`}, {"/let x = 1/.test('let x = 1')", "true"}, {"// let y = 1\n/* const z = 2 */ typeof y + typeof z", `"undefinedundefined"`},
			{"'let w = 1'; typeof w", `"undefined"`}, {"let a = 4 / 2, b = a / 1; b", "2"}, {"let q = [1, 2]\n;[q, 3].length", "2"},
		},
		"line ends": {
			{"let a = 1\nlet b = 2\nconst c = a\n+ b\nc", "3"}, {"let u\nlet w\nu === w", "true"}, {"const d = () => {\n  return { x: 1 }\n}\nclass K {}\nd().x", "1"},
			{"let e =\n  [1, 2,\n   3].length\nlet f = e\n(f)", "exception/thrown"},
		},
		"what follows a name without a value": {
			{"let total\n[1, 2, 3].forEach((n) => total = n)\ntotal", "3"}, {"let x\n-1", "-1"}, {"let head, tail\n;[head, ...tail] = [1, 2]\ntail", "[2]"}, {"let y\n/1/.test('1')", "true"},
		},
		"classes that are no statements": {
			{"globalThis.X = true ? 1 : class B {}; X", "1"}, {"let g = 1; var h = false ? 1 : function g() { return 3 }; h()", "3"},
			{"class A extends class { a() { return 7 } } { }\nnew A().a()", "7"}, {"class N extends { A: class {} }.A {}\nN.name", `"N"`}, {"class M extends (class {}) { m() { return 1 } }\nnew M().m()", "1"},
		},
		"names that look like words": {
			{"var m = { default: 1 }\nconst a = m?.default\nconst b = 2", ""}, {"const b = 3; b", "3"}, {"const of = 1; const x = of\nconst y = 2", ""}, {"const y = 5; y", "5"},
			{"let \\u0061bc = 1; abc", "1"}, {"let abc = 2; abc", "2"}, {"let d\\u{65}f = 3", ""}, {"let def = 4; def", "4"}, {"let \\u0063onsole = 1", "syntax/parse"},
		},
		"patterns and divisions": {
			{"if (true) /[`]/.test('x')\nlet z = 1", "false"}, {"let z = 2; z", "2"}, {"let q = 8, r = q / 2 / 2, s = '/'; r", "2"}, {"{ }\n/`/.test('`')", "true"}, {"let z = 3; z", "3"},
		},
		"mistakes stay mistakes": {
			{"let a = 1; let a = 2", "syntax/parse"}, {"let b = 1; function b() {}", "syntax/parse"}, {"const c", "syntax/parse"}, {"typeof a", `"undefined"`}, {"let = = 1", "syntax/parse"},
			{"let console = 1", "syntax/parse"}, {"function console() {}", "syntax/parse"}, {"let undefined = 1", "syntax/parse"}, {"console.log.name", `"log"`}, {"let a = (1", "syntax/parse"}, {"let a = 3; a", "3"},
		},
	}
	for engine, e := range engines(t) {
		for name, d := range dialogues {
			t.Run(engine+"/"+name, func(t *testing.T) { d.run(t, lasting(t, evaljs.Options{Engine: e})) })
		}
	}
}

// TestSessionAwait: what an evaluation that waits declares stays too.
func TestSessionAwait(t *testing.T) {
	for engine, e := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			dialogue{
				{"const a = await Promise.resolve(1), { b } = await Promise.resolve({ b: 2 }); function f() { return a + b }", ""}, {"f()", "3"},
				{"const a = await 5; class C { m() { return a } }", ""}, {"new C().m() + f()", "12"},
			}.run(t, lasting(t, evaljs.Options{Engine: e}))
		})
	}
}

// TestSessionOldComments: a comment of the old kind, which one engine reads, hides nothing.
func TestSessionOldComments(t *testing.T) {
	dialogue{{"<!-- let it's\nlet w = 1; w", "1"}, {"let w = 2; w", "2"}}.run(t, lasting(t, evaljs.Options{Engine: engines(t)["wasm"]}))
}

// TestSessionStopped: a stop takes the session back to before it, or takes all of it, and says so.
func TestSessionStopped(t *testing.T) {
	all := engines(t)
	limits := compartment.Limits{Time: 150 * time.Millisecond}
	t.Run("wasm", func(t *testing.T) {
		s := lasting(t, evaljs.Options{Engine: all["wasm"], Limits: limits})
		evaluate(t, s, "let total = 1, rows = [1, 2]")
		o := evaluate(t, s, "total = 99; let extra = 1; rows.push(3); for (;;) {}")
		require.Equal(t, compartment.KindTime, o.Kind)
		require.Equal(t, compartment.Session{State: compartment.SessionRolledBack, Lost: []string{"extra"}}, o.Session)
		require.Contains(t, o.Next, "The session is as it was before this evaluation.")
		require.Equal(t, `[1,2,"undefined"]`, string(evaluate(t, s, "[total, rows.length, typeof extra]").Data))
	})
	t.Run("goja", func(t *testing.T) {
		s := lasting(t, evaljs.Options{Engine: all["goja"], Limits: limits})
		evaluate(t, s, "let total = 1, rows = [1, 2]")
		o := evaluate(t, s, "let extra = 1; for (;;) {}")
		require.Equal(t, compartment.KindTime, o.Kind)
		require.Equal(t, compartment.Session{State: compartment.SessionLost, Lost: []string{"extra", "rows", "total"}}, o.Session)
		require.Contains(t, o.Next, "the next evaluation starts clean")
		require.Equal(t, `"undefinedundefined"`, string(evaluate(t, s, "typeof total + typeof extra").Data))
		require.Empty(t, evaluate(t, s, "1").Session.Lost)
	})
}

// TestSessionsApart: two sessions share nothing, and evaluations of one follow each other.
func TestSessionsApart(t *testing.T) {
	for engine, e := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			a, b := lasting(t, evaljs.Options{Engine: e}), lasting(t, evaljs.Options{Engine: e})
			evaluate(t, a, "let secret = 'a'; globalThis.leak = 1")
			require.Equal(t, `"undefinedundefined"`, string(evaluate(t, b, "typeof secret + typeof leak").Data))
			evaluate(t, a, "let n = 0")
			done := make(chan error)
			for range 8 {
				go func() {
					_, err := a.Evaluate(context.Background(), "n++")
					done <- err
				}()
			}
			for range 8 {
				require.NoError(t, <-done)
			}
			require.Equal(t, "8", string(evaluate(t, a, "n").Data))
		})
	}
}

// TestSessionTurn: evaluations of one session follow each other, and one that waits for its turn hears its context.
func TestSessionTurn(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { close(leave) }) })
	hold := compartment.Power{Name: "hold", OnCancel: compartment.CancelDiscards, Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
		close(entered)
		<-leave
		return compartment.Value{}, nil
	}}
	s := lasting(t, evaljs.Options{Engine: engines(t)["wasm"], Powers: []compartment.Power{hold}})
	first := make(chan compartment.Outcome)
	go func() {
		o, _ := s.Evaluate(context.Background(), "let n = 1; await hold(); n = 2; n")
		first <- o
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o, err := s.Evaluate(ctx, "n = 3")
	require.NoError(t, err)
	require.Equal(t, compartment.KindCancelled, o.Kind)
	second := make(chan compartment.Outcome)
	go func() {
		o, _ := s.Evaluate(context.Background(), "n += 10")
		second <- o
	}()
	select {
	case <-second:
		t.Fatal("the second evaluation did not wait for the first")
	case <-time.After(50 * time.Millisecond): // whether it has begun or not, it may not end before the first
	}
	once.Do(func() { close(leave) })
	require.Equal(t, "2", string((<-first).Data))
	require.Equal(t, "12", string((<-second).Data))
}

// TestSessionNames: names are the guest's, so what is said of them is bounded and can be shown.
func TestSessionNames(t *testing.T) {
	s := lasting(t, evaljs.Options{Engine: engines(t)["goja"], Limits: compartment.Limits{Time: 100 * time.Millisecond}})
	evaluate(t, s, "let "+strings.Repeat("a", 200_000)+" = 1")
	for i := range 12 {
		var b strings.Builder
		for j := range 100 {
			fmt.Fprintf(&b, "var v%d_%d;", i, j)
		}
		evaluate(t, s, b.String())
	}
	o := evaluate(t, s, "for (;;) {}")
	require.Equal(t, compartment.SessionLost, o.Session.State)
	require.LessOrEqual(t, len(o.Session.Lost), 1000)
	for _, n := range o.Session.Lost {
		require.Less(t, len(n), 200)
	}
}

// TestSessionPlaces: an error is told where the author wrote it, although the text that ran is another one.
func TestSessionPlaces(t *testing.T) {
	for engine, e := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			s := lasting(t, evaljs.Options{Engine: e})
			source := "class Point { x = 1 }; let a; const p = new Point(); missing.thing"
			o := evaluate(t, s, source)
			require.Equal(t, compartment.KindThrown, o.Kind)
			require.NotNil(t, o.Where)
			require.Equal(t, source, o.Where.Source)
			require.Equal(t, 1, o.Where.Line)
			require.InDelta(t, strings.Index(source, "missing")+1, o.Where.Column, float64(len("missing.")), "%+v", o.Where)
			require.Equal(t, int64(len(source)), o.Used.SourceBytes.Used)
		})
	}
}

// TestSessionClosed: a closed session says so, and ends what runs.
func TestSessionClosed(t *testing.T) {
	s, err := evaljs.New(evaljs.Options{Engine: engines(t)["wasm"], Persist: true})
	require.NoError(t, err)
	evaluate(t, s, "1")
	ended := make(chan compartment.Outcome)
	go func() {
		o, _ := s.Evaluate(context.Background(), "for (;;) {}")
		ended <- o
	}()
	time.Sleep(20 * time.Millisecond) // whether it has begun or not, it must end
	require.NoError(t, s.Close())
	<-ended
	_, err = s.Evaluate(t.Context(), "1")
	require.ErrorIs(t, err, compartment.ErrClosed)
	require.NoError(t, s.Close())
}

func TestCompleteness(t *testing.T) {
	for source, want := range map[string]bool{
		"": false, "1 + 1": false, "f(": true, "`a ${": true, "`a": true, "/* a": true, "if (x) {": true, "'a": false, "}": false, "[1, 2": true, "// (": false, "/[(]/": false, "'('": false,
	} {
		var c evaljs.Completeness
		require.Equal(t, want, !c.Add(source), source)
	}
}
