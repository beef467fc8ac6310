package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/fs"
	"sallyport/gate"
	"sallyport/hostfuncs"
)

// workspace is a directory with a file, and a secret beside it.
func workspace(t *testing.T) (path string, dir *fs.Dir) {
	t.Helper()
	base := t.TempDir()
	path = filepath.Join(base, "w")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "docs"), 0o755))
	for name, text := range map[string]string{"w/ok.txt": "hello", "w/docs/plan.md": "ship", "secret": "the secret", "w/bytes": "\xff\xfe", "w/bom": "\ufeffx",
		"w/long": strings.Repeat("x", 999_001), "w/fits": strings.Repeat("x", 999_000), "w/empty": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("../secret", filepath.Join(path, "link")))
	dir, err := fs.OpenDir(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	return path, dir
}

// evaluate runs a program with these powers.
func evaluate(t *testing.T, source string, powers ...compartment.Power) compartment.Outcome {
	t.Helper()
	c, err := goja.NewWithoutMemoryLimit().Open(t.Context(), compartment.Config{Powers: powers, Limits: compartment.Limits{Time: 10 * time.Second}})
	require.NoError(t, err)
	defer c.Close()
	o, err := c.Evaluate(t.Context(), source)
	require.NoError(t, err)
	return o
}

// TestReadFile: what may be read is read, whole, as text; each "no" has its code and names only what the guest wrote
// (R253, R286, R287).
func TestReadFile(t *testing.T) {
	path, dir := workspace(t)
	for _, c := range []struct {
		source, data, code, text string
	}{
		{source: "readFile('ok.txt')", data: `"hello"`},
		{source: "readFile('/docs/plan.md')", data: `"ship"`},
		{source: `readFile('docs\\plan.md')`, data: `"ship"`},
		{source: "readFile('empty')", data: `""`},
		{source: "readFile('bom')", data: `"\ufeffx"`},
		{source: "readFile('fits').then((s) => s.length)", data: "999000"},
		{source: "readFile('long')", code: "too_large", text: `"long": is larger than 999000 bytes`},
		{source: "readFile('bytes')", code: "not_text", text: `"bytes": is not UTF-8 text`},
		{source: "readFile('none')", code: "not_found_or_denied", text: `"none": no such file, or it may not be read`},
		{source: "readFile('link')", code: "not_found_or_denied", text: `"link": no such file, or it may not be read`},
		{source: "readFile('../secret')", code: "path_refused", text: "the path leads out of the workspace"},
		{source: "readFile('~/x')", code: "path_refused", text: "~ is not expanded"},
		{source: `readFile('a\0b')`, code: "path_refused", text: "NUL"},
		{source: "readFile('.')", code: "is_a_directory", text: `".": is a directory`},
		{source: "readFile('docs')", code: "is_a_directory", text: `"docs": is a directory`},
		{source: "readFile('x'.repeat(5000))", code: "arguments", text: "path is 5000 bytes, at most 4096 are taken"},
		{source: "readFile({ toString: () => 'ok.txt' })", code: "arguments", text: "path"},
		{source: "readFile('ok.txt', {})", code: "arguments", text: "takes 1 argument"},
	} {
		t.Run(c.source, func(t *testing.T) {
			o := evaluate(t, c.source, hostfuncs.ReadFile(dir))
			said, err := json.Marshal(o)
			require.NoError(t, err)
			require.NotContains(t, string(said), filepath.Dir(path))
			require.NotContains(t, string(said), "the secret")
			if c.data != "" {
				require.Equal(t, c.data, string(o.Data), "%s %v", said, o.Cause)
				return
			}
			require.Equal(t, compartment.StatusRefused, o.Status)
			require.Equal(t, c.code, o.Value.Exception.Code)
			require.Contains(t, o.Value.Exception.Message, c.text)
		})
	}
}

// TestReadFileRestricted: a file the rule denies reads like one that is not there (R287).
func TestReadFileRestricted(t *testing.T) {
	_, dir := workspace(t)
	only := dir.Restrict(func(p string) bool { return strings.HasSuffix(p, "ok.txt") })
	require.Equal(t, `"hello"`, string(evaluate(t, "readFile('ok.txt')", hostfuncs.ReadFile(only)).Data))
	denied := evaluate(t, "readFile('docs/plan.md')", hostfuncs.ReadFile(only))
	missing := evaluate(t, "readFile('docs/nope.md')", hostfuncs.ReadFile(only))
	require.Equal(t, strings.ReplaceAll(denied.Value.Exception.Message, "plan", "nope"), missing.Value.Exception.Message)
	require.Equal(t, denied.Value.Exception.Code, missing.Value.Exception.Code)
}

// TestReadFileOfAClosedDirectory: trouble of the host is no refusal, and the guest learns nothing of it.
func TestReadFileOfAClosedDirectory(t *testing.T) {
	dir, err := fs.OpenDir(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, dir.Close())
	o := evaluate(t, "readFile('ok.txt')", hostfuncs.ReadFile(dir))
	require.Equal(t, compartment.KindPowerError, o.Kind)
	require.Equal(t, "readFile could not do it", o.Value.Exception.Message)
	require.ErrorIs(t, o.Cause, fs.ErrIO)
}

// TestGated: each call is put to the gate first, with the copied arguments; only an approval lets it go on (R175,
// R178, R180, R183, R184).
func TestGated(t *testing.T) {
	_, dir := workspace(t)
	var asked []gate.Call
	scope := hostfuncs.Scope{Workspace: "/srv/w"}
	gated := func(v gate.Verdict, err error) compartment.Power {
		return hostfuncs.Gated(hostfuncs.ReadFile(dir), func(_ context.Context, c gate.Call) (gate.Verdict, error) {
			asked = append(asked, c)
			return v, err
		}, scope)
	}
	require.True(t, gated(gate.Verdict{}, nil).Gated)
	o := evaluate(t, "readFile('ok.txt')", gated(gate.Verdict{Approved: true}, nil))
	require.Equal(t, `"hello"`, string(o.Data))
	require.Len(t, asked, 1)
	require.Equal(t, gate.Call{ID: o.Effects.Done[0].ID, Tool: "readFile", Args: json.RawMessage(`{"path":"ok.txt"}`), Workspace: "/srv/w", Policy: gate.Policy{Tier: "evaluator"}}, asked[0])

	for _, c := range []struct {
		verdict    gate.Verdict
		err        error
		code, text string
	}{
		{gate.Verdict{}, nil, "gate_refused", "readFile was refused"},
		{gate.Verdict{Note: "ask Ann"}, nil, "gate_refused", "readFile was refused: ask Ann"},
		{gate.Verdict{Approved: true}, errors.New("dial /run/gate.sock"), "gate_unavailable", "readFile was not approved: nobody answered"},
		{gate.Verdict{}, context.Canceled, "gate_aborted", "readFile was not approved: the question was withdrawn"},
	} {
		o := evaluate(t, "readFile('ok.txt')", gated(c.verdict, c.err))
		require.Equal(t, compartment.KindGate, o.Kind)
		require.Equal(t, c.code, o.Value.Exception.Code)
		require.Equal(t, c.text, o.Value.Exception.Message)
		require.Equal(t, "refused", o.Effects.Done[0].Result)
		require.Equal(t, `"caught"`, string(evaluate(t, "readFile('ok.txt').catch(() => 'caught')", gated(c.verdict, c.err)).Data))
	}
	require.Equal(t, compartment.KindGate, evaluate(t, "readFile('ok.txt')", hostfuncs.Gated(hostfuncs.ReadFile(dir), nil, scope)).Kind, "no gate is no approval")

	before := len(asked)
	require.Equal(t, compartment.KindArguments, evaluate(t, "readFile(1)", gated(gate.Verdict{Approved: true}, nil)).Kind)
	require.Len(t, asked, before, "what is no call at all is not asked about")
}

// TestTwoGates: both are asked, the outer one first, and either can refuse.
func TestTwoGates(t *testing.T) {
	_, dir := workspace(t)
	var order []string
	say := func(name string, yes bool) gate.Func {
		return func(context.Context, gate.Call) (gate.Verdict, error) {
			order = append(order, name)
			return gate.Verdict{Approved: yes, Note: name}, nil
		}
	}
	p := hostfuncs.Gated(hostfuncs.Gated(hostfuncs.ReadFile(dir), say("inner", false), hostfuncs.Scope{}), say("outer", true), hostfuncs.Scope{Tier: "kernel"})
	o := evaluate(t, "readFile('ok.txt')", p)
	require.Equal(t, []string{"outer", "inner"}, order)
	require.Equal(t, "readFile was refused: inner", o.Value.Exception.Message)
}

// TestRevocable: a power can be taken back while a program holds it, and stays away.
func TestRevocable(t *testing.T) {
	_, dir := workspace(t)
	p, revoke := hostfuncs.Revocable(hostfuncs.ReadFile(dir))
	c, err := goja.NewWithoutMemoryLimit().Open(t.Context(), compartment.Config{Powers: []compartment.Power{p}})
	require.NoError(t, err)
	defer c.Close()
	o, err := c.Evaluate(t.Context(), "globalThis.saved = readFile; await saved('ok.txt')")
	require.NoError(t, err)
	require.Equal(t, `"hello"`, string(o.Data))
	revoke()
	revoke()
	o, err = c.Evaluate(t.Context(), "saved('ok.txt')")
	require.NoError(t, err)
	require.Equal(t, compartment.KindRevoked, o.Kind)
	require.Contains(t, o.Value.Exception.Message, "taken back")
	require.Empty(t, o.Effects.Done, "nothing reached the host")
}

// TestConsole: what is logged is text, in order, with its level; the limits cut and count it (R256).
func TestConsole(t *testing.T) {
	o := evaluate(t, "console.log('a', 1, {b: [2]}); console.warn(undefined); console.error('x'.repeat(1e6)); 1", hostfuncs.Console()...)
	require.Equal(t, "1", string(o.Data))
	require.Equal(t, compartment.Entry{Level: "log", Text: "a 1 {b: [2]}"}, o.Console.Entries[0])
	require.Equal(t, compartment.Entry{Level: "warn", Text: "undefined"}, o.Console.Entries[1])
	require.True(t, o.Console.Entries[2].Clipped)
	require.Less(t, len(o.Console.Entries[2].Text), 9000)
	require.Empty(t, o.Effects.Done, "logging is no effect")
	require.Empty(t, o.Used.Calls)

	o = evaluate(t, "for (let i = 0; i < 5000; i++) console.log(i); 1", hostfuncs.Console()...)
	require.Equal(t, compartment.StatusOK, o.Status, "logging uses up no calls")
	require.Len(t, o.Console.Entries, 1000)
	require.Equal(t, int64(4000), o.Console.DroppedEntries)
}

// TestDescribe: what a model is told.
func TestDescribe(t *testing.T) {
	_, dir := workspace(t)
	powers := append(hostfuncs.Console(), hostfuncs.ReadFile(dir))
	require.Equal(t, "readFile(path: string): Promise<string> // Reads one text file of the workspace, whole.\n", hostfuncs.Describe(powers))
	powers[len(powers)-1].Gated = true
	require.Contains(t, hostfuncs.Describe(powers), "whole. Each call is put to a gate.\n")
}
