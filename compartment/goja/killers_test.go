package goja

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// deepArray is the beginning of a program: arrays a million deep.
const deepArray = "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; "

// killers are programs that end a process that runs them on plain goja; see also the programs in the room above. They may make code of text.
var killers = map[string]string{
	"a source of brackets":              strings.Repeat("[", 200<<10),
	"a source of brackets that close":   strings.Repeat("[", 100<<10) + strings.Repeat("]", 100<<10),
	"a source of parentheses":           strings.Repeat("(", 100<<10) + "1" + strings.Repeat(")", 100<<10),
	"a source of objects":               strings.Repeat("({a:", 40<<10) + "1" + strings.Repeat("})", 40<<10),
	"brackets that hide from a scan":    strings.Repeat("[x++ /\"/]\", ", 20<<10),
	"templates in templates":            strings.Repeat("`${", 60<<10) + "1" + strings.Repeat("}`", 60<<10),
	"arrows":                            strings.Repeat("a=>", 80<<10) + "1",
	"deep JSON":                         "JSON.parse('['.repeat(5e6))",
	"a proxy that is its own prototype": "const t = {}, p = new Proxy(t, {}); Object.setPrototypeOf(t, p); p.x",
	"8 GiB at once":                     "new ArrayBuffer(8 * 2 ** 30)",
	"a text of 2^40":                    "'x'.repeat(2 ** 40)",
	"a list of 2^31 arguments":          "Math.max.apply(null, { length: 2 ** 31 })",
	"proxies around proxies":            "let p = {}; for (let i = 0; i < 5e6; i++) p = new Proxy(p, {}); p.x",
	"arrays in arrays, as text":         deepArray + "String(a)",
	"arrays in arrays, as local text":   deepArray + "a.toLocaleString()",
	"arrays in arrays, as JSON":         deepArray + "JSON.stringify(a)",
	"the same, made flat":               deepArray + "a.flat(Infinity)",
	"objects in objects, as JSON":       "let o = {}; for (let i = 0; i < 1e6; i++) o = { o }; JSON.stringify(o, ['o'])",
	"a text as JSON, by a replacer":     deepArray + "JSON.stringify('x', () => a)",
	"a chain of prototypes":             "let p = {}; for (let i = 0; i < 1e7; i++) p = Object.create(p); p.x = 1",
	"a chain of bound functions":        "let f = () => 1; for (let i = 0; i < 1e7; i++) f = f.bind(); f()",
	"a BigInt of 128 GB":                "1n << 2n ** 40n",
	"the same to the right":             "1n >> -(2n ** 40n)",
	"the same, hidden and assigned":     "let b = BigInt(1); b <<= { valueOf: () => BigInt(2 ** 40) }",
	"the same after await":              "await 1; const n = 2n ** 40n; 1n << n",
	"a power":                           "2n ** 2n ** 40n",
	"bits of a negative number":         "BigInt.asUintN(2 ** 53 - 1, -1n)",
	"a list of 2^32, spread":            "[...new Array(2 ** 32 - 1)]",
	"the same, as arguments":            "Math.max(...new Array(2 ** 32 - 1))",
	"a long text many times":            "Array(1e6).fill('x'.repeat(1e5)).join()",
	"the same, as JSON":                 "JSON.stringify(Array(1e6).fill('x'.repeat(1e5)))",
	"the same, end to end":              "''.concat(...Array(6e4).fill('x'.repeat(1e7)))",
	"a long list many times":            "[].concat(...Array(6e4).fill(Array(1e6).fill(0)))",
	"the same, made flat at once":       "Array(6e4).fill(Array(1e6).fill(0)).flat()",
	"a template of 2^53 parts":          "String.raw({ raw: { length: 2 ** 53 - 1 } })",
	"a typed array from a length":       "Uint8Array.from({ length: 2 ** 34 })",
	"a text that doubles in a loop":     "for (let s = 'x'; ; s += s);",
	"buffers in a loop":                 "const k = []; for (;;) k.push(new Uint8Array(8 << 20))",
	"long texts in a loop":              "const k = []; for (;;) k.push('x'.repeat(1 << 24))",
	"objects in a loop":                 "const k = []; for (;;) k.push({ k: [1, 2, 3] })",
	"eval of brackets":                  "eval('['.repeat(1e6))",
	"a function of brackets":            "Function('['.repeat(1e6))",
	"a shift in eval":                   "eval('1n << 2n ** 40n')",
	"a shift in a function":             "Function('a', 'yield', 'return a << yield')(1n, 2n ** 40n)",
}

// TestKillers: each program that ends a process on plain goja ends in an outcome here.
func TestKillers(t *testing.T) {
	name := os.Getenv("SALLYPORT_KILLER")
	if name == "" {
		for name := range killers {
			t.Run(name, func(t *testing.T) { require.Contains(t, child(t, "TestKillers", "SALLYPORT_KILLER="+name), "lives on") })
		}
		return
	}
	r, err := NewWithoutMemoryLimit().Open(t.Context(), compartment.Config{DynamicCode: compartment.OwnGlobal, Limits: compartment.Limits{Time: 20 * time.Second}})
	require.NoError(t, err)
	o, err := r.Evaluate(t.Context(), killers[name])
	require.NoError(t, err)
	require.NotEqual(t, compartment.StatusOK, o.Status)
	if !strings.HasSuffix(name, "in a loop") { // on a slow machine these may be inside one allocation when they are stopped
		require.NotEqual(t, compartment.StatusEngineLost, o.Status, "nothing goes on: %v", o.Cause)
	}
	t.Logf("lives on: %s", o.Kind)
}

// TestKillersAreReal is the other arm: the programs that fill the stack do end the process on plain goja. The stack
// is kept small here, so that it is full soon; those that would take all memory are not tried.
func TestKillersAreReal(t *testing.T) {
	name := os.Getenv("SALLYPORT_REAL_KILLER")
	if name == "" {
		for _, name := range []string{"a source of brackets", "a source of objects", "templates in templates", "deep JSON", "a proxy that is its own prototype"} {
			t.Run(name, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillersAreReal$", "-test.timeout=50s")
				cmd.Env = append(os.Environ(), "SALLYPORT_REAL_KILLER="+name)
				out, err := cmd.CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(out), "stack exceeds", "it died of its stack, and of nothing else")
			})
		}
		return
	}
	debug.SetMaxStack(64 << 20)
	_, err := goja.New().RunString(killers[name])
	t.Logf("survived: %v", err)
}

// TestTooLarge: what is refused before it runs is refused as that, and can be caught.
func TestTooLarge(t *testing.T) {
	for source, says := range map[string]string{
		"'x'.repeat(2 ** 40)":                                       "repeat asks for a text of 1099511627776 characters",
		"JSON.stringify(Array(2000).fill('x'.repeat(1e4)))":         "JSON.stringify makes a text of more than 16777216",
		"Array(2000).fill('x'.repeat(1e4)).join()":                  "join makes a text of more than 16777216",
		"Array(2000).fill('x'.repeat(1e4)).toLocaleString()":        "toLocaleString makes a text of more than 16777216",
		"let a = []; for (let i = 0; i < 3e3; i++) a = [a]; a + ''": "nests more than 2000 deep",
		"[...Array(2 ** 30)]":                                       "a list of 1073741824 elements",
		"[].concat(Array(2 ** 24), 1)":                              "a list of 16777217 elements",
		"Array(100).fill(Array(2 ** 20)).flat()":                    "a flat list of more than 16777216",
		"let s = 'x'.repeat(2 ** 24); (s + s).split('')":            "a text of 33554432 characters",
		"'a'.concat('x'.repeat(2 ** 24))":                           "concat asks for a text of 16777217",
		"String.raw({ raw: { get length() { return 1 } } })":        "a template that is none",
		"1n << 2n ** 20n + 1n":                                      "a shift or a power by more than 1048576",
		"BigInt.asIntN(2 ** 21, -1n)":                               "a BigInt of 2097152 bits",
	} {
		o := evaluate(t, source)
		require.Equal(t, compartment.KindTooLarge, o.Kind, source)
		require.Contains(t, o.Value.Exception.Message, says, source)
		o = evaluate(t, "try { "+source+" } catch (e) { e instanceof RangeError && e.code }")
		require.Equal(t, `"too_large"`, string(o.Data), source)
	}
}

// TestMemoryIsLookedAtInBetween: buffers are had at once, so the heap is looked at when many were, and not only now and then. There is no now and then
// here.
func TestMemoryIsLookedAtInBetween(t *testing.T) {
	r := open(t, compartment.Config{}).(*room)
	const source = "const k = []; for (;;) k.push(new Uint8Array(8 << 20))"
	ev, err := r.begin(t.Context(), source)
	require.NoError(t, err)
	r.realm.watch = newMemoryWatch(ev)
	r.realm.watch.Stop()
	end := r.realm.run(ev, source)
	require.Equal(t, compartment.KindMemory, r.conclude(ev, end).Kind)
}
