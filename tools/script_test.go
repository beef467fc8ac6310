package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/gate"
)

// scripted makes a registry of the file tools and evaluate_javascript, whose gate is ask.
func scripted(t *testing.T, contents map[string]string, ask gate.Func, o Options) (*Registry, *memory, *record) {
	t.Helper()
	dir := t.TempDir()
	files(t, dir, contents)
	log := &record{}
	o.Workspace, o.WriteRoot, o.Trust = dir, ".", Untrusted
	o.Gate = func(ctx context.Context, c gate.Call) (gate.Verdict, error) {
		log.add(c.Tool + " " + string(c.Args))
		return ask(ctx, c)
	}
	o.Scripts.Engine = goja.NewWithoutMemoryLimit()
	r, err := New(o)
	require.NoError(t, err)
	store := &memory{}
	r.keepIn(store)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, store, log
}

// evaluate evaluates a source and gives its outcome.
func evaluate(t *testing.T, r *Registry, store *memory, source string, seconds float64) (compartment.Outcome, Result) {
	t.Helper()
	res, err := r.Call(t.Context(), EvaluateJavaScript, args(t, map[string]any{"source": source, "timeout_seconds": seconds}))
	require.NoError(t, err)
	var o compartment.Outcome
	require.NoError(t, json.Unmarshal([]byte(store.made[res.ID].text()), &o))
	return o, res
}

// TestEvaluate: the result is the outcome, as JSON: an artifact, and the text itself while it is short.
func TestEvaluate(t *testing.T) {
	r, store, log := scripted(t, nil, approve, Options{})
	o, res := evaluate(t, r, store, "console.log('x'); [1, 2].map(x => x * 2)", 30)
	require.Equal(t, compartment.StatusOK, o.Status)
	require.JSONEq(t, "[2,4]", string(o.Data))
	require.Equal(t, "json", res.Artifact.Format)
	require.Contains(t, res.Model(), `"data":[2,4]`)
	require.Equal(t, []string{`evaluate_javascript {"source":"console.log('x'); [1, 2].map(x =\u003e x * 2)","timeout_seconds":30}`}, log.all())
	_, res = evaluate(t, r, store, "'x'.repeat(20000)", 30)
	require.Empty(t, res.Content, "what is long is for the artifact")
}

// TestGuestTimeout: a program that does not end is stopped, keeps what it logged, and the result says so; none is made up (R255, R256, D10).
func TestGuestTimeout(t *testing.T) {
	r, store, _ := scripted(t, nil, approve, Options{})
	for _, source := range []string{"console.log('before'); while (true) {}", "console.log('before'); await new Promise(() => {}); 1"} {
		since := time.Now()
		o, res := evaluate(t, r, store, source, 1)
		require.Less(t, time.Since(since), 10*time.Second)
		require.NotEqual(t, compartment.StatusOK, o.Status)
		require.Equal(t, "before", o.Console.Entries[0].Text)
		require.Equal(t, "null", string(o.Data))
		if o.Status == compartment.StatusStopped {
			require.Equal(t, compartment.KindTime, o.Kind)
			require.Contains(t, res.Notes[0], "Stopped after 1 seconds")
		}
	}
}

// TestCallTool: a program calls the other tools, each call is asked for and told like one of the model, under the evaluation that made
// it, and what it gives can be queried by the program (R253, R262).
func TestCallTool(t *testing.T) {
	var ends []Event
	r, store, log := scripted(t, map[string]string{"a": "one\ntwo\n", "b/c": ""}, approve, Options{OnEvent: func(e Event) {
		if e.Kind == CallEnded {
			ends = append(ends, e)
		}
	}})
	o, res := evaluate(t, r, store, `
const opened = await callTool("open_file", {path: "a"});
const head = await callTool("artifact_head", {callId: opened.artifact.id});
const list = await callTool("list_directory", {path: ""});
({lines: opened.artifact.lines, text: head.text, nothing: opened.text, entries: list.artifact.lines})`, 30)
	require.Equal(t, compartment.StatusOK, o.Status, "%s", store.made[res.ID].text())
	require.JSONEq(t, `{"lines":2,"text":"one\ntwo\n","nothing":"","entries":4}`, string(o.Data))
	require.Equal(t, []string{`open_file {"path":"a"}`, `list_directory {"path":""}`}, log.all()[1:], "a query is not asked for again")
	require.Len(t, ends, 4)
	for _, e := range ends[:3] {
		require.Equal(t, res.ID, e.Parent)
		require.NotEqual(t, res.ID, e.ID)
	}
	require.Empty(t, ends[3].Parent)
}

// TestCallToolRefused: what is refused, by the schema, the gate or the tool, is an error that the program can catch, with the narration
// and a word for it; what it does not catch ends it.
func TestCallToolRefused(t *testing.T) {
	r, store, log := scripted(t, map[string]string{"a": "x"}, func(_ context.Context, c gate.Call) (gate.Verdict, error) {
		return gate.Verdict{Approved: c.Tool != ListDirectory, Note: "not that"}, nil
	}, Options{})
	for call, want := range map[string]string{
		`callTool("list_directory", {path: ""})`:            `["gate_declined","list_directory was declined: not that. Do not repeat this call; do it another way, or ask the user."]`,
		`callTool("open_file", {path: "none"})`:             `["not_found","\"none\": there is no such file or directory, or the policy does not let you use it. Look at what is listed in its parent directory, or ask the user for access."]`,
		`callTool("open_file", {path: "../x"})`:             `["path_rejected","\"../x\" leads out of the workspace. Use a path inside of the workspace."]`,
		`callTool("open_file", {pth: "a"})`:                 `["invalid_arguments","Invalid arguments for open_file: unknown field \"pth\" (did you mean \"path\"?); path is missing: a string that is not empty. Correct them and call again; nothing was done."]`,
		`callTool("open_file")`:                             `["invalid_arguments","Invalid arguments for open_file: path is missing: a string that is not empty. Correct them and call again; nothing was done."]`,
		`callTool("evaluate_javascript", {source: "1"})`:    `["recursion","evaluate_javascript cannot be called by a program. Run the source where you are."]`,
		`callTool("open_file", {path: "a", x: undefined})`:  `["not_json","callTool: the arguments are not exactly JSON: leave out undefined, NaN, dates and the like"]`,
		`callTool("read_file", {path: "a"})`:                ``,
		`callTool("artifact_head", {callId: "1", n: -1.5})`: ``,
	} {
		o, res := evaluate(t, r, store, `try { await `+call+`; "no error" } catch (e) { [e.code, e.message] }`, 30)
		require.Equal(t, compartment.StatusOK, o.Status, "%s: %s", call, store.made[res.ID].text())
		if want != "" {
			require.JSONEq(t, want, string(o.Data), call)
			continue
		}
		require.Regexp(t, `^\["invalid_arguments","(There is no tool|Invalid arguments for artifact_head: callId is)`, string(o.Data), call)
	}
	for _, asked := range log.all() {
		require.NotRegexp(t, "^(read_file|artifact_head) ", asked)
	}
	o, _ := evaluate(t, r, store, `await callTool("list_directory", {path: ""})`, 30)
	require.Equal(t, compartment.KindGate, o.Kind)
}

// TestCallToolOfAnEvaluationAlone: the powers work for the evaluation they were handed to, and each approval is used once.
func TestCallToolOfAnEvaluationAlone(t *testing.T) {
	r, _, _ := scripted(t, map[string]string{"a": "x"}, approve, Options{})
	require.Error(t, r.askInner(t.Context(), "1", OpenFile, json.RawMessage(`{"path":"a"}`)))
	_, err := r.callInner(t.Context(), "1", OpenFile, nil)
	require.Error(t, err)

	turn, err := r.begin()
	require.NoError(t, err)
	defer turn.running.Done()
	ev := &evaluation{call: &call{id: "e", turn: turn}, approved: map[string]*call{}}
	ctx := context.WithValue(t.Context(), evaluationKey{}, ev)
	_, err = r.callInner(ctx, "1", OpenFile, json.RawMessage(`{"path":"a"}`))
	require.ErrorContains(t, err, "no gate approved")
	require.NoError(t, r.askInner(ctx, "1", OpenFile, json.RawMessage(`{"path":"a"}`)))
	_, err = r.callInner(ctx, "1", OpenFile, json.RawMessage(`{"path":"a"}`))
	require.NoError(t, err)
	_, err = r.callInner(ctx, "1", OpenFile, json.RawMessage(`{"path":"a"}`))
	require.ErrorContains(t, err, "no gate approved")
}

// TestProgramStopsWithItsTurn: a program that waits for a gate, or for a tool, ends with the context of its call.
func TestProgramStopsWithItsTurn(t *testing.T) {
	gone := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, _, log := scripted(t, map[string]string{"a": "x"}, func(ctx context.Context, c gate.Call) (gate.Verdict, error) {
		if c.Tool == OpenFile {
			cancel(gone)
			<-ctx.Done()
		}
		return gate.Verdict{Approved: true}, nil
	}, Options{})
	_, err := r.Call(ctx, EvaluateJavaScript, json.RawMessage(`{"source":"await callTool('open_file', {path: 'a'})"}`))
	require.Equal(t, gone, err)
	require.Len(t, log.all(), 2)
}

// TestScriptAlone: with no other tool there is nothing to call, and the description does not say that there is (R198).
func TestScriptAlone(t *testing.T) {
	r, store, _ := scripted(t, nil, approve, Options{Only: []string{EvaluateJavaScript}})
	o, _ := evaluate(t, r, store, "[typeof callTool, typeof searchFiles]", 30)
	require.JSONEq(t, `["undefined","undefined"]`, string(o.Data))
	require.False(t, slices.ContainsFunc(r.Tools(), func(t Tool) bool { return t.Name == OpenFile }))
}
