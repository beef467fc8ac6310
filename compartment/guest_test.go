package compartment_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/compartment/wasm"
	"sallyport/compartment/wasm/guest"
)

// engines are all the engines. Whatever is tested here is tested on each of them.
var engines = []struct {
	name string
	make func(t *testing.T) compartment.Engine
}{
	{"goja", func(*testing.T) compartment.Engine { return goja.NewWithoutMemoryLimit() }},
	{"wasm", func(t *testing.T) compartment.Engine {
		if errors.Is(wasmErr(), guest.ErrAbsent) && os.Getenv("SALLYPORT_LIVE") != "require" {
			t.Skip("SKIPPED, so nothing is shown of this engine: ", wasmErr())
		}
		require.NoError(t, wasmErr())
		return sharedWasm
	}},
}

// sharedWasm is one engine for all tests: it takes a moment to make, and its compartments have nothing in common.
var (
	sharedWasm *wasm.Engine
	wasmErr    = sync.OnceValue(func() (err error) {
		sharedWasm, err = wasm.New(context.Background(), wasm.Options{NoCache: true})
		return err
	})
)

// eachEngine runs a test once for each engine.
func eachEngine(t *testing.T, test func(t *testing.T, e compartment.Engine)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { test(t, e.make(t)) })
	}
}

// program is one program of a guest, with what must become of it.
type program struct {
	file, title string
	code, want  string
	console     []string
	then        string // "", "same" or "other"
	thenCode    string
	thenWant    string
}

// programs reads the files in testdata/guest; the README there says how they are written.
func programs(t *testing.T) []program {
	files, err := filepath.Glob("testdata/guest/*.js")
	require.NoError(t, err)
	require.Greater(t, len(files), 5)
	var all []program
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, part := range strings.Split("\n"+string(text), "\n//// ")[1:] {
			all = append(all, parseProgram(t, strings.TrimSuffix(filepath.Base(f), ".js"), part))
		}
	}
	return all
}

func parseProgram(t *testing.T, file, text string) program {
	title, rest, _ := strings.Cut(text, "\n")
	p := program{file: file, title: title}
	code := &p.code
	for line := range strings.SplitSeq(strings.TrimRight(rest, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "// want: "):
			p.want = strings.TrimPrefix(line, "// want: ")
		case strings.HasPrefix(line, "// console: "):
			p.console = append(p.console, strings.TrimPrefix(line, "// console: "))
		case strings.HasPrefix(line, "// then "):
			p.then, p.thenWant, _ = strings.Cut(strings.TrimPrefix(line, "// then "), ": ")
			code = &p.thenCode
		default:
			*code += line + "\n"
		}
	}
	require.NotEmpty(t, p.want, "%s: %s", file, title)
	return p
}

// TestGuestPrograms runs every program on every engine. Beside its own line, each must leave a process that answers,
// end inside its time, and say nothing of the host (R2, R6, R252, R254, R256, R257).
func TestGuestPrograms(t *testing.T) {
	all := programs(t)
	require.Greater(t, len(all), 200)
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		for _, p := range all {
			t.Run(p.file+"/"+p.title, func(t *testing.T) { p.run(t, e) })
		}
	})
}

func (p program) run(t *testing.T, e compartment.Engine) {
	limit := 10 * time.Second
	if strings.HasPrefix(p.want, "stopped/time") {
		limit = 100 * time.Millisecond
	}
	config := compartment.Config{Powers: guestPowers(t), Limits: compartment.Limits{Time: limit, CallTime: time.Hour}}
	if p.file == "own_code" {
		config.DynamicCode = compartment.OwnGlobal
	}
	open := func() compartment.Compartment {
		c, err := e.Open(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	c := open()
	start := time.Now()
	o, err := c.Evaluate(t.Context(), p.code)
	require.NoError(t, err)
	require.Less(t, time.Since(start), limit+5*time.Second) // loose: TestGuestTimeout of evaljs is the measurement
	p.check(t, p.want, o)
	if p.console != nil {
		var lines []string
		for _, e := range o.Console.Entries {
			lines = append(lines, e.Level+" "+e.Text)
		}
		require.Equal(t, p.console, lines)
	}
	switch p.then {
	case "other":
		c = open()
		fallthrough
	case "same":
		o, err := c.Evaluate(t.Context(), p.thenCode)
		require.NoError(t, err)
		p.check(t, p.thenWant, o)
	}
	o, err = open().Evaluate(t.Context(), "1 + 1")
	require.NoError(t, err)
	require.Equal(t, "2", string(o.Data), "another compartment answers as ever")
}

// check compares an outcome with the alternatives of a want.
func (p program) check(t *testing.T, want string, o compartment.Outcome) {
	t.Helper()
	matched := false
	for alternative := range strings.SplitSeq(want, " || ") {
		matched = matched || matches(alternative, o)
	}
	said, err := json.Marshal(o)
	require.NoError(t, err)
	require.True(t, matched, "want %s\ngot %s\ncause %v", want, said, o.Cause)
	require.True(t, utf8.Valid(said))
	for _, secret := range []string{"goroutine", ".go:", "0xc0", "sallyport/", os.TempDir() + "/", "/srv/"} {
		if !strings.Contains(p.code+p.thenCode, secret) {
			require.NotContains(t, string(said), secret)
		}
	}
}

// matches tells whether an outcome is one alternative of a want.
func matches(want string, o compartment.Outcome) bool {
	kind, text, exact := strings.Cut(want, " ~ ")
	kind, data, _ := strings.Cut(kind, " ")
	if kind != string(o.Status) && kind != string(o.Kind) {
		return false
	}
	switch {
	case data != "":
		return string(o.Data) == data && !o.Value.Partial
	case !exact:
		return true
	case o.Status == compartment.StatusOK:
		return o.Value.Text == text
	}
	return o.Value.Exception != nil && strings.Contains(o.Value.Exception.Message, text)
}

// guestPowers are the powers of the programs: every shape a power can have.
func guestPowers(t *testing.T) []compartment.Power {
	texts := map[string]string{"ok.txt": "hello"}
	read := func(name string) (compartment.Value, error) {
		if s, ok := texts[name]; ok {
			return compartment.OfString(s), nil
		}
		return compartment.Value{}, compartment.Refuse("not_found", "no such text")
	}
	str := []compartment.Type{compartment.TypeString}
	number := []compartment.Type{compartment.TypeNumber}
	path := compartment.Param{Name: "path", Types: str}
	text := func(v compartment.Value) string { s, _ := v.AsString(); return s }
	kept := map[string]compartment.Value{}
	list := compartment.OfArray(compartment.OfString("a"), compartment.OfString("b"))
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })

	type call = *compartment.Call
	power := func(name string, sync bool, params []compartment.Param, do func(call) (compartment.Value, error)) compartment.Power {
		return compartment.Power{Name: name, Sync: sync, Params: params, OnCancel: compartment.CancelDiscards,
			Do: func(_ context.Context, c call) (compartment.Value, error) { return do(c) }}
	}
	give := func(v compartment.Value) func(call) (compartment.Value, error) {
		return func(call) (compartment.Value, error) { return v, nil }
	}
	twice := power("twice", true, nil, give(compartment.OfNumber(1)))
	twice.Limits.Calls = 2
	powers := []compartment.Power{
		power("readText", false, []compartment.Param{path}, func(c call) (compartment.Value, error) { return read(text(c.Arg(0))) }),
		power("open", false, []compartment.Param{{Name: "options", Types: []compartment.Type{compartment.TypeObject}, Fields: []compartment.Param{path}}},
			func(c call) (compartment.Value, error) { p, _ := c.Arg(0).Get("path"); return read(text(p)) }),
		power("store.get", true, []compartment.Param{{Name: "key", Types: str}}, func(c call) (compartment.Value, error) { return kept[text(c.Arg(0))], nil }),
		power("store.put", true, []compartment.Param{{Name: "key", Types: str}, {Name: "value"}}, func(c call) (compartment.Value, error) {
			kept[text(c.Arg(0))] = c.Arg(1)
			return compartment.Value{}, nil
		}),
		power("take", true, []compartment.Param{{Name: "n", Types: number, Integer: true, Min: 0, Max: 100}}, func(c call) (compartment.Value, error) { return c.Arg(0), nil }),
		power("echo", true, []compartment.Param{{Name: "v", Optional: true}}, func(c call) (compartment.Value, error) { return c.Arg(0), nil }),
		power("sum", false, []compartment.Param{{Name: "bytes", Types: []compartment.Type{compartment.TypeBytes}}}, func(c call) (compartment.Value, error) {
			n := 0
			bytes, _ := c.Arg(0).AsBytes()
			for _, b := range bytes {
				n += int(b)
			}
			return compartment.OfInt(int64(n)), nil
		}),
		power("fail", false, nil, func(call) (compartment.Value, error) {
			return compartment.Value{}, fmt.Errorf("open /srv/a.go: 0xc000 goroutine 1")
		}),
		power("panics", false, nil, func(call) (compartment.Value, error) { panic("/srv/b.go: goroutine 1") }),
		{Name: "hang", OnCancel: compartment.CancelUnknown, Do: func(ctx context.Context, _ call) (compartment.Value, error) {
			<-ctx.Done()
			return compartment.Value{}, ctx.Err()
		}},
		power("deaf", false, nil, func(call) (compartment.Value, error) { <-release; return compartment.Value{}, nil }),
		power("hostList", true, nil, give(list)),
		power("hostBytes", true, nil, give(compartment.OfBytes([]byte{1, 2, 3}))),
		power("hostId", true, nil, give(compartment.OfInt(9007199254740993))),
		power("hostUser", true, nil, give(compartment.OfObject(compartment.Field{Name: "name", Value: compartment.OfString("ann")}))),
		twice,
	}
	return append(powers, guestConsole()...)
}

// guestConsole is a console as package hostfuncs has it, which this room may not import.
func guestConsole() []compartment.Power {
	var powers []compartment.Power
	for _, level := range []string{"log", "info", "debug", "warn", "error"} {
		powers = append(powers, compartment.Power{Name: "console." + level, Sync: true, Local: true, OnCancel: compartment.CancelDiscards,
			Params: []compartment.Param{{Name: "values", Rest: true, Shown: true}},
			Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
				var parts []string
				for _, v := range c.Args {
					parts = append(parts, v.Line(8192))
				}
				c.Log(level, strings.Join(parts, " "))
				return compartment.Value{}, nil
			}})
	}
	return powers
}

// FuzzRoundTrip: whatever JSON says comes back the same: out of the guest as an argument, into it as a result, and
// out again as data.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{`null`, `[1,-0,1e21,1e-7,"\u0000\ud83d\ude00\u202e",{"__proto__":{"a":[]},"":{},"toString":1,"then":2,"length":3,"0":4}]`,
		`{"a":{"b":{"c":[[],[[]],{}]}}}`, `"\u2028"`, `0.1`, `true`, `[[[[[[]]]]]]`, `9007199254740993`, `"\ud800"`} {
		f.Add(s)
	}
	c, err := goja.NewWithoutMemoryLimit().Open(context.Background(), compartment.Config{Powers: []compartment.Power{{Name: "echo", Sync: true,
		OnCancel: compartment.CancelDiscards, Params: []compartment.Param{{Name: "v"}},
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) { return c.Arg(0), nil }}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want any
		if len(s) > 2000 || json.Unmarshal([]byte(s), &want) != nil || !utf8.ValidString(s) {
			return
		}
		literal, err := json.Marshal(s)
		require.NoError(t, err)
		o, err := c.Evaluate(t.Context(), "echo(JSON.parse("+string(literal)+"))")
		require.NoError(t, err)
		if o.Status != compartment.StatusOK { // too deep, a lone surrogate, a number too large: refused, and said so
			require.Contains(t, []compartment.Kind{compartment.KindArguments, compartment.KindThrown, compartment.KindTooLarge}, o.Kind, "%+v", o)
			return
		}
		var got any
		require.NoError(t, json.Unmarshal(o.Data, &got))
		require.Equal(t, want, got)
	})
}
