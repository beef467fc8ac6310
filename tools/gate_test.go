package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

// TestGateRequired: without a gate there are no tools (R21, R176).
func TestGateRequired(t *testing.T) {
	_, err := New(Options{Workspace: t.TempDir(), WriteRoot: ".", Trust: Untrusted})
	require.ErrorIs(t, err, &Error{Code: CodeGateRequired})
	for name := range good {
		_, err := New(Options{Only: []string{name}})
		require.ErrorIs(t, err, &Error{Code: CodeGateRequired}, name)
	}
}

// TestEveryToolGated: each of the ten is put to the gate, reads and searches included, and an approved call is made once, after
// it (R175, R180, R187, R262).
func TestEveryToolGated(t *testing.T) {
	r, log := traced(t, approve, Options{})
	require.Len(t, r.Tools(), 10)
	require.Len(t, good, 10)
	for _, tool := range r.Tools() {
		require.True(t, tool.Gated, tool.Name)
		before := len(log.all())
		res, err := r.Call(t.Context(), tool.Name, json.RawMessage(good[tool.Name]))
		require.NoError(t, err, tool.Name)
		require.Equal(t, []string{"gate " + tool.Name, "run " + tool.Name}, log.all()[before:])
		require.True(t, res.Untrusted, "R189")
	}
}

// TestVerdictHonouredEverywhere: a refusal, however it is made, stops each of the ten: a verdict that is returned, an error, a panic
// and no answer at all; what comes back is text, and no handle (R186, R282, D4).
func TestVerdictHonouredEverywhere(t *testing.T) {
	for name, c := range map[string]struct {
		gate gate.Func
		want Outcome
		text string
	}{
		"refused":     {says(gate.Verdict{Note: "not today"}, nil), GateDeclined, "%s was declined: not today. Do not repeat this call; do it another way, or ask the user."},
		"zero":        {says(gate.Verdict{}, nil), GateDeclined, "%s was declined. Do not repeat this call; do it another way, or ask the user."},
		"error":       {says(gate.Verdict{Approved: true}, errors.New("/srv/gate: broken pipe")), GateUnavailable, "%s was not approved: whoever decides could not be asked. Try again once, then tell the user."},
		"timeout":     {says(gate.Verdict{}, fmt.Errorf("dial: %w", os.ErrDeadlineExceeded)), GateUnavailable, "%s was not approved: nobody answered in time. Tell the user that an answer is needed, then try again."},
		"deadline":    {says(gate.Verdict{}, context.DeadlineExceeded), GateUnavailable, "%s was not approved: nobody answered in time. Tell the user that an answer is needed, then try again."},
		"withdrawn":   {says(gate.Verdict{}, context.Canceled), Aborted, "The question about %s was withdrawn, and nothing was done. Ask the user before you try again."},
		"panic":       {func(context.Context, gate.Call) (gate.Verdict, error) { panic("/srv/gate") }, GateUnavailable, "%s was not approved: whoever decides could not be asked. Try again once, then tell the user."},
		"a nil gate":  {nil, GateUnavailable, "%s was not approved: whoever decides could not be asked. Try again once, then tell the user."},
		"with a code": {says(gate.Verdict{Note: "a\nb"}, nil), GateDeclined, `%s was declined: a\nb. Do not repeat this call; do it another way, or ask the user.`},
	} {
		r, log := traced(t, c.gate, Options{})
		for tool, args := range good {
			res, err := r.Call(t.Context(), tool, json.RawMessage(args))
			require.ErrorIs(t, err, &Error{Code: CodeRefused, Outcome: c.want}, "%s: %s", name, tool)
			require.EqualError(t, err, fmt.Sprintf(c.text, tool)) // R183, R184
			require.Equal(t, Result{}, res)
		}
		require.False(t, slices.ContainsFunc(log.all(), func(s string) bool { return s[:3] == "run" }), "%s: %v", name, log.all())
	}
}

func says(v gate.Verdict, err error) gate.Func {
	return func(context.Context, gate.Call) (gate.Verdict, error) { return v, err }
}

// TestGateArguments: the gate gets the context of the call, and the call in one spelling of the words that the tool will use: no default
// is added, and nothing is translated (R178).
func TestGateArguments(t *testing.T) {
	type key struct{}
	var seen gate.Call
	r, _ := traced(t, func(ctx context.Context, c gate.Call) (gate.Verdict, error) {
		require.Equal(t, "turn", ctx.Value(key{}))
		seen = c
		return gate.Verdict{}, nil
	}, Options{Workspace: "/srv/w"})
	_, err := r.Call(context.WithValue(t.Context(), key{}, "turn"), RunShellCommand, json.RawMessage(" {\"cwd\": \"/\\u002e./x\",\"command\" :\"l\\u0073\"}"))
	require.Error(t, err)
	require.Equal(t, gate.Call{ID: "t-1", Tool: RunShellCommand, Args: json.RawMessage(`{"command":"ls","cwd":"/../x"}`), Workspace: "/srv/w", Policy: gate.Policy{Tier: "kernel"}}, seen)
}

// TestGatePendingEvent: a gate that is asked is told at once, after 10 seconds, a minute, ten, an hour and then each hour, and not once
// it has answered (R182, R324). It has no time-out (R181).
func TestGatePendingEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan gate.Verdict)
		var events []Event
		r, log := traced(t, func(ctx context.Context, _ gate.Call) (gate.Verdict, error) { return <-answer, nil }, Options{OnEvent: func(e Event) { events = append(events, e) }})
		since := time.Now()
		done := make(chan error, 1)
		go func() { _, err := r.Call(t.Context(), OpenFile, json.RawMessage(`{"path":"a"}`)); done <- err }()
		time.Sleep(3*time.Hour + time.Minute)
		synctest.Wait()
		var waited []time.Duration
		for _, e := range events {
			require.Equal(t, GatePending, e.Kind)
			require.Equal(t, OpenFile, e.Tool)
			require.Equal(t, "t-1", e.ID)
			require.Equal(t, e.Waited, e.Time.Sub(since))
			waited = append(waited, e.Waited)
		}
		require.Equal(t, []time.Duration{0, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour}, waited)
		answer <- gate.Verdict{Approved: true}
		require.NoError(t, <-done)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"gate open_file", "run open_file"}, log.all())
		require.Len(t, events, len(waited)+2)
		require.Equal(t, GateAnswered, events[len(waited)].Kind)
		require.True(t, events[len(waited)].Approved)
		require.Equal(t, CallEnded, events[len(waited)+1].Kind)
	})
}

// TestGateSuspends: a hung gate ends with the context of the call, with the turn and with the registry, and nothing of it goes on
// (R181, R185).
func TestGateSuspends(t *testing.T) {
	stopped := errors.New("the user pressed stop")
	for name, end := range map[string]func(*Registry, context.CancelCauseFunc){
		"the context":  func(_ *Registry, cancel context.CancelCauseFunc) { cancel(stopped) },
		"the turn":     func(r *Registry, _ context.CancelCauseFunc) { require.NoError(t, r.EndTurn()) },
		"the registry": func(r *Registry, _ context.CancelCauseFunc) { require.NoError(t, r.Close()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r, log := traced(t, func(ctx context.Context, _ gate.Call) (gate.Verdict, error) {
				<-ctx.Done()
				return gate.Verdict{Approved: true}, nil // too late
			}, Options{})
			done := make(chan error, 1)
			go func() { _, err := r.Call(ctx, OpenFile, json.RawMessage(`{"path":"a"}`)); done <- err }()
			time.Sleep(100 * time.Hour)
			synctest.Wait()
			require.Empty(t, done, "nobody decided")
			end(r, cancel)
			want := ErrTurnEnded
			if name == "the context" {
				want = stopped
			}
			require.Equal(t, want, <-done, "%s: it is passed on as it is", name)
			require.Equal(t, []string{"gate open_file"}, log.all())
		})
	}
}

// TestEventsTellNothing: an event has no argument, no path and no output, and a listener that panics changes nothing (R298).
func TestEventsTellNothing(t *testing.T) {
	var told []byte
	r, _ := traced(t, says(gate.Verdict{Note: "secret-note"}, nil), Options{Workspace: "/srv/secret", OnEvent: func(e Event) {
		b, err := json.Marshal(e)
		require.NoError(t, err)
		told = append(told, b...)
		panic("a listener")
	}})
	_, err := r.Call(t.Context(), OpenFile, json.RawMessage(`{"path":"secret-path"}`))
	require.ErrorIs(t, err, &Error{Outcome: GateDeclined})
	require.Contains(t, string(told), `"outcome":"gate-declined"`)
	require.NotContains(t, string(told), "secret")
}
