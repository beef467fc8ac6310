package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
	"sallyport/hostfuncs"
)

// caller is a ToolCaller that writes down what it is asked and what it does.
func caller(log *[]string, refuse error, answer compartment.Value) hostfuncs.ToolCaller {
	ids := map[string]bool{}
	return hostfuncs.ToolCaller{
		Ask: func(_ context.Context, id, tool string, args json.RawMessage) error {
			*log = append(*log, "ask "+tool+" "+string(args))
			ids[id] = refuse == nil
			return refuse
		},
		Call: func(_ context.Context, id, tool string, args json.RawMessage) (compartment.Value, error) {
			if !ids[id] {
				return compartment.Value{}, errors.New("a call that was not asked about")
			}
			*log = append(*log, "call "+tool+" "+string(args))
			return answer, nil
		},
	}
}

// TestCallTool: each call is asked about with the name and the arguments that are then used, and what is not exactly JSON, or not arguments, does not
// get that far (R253, R262).
func TestCallTool(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		var log []string
		c := open(t, e, compartment.Limits{}, hostfuncs.CallTool(caller(&log, nil, compartment.OfObject(compartment.Field{Name: "text", Value: compartment.OfString("done")}))))
		require.Equal(t, `"done"`, data(t, c, `(await callTool("open_file", {path: "a", n: [1, null, {b: true}]})).text`))
		require.Equal(t, `"done"`, data(t, c, `(await callTool("x")).text`))
		require.Equal(t, []string{
			`ask open_file {"path":"a","n":[1,null,{"b":true}]}`, `call open_file {"path":"a","n":[1,null,{"b":true}]}`, `ask x {}`, `call x {}`,
		}, log)
		for source, code := range map[string]string{
			`{a: undefined}`: "not_json", `{a: NaN}`: "not_json", `{a: 1n}`: "not_json", `{a: new Date(0)}`: "not_json",
			`{get a() { return 1 }}`: "", `{a: () => 1}`: "", `[1]`: "", `"a"`: "", `null`: "", `{}, 1`: "",
		} {
			got := data(t, c, `await callTool("x", `+source+`).then(() => "called", e => String(e.code))`)
			require.NotEqual(t, `"called"`, got, source)
			if code != "" {
				require.Equal(t, `"`+code+`"`, got, source)
			}
		}
		require.Len(t, log, 4, "nothing more was asked or done")
	})
}

// TestCallToolRefused: a refusal of the gate can be caught, with its word and its text; a failure tells nothing of the host.
func TestCallToolRefused(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		var log []string
		c := open(t, e, compartment.Limits{}, hostfuncs.CallTool(caller(&log, compartment.Refuse("gate_declined", "not today"), compartment.Value{})))
		require.Equal(t, `["gate_declined","not today"]`, data(t, c, `await callTool("x").catch(e => [e.code, e.message])`))
		require.Equal(t, []string{"ask x {}"}, log)
		require.Equal(t, compartment.KindGate, run(t, c, `await callTool("x")`).Kind)

		c = open(t, e, compartment.Limits{}, hostfuncs.CallTool(hostfuncs.ToolCaller{
			Ask: func(context.Context, string, string, json.RawMessage) error { return nil },
			Call: func(context.Context, string, string, json.RawMessage) (compartment.Value, error) {
				return compartment.Value{}, errors.New("open /srv/secret")
			},
		}))
		o := run(t, c, `await callTool("x")`)
		require.Equal(t, compartment.StatusHostFailure, o.Status)
		require.NotContains(t, o.Value.Text, "secret")

		_, err := e.Open(t.Context(), compartment.Config{Powers: []compartment.Power{hostfuncs.CallTool(hostfuncs.ToolCaller{})}})
		require.ErrorIs(t, err, compartment.ErrConfig, "a gate is not optional")
		_, err = e.Open(t.Context(), compartment.Config{Powers: []compartment.Power{hostfuncs.SearchFiles(hostfuncs.Searcher{})}})
		require.ErrorIs(t, err, compartment.ErrConfig)
	})
}

// TestSearchFiles: the search is asked about, and done, with the arguments of the program or with what stands for them.
func TestSearchFiles(t *testing.T) {
	onEngines(t, func(t *testing.T, e compartment.Engine) {
		var asked []string
		var done []hostfuncs.Search
		c := open(t, e, compartment.Limits{}, hostfuncs.SearchFiles(hostfuncs.Searcher{
			Ask: func(_ context.Context, _ string, args json.RawMessage) error {
				asked = append(asked, string(args))
				return nil
			},
			Search: func(_ context.Context, _ string, s hostfuncs.Search) ([]hostfuncs.Match, bool, error) {
				done = append(done, s)
				if s.Pattern == "[" {
					return nil, false, compartment.Refuse("invalid_pattern", "not a pattern")
				}
				var found []hostfuncs.Match
				for i := range s.Limit {
					found = append(found, hostfuncs.Match{Path: "a", Line: i + 1, Text: "x"})
				}
				return found, true, nil
			},
		}))
		require.Equal(t, `{"matches":[{"path":"a","line":1,"text":"x"}],"more":true}`, data(t, c, `await searchFiles("x", "docs", 1)`))
		require.Equal(t, `1000`, data(t, c, `(await searchFiles("x")).matches.length`))
		require.Equal(t, `2000`, data(t, c, `(await searchFiles("x", "", 2000)).matches.length`), "as much as may cross")
		require.Equal(t, []string{`{"limit":1,"path":"docs","pattern":"x"}`, `{"limit":1000,"path":"","pattern":"x"}`, `{"limit":2000,"path":"","pattern":"x"}`}, asked)
		require.Equal(t, hostfuncs.Search{Pattern: "x", Path: "docs", Limit: 1}, done[0])
		require.Equal(t, `"invalid_pattern"`, data(t, c, `await searchFiles("[").catch(e => e.code)`))
		for _, args := range []string{``, `1`, `"x", 1`, `"x", "", 0`, `"x", "", 2001`, `"x", "", 1.5`, `"x", "", "1"`} {
			require.Equal(t, `"TypeError"`, data(t, c, `await searchFiles(`+args+`).catch(e => e.name)`), args)
		}
		require.Len(t, done, 4)
	})
}
