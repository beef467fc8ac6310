package evaljs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/evaljs"
	"sallyport/fs"
	"sallyport/hostfuncs"
)

// TestMain: no test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session makes a session with these powers.
func session(t *testing.T, l compartment.Limits, powers ...compartment.Power) *evaljs.Session {
	t.Helper()
	s, err := evaljs.New(evaljs.Options{Engine: goja.NewWithoutMemoryLimit(), Powers: powers, Limits: l})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// evaluate runs one program.
func evaluate(t *testing.T, s *evaljs.Session, source string) compartment.Outcome {
	t.Helper()
	o, err := s.Evaluate(t.Context(), source)
	require.NoError(t, err)
	return o
}

// TestBoundariesIndependent: the code boundary is made and used with nothing of the process boundary (R1); what a
// program is told it has is the one it has (R7).
func TestBoundariesIndependent(t *testing.T) {
	s := session(t, compartment.Limits{})
	require.Equal(t, "2", string(evaluate(t, s, "1 + 1").Data))
	require.Equal(t, compartment.Promises{Capabilities: true}, s.Promises(), "nothing is promised that the engine does not hold")
}

// TestGuestNoAmbientAuthority: none of the names by which programs usually reach a host is there (R5).
func TestGuestNoAmbientAuthority(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "the secret")
	s := session(t, compartment.Limits{})
	for _, name := range []string{"process", "require", "module", "exports", "fetch", "env", "XMLHttpRequest", "WebSocket", "setTimeout", "setInterval",
		"setImmediate", "queueMicrotask", "performance", "crypto", "navigator", "window", "self", "document", "Deno", "Bun", "std", "os", "Buffer", "WebAssembly",
		"SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "importScripts", "__dirname", "GoError", "goja", "print", "load"} {
		require.Equal(t, `"undefined"`, string(evaluate(t, s, "typeof "+name).Data), name)
	}
	all := evaluate(t, s, `
		const seen = new Set(), names = [];
		const walk = (o, depth) => {
			if (depth > 6 || o === null || (typeof o !== 'object' && typeof o !== 'function') || seen.has(o)) return;
			seen.add(o);
			for (const k of Reflect.ownKeys(o)) {
				const d = Reflect.getOwnPropertyDescriptor(o, k);
				names.push(String(k) + '=' + (typeof d.value === 'string' ? d.value : ''));
				walk(d.value, depth + 1); walk(d.get, depth + 1); walk(d.set, depth + 1);
			}
			walk(Reflect.getPrototypeOf(o), depth + 1);
		};
		walk(globalThis, 0);
		names.join('\n')`)
	require.Equal(t, compartment.StatusOK, all.Status, "%+v", all)
	require.Greater(t, len(all.Data), 5000, "the walk really went")
	for _, word := range []string{"the secret", "SECRET_OF_THE_HOST", "goja", "runtime.", "github.com"} {
		require.NotContains(t, string(all.Data), word)
	}
}

// globals is every name on the global object of a guest without powers: those of the language, and console. A name
// that an engine adds fails the test that compares.
const globals = `AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError Float32Array Float64Array
Function Infinity Int16Array Int32Array Int8Array JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String Symbol
SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakSet console decodeURI decodeURIComponent encodeURI
encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape`

// TestGuestGlobalsExact: the names of the language, console, and the powers that were handed in; nothing else (R6).
func TestGuestGlobalsExact(t *testing.T) {
	power := compartment.Power{Name: "extra", OnCancel: compartment.CancelDiscards, Do: func(context.Context, *compartment.Call) (compartment.Value, error) { return compartment.Value{}, nil }}
	var names []string
	require.NoError(t, json.Unmarshal(evaluate(t, session(t, compartment.Limits{}, power), "Object.getOwnPropertyNames(globalThis)").Data, &names))
	want := append(strings.Fields(globals), "extra")
	sort.Strings(names)
	sort.Strings(want)
	require.Equal(t, want, names)
	require.Equal(t, "[]", string(evaluate(t, session(t, compartment.Limits{}), "Object.getOwnPropertySymbols(globalThis).filter((s) => s !== Symbol.toStringTag)").Data))
}

// TestGuestNoTimeRandom: two evaluations a while apart cannot tell (R254).
func TestGuestNoTimeRandom(t *testing.T) {
	s := session(t, compartment.Limits{})
	for _, source := range []string{"Date.now()", "new Date()", "Date()", "Math.random()", "Reflect.construct(Date, [])", "new (class extends Date {})()"} {
		o := evaluate(t, s, source)
		require.Equal(t, compartment.KindWithheld, o.Kind, source)
		require.Contains(t, o.Next, "The operator can grant it")
	}
}

// TestGuestHardened: what one program changes, no other one sees (R252).
func TestGuestHardened(t *testing.T) {
	s := session(t, compartment.Limits{})
	evaluate(t, s, "Array.prototype.map = () => 'changed'; Object.prototype.x = 1; JSON.parse = null; globalThis.y = 1; console.z = 1")
	require.Equal(t, `[[2],null,"function","undefined",null]`, string(evaluate(t, s,
		"[[1].map((n) => n + 1), ({}).x === undefined ? null : 1, typeof JSON.parse, typeof y, console.z === undefined ? null : 1]").Data))
}

// TestGuestTimeout: a program that never ends is ended at its limit, whatever it does, and says so; no result is made
// up (R255).
func TestGuestTimeout(t *testing.T) {
	const limit = 200 * time.Millisecond
	s := session(t, compartment.Limits{Time: limit})
	for _, source := range []string{
		"while (1) {}",
		"for (;;) { try { for (;;) {} } catch (e) {} finally { continue } }",
		"(async () => { for (;;) await null })()",
		"await 1; for (;;) {}",
		"Promise.resolve().then(() => { for (;;) {} }); 1",
		"[2, 1].sort(() => { for (;;); })",
		"'' + { toString() { for (;;); } }",
		"(function f() { for (;;) [1].map(() => { try { f() } catch (e) {} }) })()",
	} {
		start := time.Now()
		o := evaluate(t, s, source)
		took := time.Since(start)
		if o.Kind == compartment.KindDepth {
			continue // the last one may meet that limit first
		}
		require.Equal(t, compartment.KindTime, o.Kind, source)
		require.Less(t, took, limit+250*time.Millisecond, source)
		require.GreaterOrEqual(t, took, limit, source)
		require.Nil(t, o.Data)
		require.Equal(t, compartment.Rendering{}, o.Value)
	}
}

// TestDefaultTime: thirty seconds, unless set (R255).
func TestDefaultTime(t *testing.T) {
	require.Equal(t, int64(30_000), evaluate(t, session(t, compartment.Limits{}), "1").Used.Wall.Limit)
}

// TestCancelled: the end of the caller's context ends the program.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := compartment.Power{Name: "began", Sync: true, OnCancel: compartment.CancelDiscards,
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			cancel()
			return compartment.Value{}, nil
		}}
	s := session(t, compartment.Limits{}, began)
	o, err := s.Evaluate(ctx, "began(); for (;;) {}")
	require.NoError(t, err)
	require.Equal(t, compartment.KindCancelled, o.Kind)
	_, err = s.Evaluate(ctx, "1")
	require.ErrorIs(t, err, context.Canceled, "nothing is begun for a caller that is gone")
}

// TestGuestLogs: what was logged before a throw, or a stop, is kept; a long line is cut with a mark; what was dropped
// is counted (R256).
func TestGuestLogs(t *testing.T) {
	s := session(t, compartment.Limits{Time: 200 * time.Millisecond, ConsoleEntries: 3, ConsoleEntryBytes: 40})
	o := evaluate(t, s, "console.log('before'); throw new Error('x')")
	require.Equal(t, []compartment.Entry{{Level: "log", Text: "before"}}, o.Console.Entries)
	o = evaluate(t, s, "console.log('before'); for (;;) {}")
	require.Equal(t, []compartment.Entry{{Level: "log", Text: "before"}}, o.Console.Entries)
	o = evaluate(t, s, "console.log('x'.repeat(100)); for (let i = 0; i < 10; i++) console.log(i)")
	require.Equal(t, compartment.Entry{Level: "log", Text: strings.Repeat("x", 40) + "… (100 bytes in all)", Clipped: true}, o.Console.Entries[0])
	require.Equal(t, int64(8), o.Console.DroppedEntries)
}

// TestGuestPartial: a result that JSON cannot say is a success, and flagged (R257).
func TestGuestPartial(t *testing.T) {
	s := session(t, compartment.Limits{})
	for source, text := range map[string]string{
		"10n": "10n", "undefined": "undefined", "new Map([['a', 1]])": `Map(1) {"a" => 1}`, "Symbol('s')": "Symbol(s)", "NaN": "NaN", "-Infinity": "-Infinity",
		"new Date(0)": "Date(1970-01-01T00:00:00.000Z)", "new Set([1])": "Set(1) {1}", "/a/g": "/a/g", "new TypeError('x')": "[TypeError: x]",
		"new Uint8Array([1])": "bytes[01]", "() => 1": "[function]", "class C {}; C": "[function C]", "new Proxy({}, {})": "[proxy]",
		"({ get a() { return 1 } })": "{a: [getter]}", "const o = {}; o.o = o; o": "{o: [circular]}", "'\\ud800'": "\"\uFFFD\"",
		"[1, , 2]": "[1, (empty), 2]", "({ a: undefined })": "{a: undefined}",
	} {
		o := evaluate(t, s, source)
		require.Equal(t, compartment.StatusOK, o.Status, source)
		require.True(t, o.Value.Partial, source)
		require.Nil(t, o.Data, source)
		require.Equal(t, text, o.Value.Text, source)
	}
	for source, data := range map[string]string{"null": "null", "-0": "-0", "({ a: [1, 'x', true, null] })": `{"a":[1,"x",true,null]}`, "Promise.resolve(1)": "1"} {
		o := evaluate(t, s, source)
		require.False(t, o.Value.Partial, source)
		require.Equal(t, data, string(o.Data), source)
	}
	big := evaluate(t, session(t, compartment.Limits{OutputBytes: 4096, ValueNodes: 100}), "Array.from({ length: 1000 }, (_, i) => i)")
	require.True(t, big.Value.Partial)
	require.Equal(t, int64(901), big.Value.Omitted)
}

// TestOptionsAreChecked: what is wrong is found when the session is made (R22, R258).
func TestOptionsAreChecked(t *testing.T) {
	engine := goja.NewWithoutMemoryLimit()
	for name, o := range map[string]evaljs.Options{
		"no engine":         {},
		"a limit":           {Engine: engine, Limits: compartment.Limits{ValueDepth: 3}},
		"a power":           {Engine: engine, Powers: []compartment.Power{{Name: "f"}}},
		"a memory limit":    {Engine: engine, Limits: compartment.Limits{MemoryBytes: 64 << 20}},
		"the console twice": {Engine: engine, Powers: append(hostfuncs.Console(), hostfuncs.Console()...)},
	} {
		_, err := evaljs.New(o)
		require.ErrorIs(t, err, compartment.ErrConfig, name)
	}
}

// TestOwnConsole: a console of the caller's takes the place of ours.
func TestOwnConsole(t *testing.T) {
	var lines []string
	log := compartment.Power{Name: "console.log", Sync: true, Local: true, OnCancel: compartment.CancelDiscards, Params: []compartment.Param{{Name: "v", Rest: true, Shown: true}},
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			lines = append(lines, c.Arg(0).Line(100))
			return compartment.Value{}, nil
		}}
	o := evaluate(t, session(t, compartment.Limits{}, log), "console.log('mine'); console.warn('ours')")
	require.Equal(t, []string{"mine"}, lines)
	require.Equal(t, []compartment.Entry{{Level: "warn", Text: "ours"}}, o.Console.Entries)
}

// TestClosed: a closed session evaluates nothing, and stops what it evaluates.
func TestClosed(t *testing.T) {
	began := make(chan struct{})
	s := session(t, compartment.Limits{}, compartment.Power{Name: "began", Sync: true, OnCancel: compartment.CancelDiscards,
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			close(began)
			return compartment.Value{}, nil
		}})
	ended := make(chan compartment.Kind, 1)
	go func() {
		o, err := s.Evaluate(context.Background(), "began(); for (;;) {}")
		if err != nil {
			o.Kind = compartment.Kind(err.Error())
		}
		ended <- o.Kind
	}()
	<-began
	require.NoError(t, s.Close())
	require.Equal(t, compartment.KindClosed, <-ended)
	_, err := s.Evaluate(t.Context(), "1")
	require.ErrorIs(t, err, compartment.ErrClosed)
}

// TestHundredAtOnce: a hundred evaluations at the same time do not see each other, and leave nothing behind.
func TestHundredAtOnce(t *testing.T) {
	root := t.TempDir()
	for i := range 100 {
		require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprint(i)), fmt.Appendf(nil, "text %d", i), 0o644))
	}
	dir, err := fs.OpenDir(root)
	require.NoError(t, err)
	defer dir.Close()
	s := session(t, compartment.Limits{}, hostfuncs.ReadFile(dir))
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			source := fmt.Sprintf("globalThis.shared = (globalThis.shared ?? 0) + 1; console.log(%d); const t = await readFile('%d'); globalThis.n = %d; [t, shared, n]", i, i, i)
			o, err := s.Evaluate(context.Background(), source)
			want := fmt.Sprintf(`["text %d",1,%d]`, i, i)
			if err != nil || string(o.Data) != want || len(o.Console.Entries) != 1 || o.Console.Entries[0].Text != fmt.Sprint(i) {
				t.Errorf("%d: %s %s %v", i, o.Kind, o.Data, err)
			}
		})
	}
	wg.Wait()
}

// TestSessionState: an evaluation of its own leaves no session.
func TestSessionState(t *testing.T) {
	s := session(t, compartment.Limits{Time: 50 * time.Millisecond})
	require.Equal(t, compartment.SessionNone, evaluate(t, s, "let kept = 1").Session.State)
	require.Equal(t, compartment.SessionNone, evaluate(t, s, "for (;;) {}").Session.State)
	require.Equal(t, `"undefined"`, string(evaluate(t, s, "typeof kept").Data))
	names := []string{}
	for _, p := range s.Powers() {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"console.log", "console.info", "console.debug", "console.warn", "console.error"}, names)
}
