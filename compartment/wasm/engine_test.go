package wasm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sallyport/compartment"
	"sallyport/compartment/wasm/guest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
)

// answers tells whether an engine works.
func answers(t *testing.T, o Options) {
	t.Helper()
	e, err := New(context.Background(), o)
	require.NoError(t, err)
	defer e.Close()
	require.Equal(t, "2", evaluate(t, open(t, e, compartment.Config{}), "1 + 1").Value.Text)
}

// cached are the files of compiled code below a directory, but for the lists of them.
func cached(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != sealName {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// TestCodeIsCached: it is compiled once, and a cache that was changed in any way is made anew.
func TestCodeIsCached(t *testing.T) {
	needGuest(t)
	if !compilerSupported() {
		t.Skip("SKIPPED: wazero has no compiler for this machine")
	}
	dir := filepath.Join(t.TempDir(), "code")
	answers(t, Options{CacheDir: dir})
	files := cached(t, dir)
	require.Len(t, files, 1)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	answers(t, Options{CacheDir: dir})
	require.Equal(t, files, cached(t, dir), "it was compiled again")

	final := filepath.Dir(filepath.Dir(files[0]))
	seal := filepath.Join(final, sealName)
	list, err := os.ReadFile(seal)
	require.NoError(t, err)
	c := &codeCache{parent: dir, final: final}
	for name, harm := range map[string]func() error{
		"a byte of the code":      func() error { b := []byte(string(whole)); b[len(b)/2] ^= 1; return os.WriteFile(files[0], b, 0o600) },
		"a byte of the beginning": func() error { b := []byte(string(whole)); b[20] ^= 1; return os.WriteFile(files[0], b, 0o600) },
		"cut short":               func() error { return os.Truncate(files[0], int64(len(whole)/2)) },
		"emptied":                 func() error { return os.Truncate(files[0], 0) },
		"taken away":              func() error { return os.Remove(files[0]) },
		"a file too many":         func() error { return os.WriteFile(files[0]+"x", whole, 0o600) },
		"no list":                 func() error { return os.Remove(seal) },
		"a list that is none":     func() error { return os.WriteFile(seal, []byte("{"), 0o600) },
		"an empty list":           func() error { return os.WriteFile(seal, []byte("{}"), 0o600) },
	} {
		require.True(t, c.whole(), "before: %s", name)
		require.NoError(t, harm(), name)
		require.False(t, c.whole(), name)
		require.NoError(t, os.RemoveAll(files[0]+"x"))
		require.NoError(t, os.WriteFile(files[0], whole, 0o600))
		require.NoError(t, os.WriteFile(seal, list, 0o600))
	}
	require.NoError(t, os.Truncate(files[0], 1000))
	answers(t, Options{CacheDir: dir})
	b, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Len(t, b, len(whole), "it was not made anew")
}

// TestCodeIsCachedOnceByMany: processes, or engines, that start at the same time do not get in each other's way.
func TestCodeIsCachedOnceByMany(t *testing.T) {
	needGuest(t)
	dir := filepath.Join(t.TempDir(), "code")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { answers(t, Options{CacheDir: dir}) })
	}
	wg.Wait()
	if compilerSupported() {
		require.Len(t, cached(t, dir), 1)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, strings.HasPrefix(e.Name(), "new-"), "a half-made cache was left: %s", e.Name())
	}
}

// TestCodeDirMustBePrivate: who can write there runs code as this process.
func TestCodeDirMustBePrivate(t *testing.T) {
	needGuest(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := New(context.Background(), Options{CacheDir: dir})
	require.ErrorIs(t, err, compartment.ErrConfig)
	require.ErrorContains(t, err, "cache_dir")
	answers(t, Options{CacheDir: dir, NoCache: true})
	require.Empty(t, cached(t, dir))
}

// TestGuestIsChecked: bytes that are not the guest are taken only when somebody says that they are another one.
func TestGuestIsChecked(t *testing.T) {
	needGuest(t)
	b, _, err := guest.Find("")
	require.NoError(t, err)
	answers(t, Options{Guest: b, CacheDir: codeDir})
	changed := append([]byte(nil), b...)
	changed[len(changed)-1] ^= 1
	_, err = New(context.Background(), Options{Guest: changed})
	require.ErrorIs(t, err, compartment.ErrConfig)
	require.ErrorContains(t, err, "not the guest")
	answers(t, Options{Guest: b, OtherGuest: true, CacheDir: codeDir})
}

// TestGuestThatIsNone: what does not speak the interface is refused, by what it lacks.
func TestGuestThatIsNone(t *testing.T) {
	header := "\x00asm\x01\x00\x00\x00"
	tick := "\x01\x05\x01\x60\x00\x01\x7f" + "\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00"
	for _, c := range []struct{ name, module, want string }{
		{"no module", "#!/bin/sh", "not a WebAssembly module"},
		{"one that cannot be metered", header, "no import env.host_interrupt"},
		{"one without the functions", header + tick, "the guest has no function _initialize"},
	} {
		_, err := New(context.Background(), Options{Guest: []byte(c.module), OtherGuest: true, NoCache: true})
		require.ErrorIs(t, err, compartment.ErrEngine, c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	_, err := New(context.Background(), Options{OtherGuest: true})
	require.ErrorIs(t, err, compartment.ErrConfig)
}

// TestImportsAreAllOfThem: the guest wants nothing that is not in the table, and the table has nothing that the guest does not want.
func TestImportsAreAllOfThem(t *testing.T) {
	want := map[string]bool{}
	for _, f := range testEngine(t).module.ImportedFunctions() {
		module, name, _ := f.Import()
		want[module+"."+name] = true
	}
	for _, r := range importTable() {
		require.True(t, want[r.module+"."+r.name], "%s.%s is provided to nobody", r.module, r.name)
		require.NotEmpty(t, r.what)
	}
	require.Len(t, importTable(), len(want))
}

// TestInterfaceTable: every row is there and says what it does.
func TestInterfaceTable(t *testing.T) {
	seen := map[string]bool{}
	for x, row := range exports {
		require.NotEmpty(t, row.name, "export %d has no row", x)
		require.NotEmpty(t, row.what, row.name)
		require.False(t, seen[row.name], row.name)
		seen[row.name] = true
		params, results := parseSignature(row.signature)
		require.LessOrEqual(t, len(params), maxParams, row.name)
		require.LessOrEqual(t, len(results), 1, row.name)
	}
	require.Len(t, sampleClasses, 32)
}

// TestDynamicCode: allowed, it runs in the compartment's own global and nowhere else, and is stopped like any other code.
func TestDynamicCode(t *testing.T) {
	r := open(t, testEngine(t), compartment.Config{DynamicCode: compartment.OwnGlobal, Limits: compartment.Limits{Time: brief}})
	for source, want := range map[string]string{
		"eval('1 + 1')": "2",
		"Function('return this')() === globalThis":                                                   "true",
		"(0, eval)('var here = 5'); here":                                                            "5",
		"new (Object.getPrototypeOf(async () => {}).constructor)('return await 7')()":                "7",
		"try { Function('Array.prototype.push = 1')(); [].push(3) } catch (e) { e.name }":            "1",
		"Function('\"use strict\"; try { Array.prototype.push = 1 } catch (e) { return e.name }')()": `"TypeError"`,
		"[typeof Function('return typeof require + typeof process + typeof performance')()]":         `["string"]`,
	} {
		require.Equal(t, want, evaluate(t, r, source).Value.Text, source)
	}
	require.Equal(t, compartment.KindTime, evaluate(t, r, "eval('for (;;);')").Kind)
	patient := open(t, testEngine(t), compartment.Config{DynamicCode: compartment.OwnGlobal}) // reading so much takes a slow machine a while
	require.Equal(t, compartment.KindThrown, evaluate(t, patient, "eval('('.repeat(1e5))").Kind)
	require.Equal(t, compartment.KindNoModules, evaluate(t, r, "await eval('import(\"fs\")')").Kind)
}

// TestDynamicCodeIsNotMixed: an instance that is used again goes to a compartment with the same setting, also when both are asked for at once.
func TestDynamicCodeIsNotMixed(t *testing.T) {
	e := newTestEngine(t, Options{})
	require.Nil(t, e.bases[compartment.OwnGlobal], "it is made when it is asked for")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 10 {
				code := compartment.DynamicCode((i + j) % 2)
				c, err := e.Open(context.Background(), compartment.Config{DynamicCode: code})
				if !assert.NoError(t, err) {
					return
				}
				o, err := c.Evaluate(context.Background(), "eval('1')")
				assert.NoError(t, err)
				assert.Equal(t, code == compartment.OwnGlobal, o.Status == compartment.StatusOK)
				assert.NoError(t, c.Close())
			}
		})
	}
	wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	require.NotEmpty(t, e.idle, "instances were kept")
}

// TestTraps: what wazero returns is known for what it is, and its trace of the guest's functions is cut.
func TestTraps(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	header, types, functions := "\x00asm\x01\x00\x00\x00", "\x01\x04\x01\x60\x00\x00", "\x03\x02\x01\x00"
	exported := "\x07\x05\x01\x01f\x00\x00"
	for _, c := range []struct {
		name, body string
		check      func(error)
	}{
		{"endless recursion", "\x0a\x06\x01\x04\x00\x10\x00\x0b", func(err error) { require.Equal(t, errStackTrap, err) }},
		{"unreachable code", "\x0a\x05\x01\x03\x00\x00\x0b", func(err error) { require.EqualError(t, err, "the guest trapped: wasm error: unreachable") }},
	} {
		m, err := rt.Instantiate(ctx, []byte(header+types+functions+exported+c.body))
		require.NoError(t, err, c.name)
		_, err = m.ExportedFunction("f").Call(ctx)
		require.Error(t, err, c.name)
		c.check(trapOf(err))
		require.NoError(t, m.Close(ctx))
	}
}

// TestATrapEndsTheInstanceAlone: the evaluation is lost, the session goes back, the next compartment knows nothing.
func TestATrapEndsTheInstanceAlone(t *testing.T) {
	r := open(t, testEngine(t), compartment.Config{Powers: []compartment.Power{syncPower("f", func(*compartment.Call) (compartment.Value, error) { return compartment.Value{}, nil })}})
	evaluate(t, r, "let kept = 1")
	in := r.(*room).in
	b, ok := in.at(0, uint32(len(in.mem.bytes())))
	require.True(t, ok)
	r.(*room).saved = &delta{}
	r.(*room).saved.save(in)
	clear(b[in.fixed.scratch+scratchSize:]) // the engine's heap: it will run into something
	end, _ := r.(*room).run(mustBegin(t, r.(*room)), "kept = 2; f(); kept")
	require.Contains(t, []compartment.Status{compartment.StatusEngineLost, compartment.StatusStopped}, end.Kind.Status(), "%v", end)
	if end.Err != nil {
		require.NotContains(t, end.Err.Error(), "\n")
	}
	require.Nil(t, r.(*room).in)
	require.Equal(t, "1", evaluate(t, r, "kept").Value.Text)
	require.Equal(t, "2", once(t, "1 + 1", compartment.Config{}).Value.Text)
}

// mustBegin begins an evaluation as the room would.
func mustBegin(t *testing.T, r *room) *compartment.Evaluation {
	t.Helper()
	ev, err := r.begin(context.Background(), "")
	require.NoError(t, err)
	t.Cleanup(func() { r.finish(ev, compartment.Ending{}) })
	return ev
}
