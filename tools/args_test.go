package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

// TestArgValidation: the arguments are judged before anything else, the gate included, and the fault says what was meant
// (R199, R243, R245, R246).
func TestArgValidation(t *testing.T) {
	r, log := traced(t, approve, Options{})
	for _, c := range []struct{ tool, args, says string }{
		{OpenFile, `{}`, `path is missing: a string that is not empty`},
		{OpenFile, ``, `path is missing`},
		{OpenFile, `null`, `path is missing`},
		{OpenFile, `{"pth":"a"}`, `unknown field "pth" (did you mean "path"?)`},
		{OpenFile, `{"Path":"a"}`, `unknown field "Path" (did you mean "path"?)`},
		{OpenFile, `{"path":"a","recursive":true}`, `unknown field "recursive" (there are path)`},
		{OpenFile, `{"path":""}`, `path is "", and takes a string that is not empty`},
		{OpenFile, `{"path":7}`, `path is 7, and takes a string`},
		{OpenFile, `{"path":null}`, `path is null, and takes a string`},
		{OpenFile, `{"path":"a","path":"b"}`, `the key "path" is there twice`},
		{OpenFile, `{"path":"a"} {}`, `not JSON`},
		{OpenFile, `{"path":"a"`, `not JSON`},
		{OpenFile, `["a"]`, `not an object`},
		{OpenFile, `"a"`, `not an object`},
		{OpenFile, "{\"path\":\"\xff\"}", `UTF-8`},
		{OpenFile, `{"path":"\ud800"}`, `surrogate`},
		{OpenFile, `{"path":"` + strings.Repeat("x", 10<<20) + `"}`, `bytes, and at most 1048576 are taken`},
		{OpenFile, `{"path":1e999}`, `not an object`},
		{SaveMedia, `{"path":"a"}`, `media_id is missing`},
		{ListDirectory, `{"path":"","max_depth":-1}`, `max_depth is -1, and takes a whole number of at least 0`},
		{ListDirectory, `{"path":"","max_depth":1.5}`, `max_depth is 1.5, and takes a whole number of at least 0`},
		{ListDirectory, `{"path":"","limit":5}`, `unknown field "limit"`},
		{SearchFiles, `{"pattern":"x","limit":0}`, `limit is 0, and takes a whole number of at least 1`},
		{SearchFiles, `{"pattern":"x","limit":-3}`, `limit is -3`},
		{SearchFiles, `{"pattern":"x","limit":2.5}`, `limit is 2.5`},
		{SearchFiles, `{"pattern":"x","limit":NaN}`, `not JSON`},
		{SearchFiles, `{"pattern":"x","limit":"5"}`, `limit is "5"`},
		{SearchFiles, `{"pattern":"x","limit":1e30}`, `limit is 1e+30`},
		{SearchFiles, `{"pattern":"x","max_depth":-1}`, `max_depth is -1`},
		{SearchFiles, `{"pattern":"x","follow":true}`, `follow is true, and takes false`},
		{FindFiles, `{"glob":"x","follow":true}`, `follow is true, and takes false`},
		{FindFiles, `{"glob":"x","ignore_case":true}`, `unknown field "ignore_case"`},
		{FindFiles, `{"glob":"x","literal":true}`, `unknown field "literal"`},
		{FindFiles, `{"glob":"x","pattern":"y"}`, `unknown field "pattern"`},
		{RunShellCommand, `{"command":"x","timeout_seconds":0.5}`, `timeout_seconds is 0.5, and takes a number from 1 to 86400`},
		{RunShellCommand, `{"command":"x","timeout_seconds":1e9}`, `timeout_seconds is 1000000000`},
		{RunShellCommand, `{"command":"x","timout":5,"dir":"y"}`, `unknown field "dir" (there are command, cwd, timeout_seconds); unknown field "timout" (there are`},
		{EvaluateJavaScript, `{"source":""}`, `source is ""`},
		{"open_fil", `{}`, `There is no tool "open_fil" (did you mean "open_file"?)`},
		{"artifact_head", `{}`, `There is no tool "artifact_head"`},
		{"read_file", `{"path":"a"}`, `There is no tool "read_file"`},
	} {
		_, err := r.Call(t.Context(), c.tool, json.RawMessage(c.args))
		require.ErrorIs(t, err, &Error{Code: CodeInvalidArgs}, "%s %.100s", c.tool, c.args)
		require.ErrorContains(t, err, c.says, "%s %.100s", c.tool, c.args)
		require.ErrorContains(t, err, "nothing was done")
		require.NotContains(t, err.Error(), "\n")
		require.Less(t, len(err.Error()), 2000)
		require.Equal(t, err.Error(), Render(err))
	}
	require.Empty(t, log.all(), "nothing was asked and nothing done")
}

// TestDefaults: what a call leaves out is as in the table of the tools, and limit and max_depth of the search pair stay left out
// (R200, R235, R242, R244, R255).
func TestDefaults(t *testing.T) {
	r, _ := traced(t, approve, Options{})
	for tool, want := range map[string]string{
		RunShellCommand:    `{"command":"true","cwd":"","timeout_seconds":300}`,
		ListDirectory:      `{"path":"","max_depth":20}`,
		SearchFiles:        `{"pattern":"x","path":"","ignore_case":false,"literal":false,"hidden":false,"no_ignore":false,"follow":false}`,
		FindFiles:          `{"glob":"*","path":"","hidden":false,"no_ignore":false,"follow":false}`,
		EvaluateJavaScript: `{"source":"1","timeout_seconds":30}`,
		OpenFile:           `{"path":"a"}`,
	} {
		c, err := r.prepare(r.turns.now, "1", "", tool, json.RawMessage(good[tool]))
		require.NoError(t, err)
		require.JSONEq(t, want, string(c.args.full), tool)
		require.JSONEq(t, good[tool], string(c.args.made), tool)
	}
	c, err := r.prepare(r.turns.now, "1", "", SearchFiles, json.RawMessage(`{"pattern":"x","limit":1.0,"max_depth":1e2}`))
	require.NoError(t, err)
	var got searchArgs
	require.NoError(t, c.decode(&got))
	require.Equal(t, 1, got.Limit)
	require.Equal(t, 100, *got.MaxDepth)
}

// TestFollowSchema: follow takes true only from what says that it contains links (R245).
func TestFollowSchema(t *testing.T) {
	r, _ := traced(t, approve, Options{})
	require.Equal(t, []any{false}, schemaOf(t, r, SearchFiles).Properties["follow"].Enum)
	contains := &Registry{containsLinks: true}
	require.NoError(t, contains.make(definitions()))
	for _, tool := range []string{SearchFiles, FindFiles} {
		for _, made := range contains.tools {
			if made.Name == tool {
				_, err := made.args.check([]byte(`{"pattern":"x","glob":"x","follow":true}`))
				if tool == FindFiles {
					_, err = made.args.check([]byte(`{"glob":"x","follow":true}`))
				}
				require.NoError(t, err)
			}
		}
	}
}

// schemaOf finds the schema of a tool.
func schemaOf(t *testing.T, r *Registry, name string) *jsonschema.Schema {
	t.Helper()
	for _, made := range r.tools {
		if made.Name == name {
			return made.Schema
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// TestNoSizeOption: nothing bounds what a tool gives but its time, its depth and its number of results (R193, R195, R319).
func TestNoSizeOption(t *testing.T) {
	r, _ := traced(t, approve, Options{})
	for _, tool := range r.Tools() {
		for name := range tool.Schema.Properties {
			require.NotRegexp(t, `(?i)byte|size|chars|truncat|offset|max_(lines|output|results)`, name, tool.Name)
		}
	}
}

// FuzzArgs: whatever the arguments are, the gate sees what the tool uses, and no more comes of it than an error that is told.
func FuzzArgs(f *testing.F) {
	for _, s := range good {
		f.Add(s)
	}
	f.Add(`{"path":"a","path":"b"}`)
	f.Add(`{"command":"\ud83d\ude00\u0000"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var asked json.RawMessage
		r, _ := traced(t, func(_ context.Context, c gate.Call) (gate.Verdict, error) {
			asked = c.Args
			return gate.Verdict{Approved: true}, nil
		}, Options{})
		for _, made := range r.tools {
			made.run = func(_ *Registry, _ context.Context, c *call) (Result, error) {
				var used, seen map[string]any
				require.NoError(t, json.Unmarshal(c.args.full, &used))
				require.NoError(t, json.Unmarshal(asked, &seen))
				for name, v := range seen {
					require.Equal(t, v, used[name])
				}
				return Result{}, nil
			}
		}
		for name := range good {
			if _, err := r.Call(t.Context(), name, json.RawMessage(raw)); err != nil {
				require.ErrorIs(t, err, &Error{Code: CodeInvalidArgs})
			}
		}
	})
}
