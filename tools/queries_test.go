package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/artifact"
)

// asked makes a registry of the file tools with a real store, and a function that opens a file and queries it.
func asked(t *testing.T, contents map[string]string) (r *Registry, open func(tool, path string) string, ask func(tool, id string, fields map[string]any) (Result, error)) {
	t.Helper()
	dir := t.TempDir()
	files(t, dir, contents)
	r, err := New(Options{Gate: approve, Workspace: dir, WriteRoot: ".", Trust: Untrusted})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	open = func(tool, path string) string {
		res, err := r.Call(t.Context(), tool, args(t, map[string]any{"path": path}))
		require.NoError(t, err)
		return res.ID
	}
	ask = func(tool, id string, fields map[string]any) (Result, error) {
		given := map[string]any{"callId": id}
		for k, v := range fields {
			given[k] = v
		}
		return r.Call(t.Context(), tool, args(t, given))
	}
	return r, open, ask
}

// TestBaseTools: the seven queries that every artifact has, on a real one (R269, R273, R274).
func TestBaseTools(t *testing.T) {
	r, open, ask := asked(t, map[string]string{"a": "zero\r\nOne\ntwo\n3\n4\n5\n6\n7\n8\n9\nten\nlast"})
	id := open(OpenFile, "a")
	for _, c := range []struct {
		tool   string
		fields map[string]any
		want   string
	}{
		{"artifact_head", nil, "zero\r\nOne\ntwo\n3\n4\n5\n6\n7\n8\n9\n"},
		{"artifact_head", map[string]any{"n": 1}, "zero\r\n"},
		{"artifact_head", map[string]any{"n": 0}, ""},
		{"artifact_tail", nil, "two\n3\n4\n5\n6\n7\n8\n9\nten\nlast"},
		{"artifact_tail", map[string]any{"n": 2}, "ten\nlast"},
		{"artifact_cat", nil, "zero\r\nOne\ntwo\n3\n4\n5\n6\n7\n8\n9\nten\nlast"},
		{"artifact_cat", map[string]any{"start": 1, "end": 3}, "One\ntwo\n"},
		{"artifact_cat", map[string]any{"start": 11}, "last"},
		{"artifact_cat", map[string]any{"start": 50}, ""},
		{"artifact_grep", map[string]any{"pattern": "^o"}, ""},
		{"artifact_grep", map[string]any{"pattern": "^o", "flags": "i"}, "2:One\n"},
		{"artifact_grep", map[string]any{"pattern": "o$", "flags": ""}, "1:zero\n3:two\n"},
		{"artifact_byte_length", nil, "36\n"},
		{"artifact_line_count", nil, "12\n"},
	} {
		res, err := ask(c.tool, id, c.fields)
		require.NoError(t, err, c.tool)
		require.Equal(t, c.want, res.Content, "%s %v", c.tool, c.fields)
		require.Nil(t, res.Artifact, "R272")
		require.True(t, res.Untrusted)
	}
	res, err := ask("artifact_estimate_tokens", id, map[string]any{"encoding": artifact.DefaultEncoding})
	require.NoError(t, err)
	require.Regexp(t, `^\d+\n$`, res.Content)
	res, err = ask("artifact_grep", id, map[string]any{"pattern": "nothing like it"})
	require.NoError(t, err)
	require.Equal(t, []string{`No matches for "nothing like it". Check the pattern and the path, or search elsewhere.`}, res.Notes)

	_, err = ask("artifact_grep", id, map[string]any{"pattern": "a(?=b)"})
	require.ErrorIs(t, err, &Error{Outcome: InvalidPattern}, "no look-around")
	_, err = ask("artifact_grep", id, map[string]any{"pattern": "a", "flags": "gi"})
	require.ErrorIs(t, err, &Error{Outcome: InvalidPattern})
	_, err = ask("artifact_head", id, map[string]any{"n": -1})
	require.ErrorIs(t, err, &Error{Code: CodeInvalidArgs})
	_, err = ask("artifact_cat", id, map[string]any{"start": 3, "end": 1})
	require.ErrorIs(t, err, &Error{Outcome: InvalidPattern})
	require.Len(t, r.Tools()[len(fileToolNames()):], 7)
}

func fileToolNames() []string {
	return []string{OpenFile, OpenJSONFile, OpenMarkdownFile, StageFile, SaveMedia, ListDirectory}
}

// TestJSONTools: JSON has seven more, and a listing is JSON too (R275).
func TestJSONTools(t *testing.T) {
	_, open, ask := asked(t, map[string]string{"a.json": `{"list":[{"n":1,"s":"a"},{"n":2},{"n":3}],"é":null}`, "bad.json": "{\nnot json", "d/f": ""})
	id := open(OpenJSONFile, "a.json")
	for _, c := range []struct{ tool, fields, want string }{
		{"type", `{}`, `"object"`}, {"type", `{"path":"$.list"}`, `"array"`}, {"keys", `{}`, `["list","é"]`}, {"length", `{"path":"$.list"}`, `3`},
		{"get", `{"path":"$.list[*].n"}`, `[1,2,3]`}, {"get", `{"path":"$.none"}`, `[]`}, {"filter", `{"path":"$.list","expression":"@.n > 1"}`, `[{"n":2},{"n":3}]`},
		{"slice", `{"path":"$.list","start":1,"end":2}`, `[{"n":2}]`}, {"slice", `{"path":"$.list","start":2}`, `[{"n":3}]`}, {"pluck", `{"path":"$.list","key":"s"}`, `["a"]`},
	} {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.fields), &fields))
		res, err := ask("artifact_json_"+c.tool, id, fields)
		require.NoError(t, err, "%s %s", c.tool, c.fields)
		require.JSONEq(t, c.want, strings.ReplaceAll(res.Content, "null", "null"), "%s %s", c.tool, c.fields)
	}
	_, err := ask("artifact_json_get", id, map[string]any{"path": "$["})
	require.ErrorIs(t, err, &Error{Outcome: InvalidPattern})
	res, err := ask("artifact_json_keys", id, map[string]any{"path": "$.list"})
	require.NoError(t, err)
	require.Len(t, res.Notes, 1, "an array has no keys, and that is an answer")

	bad := open(OpenJSONFile, "bad.json")
	res, err = ask("artifact_json_get", bad, nil)
	require.NoError(t, err)
	require.Contains(t, res.Notes[0], "is not valid JSON: line 2")
	res, err = ask("artifact_head", bad, nil)
	require.NoError(t, err)
	require.Equal(t, "{\nnot json", res.Content, "R218")

	res, err = ask("artifact_json_get", open(ListDirectory, "d"), map[string]any{"path": "$[?@.kind == 'item'].path"})
	require.NoError(t, err)
	require.JSONEq(t, `["f"]`, res.Content)
}

// TestMarkdownTools: Markdown has eight more (R275).
func TestMarkdownTools(t *testing.T) {
	_, open, ask := asked(t, map[string]string{"a.md": "---\ntitle: T\n---\n# One\ntext [l](u)\n\n```go\nx\n```\n\n## Two\n![i](p)\n"})
	id := open(OpenMarkdownFile, "a.md")
	for _, c := range []struct{ tool, want string }{
		{"frontmatter", `{"title":"T"}`}, {"headings", `[{"level":1,"text":"One","line":4},{"level":2,"text":"Two","line":11}]`},
		{"code_blocks", `[{"language":"go","code":"x\n","line":7}]`}, {"links", `[{"text":"l","url":"u","line":5}]`}, {"images", `[{"text":"i","url":"p","line":12}]`},
	} {
		res, err := ask("artifact_md_"+c.tool, id, nil)
		require.NoError(t, err, c.tool)
		require.JSONEq(t, c.want, res.Content, c.tool)
	}
	res, err := ask("artifact_md_sections", id, map[string]any{"heading": "two"})
	require.NoError(t, err)
	require.JSONEq(t, `[{"level":2,"text":"Two","line":11,"body":"![i](p)\n"}]`, res.Content)
	res, err = ask("artifact_md_text", id, nil)
	require.NoError(t, err)
	require.Contains(t, res.Content, "One")
	res, err = ask("artifact_md_ast", id, nil)
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(res.Content)))
	_, err = ask("artifact_json_get", id, nil)
	require.ErrorIs(t, err, &Error{Code: CodeInvalidArgs}, "there is no JSON in this turn")
}

// TestQueriesFit: each query is there for the kinds it fits, takes only the ids of those, and every row of the table makes a tool (R270).
func TestQueriesFit(t *testing.T) {
	require.Len(t, baseQueries(), 7)
	require.Len(t, jsonQueries(), 7)
	require.Len(t, markdownQueries(), 8)
	seen := map[string]bool{}
	for _, q := range queryTable() {
		require.False(t, seen[q.name], q.name)
		seen[q.name] = true
		require.NotNil(t, q.answer)
		require.NotNil(t, q.tool([]string{"x"}))
	}
	r, open, _ := asked(t, map[string]string{"a": "{}"})
	text, doc := open(OpenFile, "a"), open(OpenJSONFile, "a")
	for _, tool := range r.Tools()[len(fileToolNames()):] {
		want := []any{text, doc}
		if strings.HasPrefix(tool.Name, "artifact_json_") {
			want = []any{doc}
		}
		require.Equal(t, want, tool.Schema.Properties["callId"].Enum, tool.Name)
	}
}
