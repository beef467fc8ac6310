package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

// errTrouble is an error of a gate's own.
var errTrouble = errors.New("no route to the decider")

// TestOnlyApprovalApproves goes through the ways a gate can answer. Only one of them is nil (R179, R183, R184, R186).
func TestOnlyApprovalApproves(t *testing.T) {
	cases := []struct {
		name string
		gate gate.Func
		want error
	}{
		{"approved", says(gate.Verdict{Approved: true}, nil), nil},
		{"approved with a note", says(gate.Verdict{Approved: true, Note: "once"}, nil), nil},
		{"the zero verdict", says(gate.Verdict{}, nil), gate.ErrRefused},
		{"refused with a note", says(gate.Verdict{Note: "not on a Friday"}, nil), gate.ErrRefused},
		{"an error", says(gate.Verdict{}, errTrouble), gate.ErrUnavailable},
		{"an error beside an approval", says(gate.Verdict{Approved: true}, errTrouble), gate.ErrUnavailable},
		{"a time-out of its own", says(gate.Verdict{}, context.DeadlineExceeded), gate.ErrUnavailable},
		{"cancelled alone", says(gate.Verdict{}, fmt.Errorf("dialog: %w", context.Canceled)), gate.ErrAborted},
		{"cancelled alone beside an approval", says(gate.Verdict{Approved: true}, context.Canceled), gate.ErrAborted},
		{"no gate", nil, gate.ErrUnavailable},
		{"a panic", func(context.Context, gate.Call) (gate.Verdict, error) { panic("decider") }, gate.ErrUnavailable},
		{"a panic of nil", func(context.Context, gate.Call) (gate.Verdict, error) { panic(nil) }, gate.ErrUnavailable},
		{"its goroutine ends", func(context.Context, gate.Call) (gate.Verdict, error) {
			runtime.Goexit()
			return gate.Verdict{Approved: true}, nil
		}, gate.ErrUnavailable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := gate.Ask(t.Context(), c.gate, gate.Call{Tool: "open_file"})
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
			for _, other := range []error{gate.ErrRefused, gate.ErrUnavailable, gate.ErrAborted} {
				require.Equal(t, other == c.want, errors.Is(err, other), "%v", other)
			}
			var typed *gate.Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, "open_file", typed.Tool)
		})
	}
}

// TestCauseIsKept: the note is the model's, the cause the host's, and both can be had.
func TestCauseIsKept(t *testing.T) {
	var typed *gate.Error
	err := gate.Ask(t.Context(), says(gate.Verdict{Note: "ask Ann first"}, nil), gate.Call{Tool: "save_media"})
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "ask Ann first", typed.Note)
	require.EqualError(t, err, "save_media: refused by the gate: ask Ann first")

	err = gate.Ask(t.Context(), says(gate.Verdict{}, errTrouble), gate.Call{Tool: "save_media"})
	require.ErrorIs(t, err, errTrouble)
	require.EqualError(t, err, "save_media: gate unavailable: no route to the decider")
	require.EqualError(t, gate.Ask(t.Context(), nil, gate.Call{Tool: "save_media"}), "save_media: gate unavailable: no gate was given")
}

// TestGateAbortSplit: the end of the turn is passed on as it is, and is no gate error; a gate that was cancelled
// alone is one (R185).
func TestGateAbortSplit(t *testing.T) {
	turn, end := context.WithCancelCause(t.Context())
	stopped := errors.New("the user pressed stop")
	err := gate.Ask(turn, func(ctx context.Context, _ gate.Call) (gate.Verdict, error) {
		end(stopped)
		<-ctx.Done()
		return gate.Verdict{}, ctx.Err()
	}, gate.Call{})
	require.Equal(t, stopped, err)

	dead, cancel := context.WithCancel(t.Context())
	cancel()
	asked := false
	err = gate.Ask(dead, func(context.Context, gate.Call) (gate.Verdict, error) {
		asked = true
		return gate.Verdict{Approved: true}, nil
	}, gate.Call{})
	require.Equal(t, context.Canceled, err)
	require.False(t, asked, "a turn that has ended asks nothing")
}

// TestLateApprovalApprovesNothing: an approval that comes together with the end of the turn, or after it, is none.
func TestLateApprovalApprovesNothing(t *testing.T) {
	for range 200 { // the answer and the end of the turn are there at the same time; which one is seen first is chance
		turn, end := context.WithCancel(t.Context())
		err := gate.Ask(turn, func(context.Context, gate.Call) (gate.Verdict, error) {
			end()
			return gate.Verdict{Approved: true}, nil
		}, gate.Call{})
		require.ErrorIs(t, err, context.Canceled)
	}
}

// TestGateSuspends: Ask has no time-out of its own, and ends with the context also when the gate does not look at it
// (R181).
func TestGateSuspends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn, end := context.WithCancel(t.Context())
		release := make(chan struct{})
		answered := make(chan error, 1)
		go func() {
			answered <- gate.Ask(turn, func(context.Context, gate.Call) (gate.Verdict, error) {
				<-release
				return gate.Verdict{Approved: true}, nil
			}, gate.Call{})
		}()
		time.Sleep(1000 * time.Hour) // the bubble's clock: nothing waits
		synctest.Wait()
		require.Empty(t, answered, "nobody decided, so nothing is decided")
		end()
		require.ErrorIs(t, <-answered, context.Canceled)
		close(release) // the gate returns late, and its goroutine ends: the bubble would not end otherwise
	})
}

// TestGateArguments: the gate gets the context of the call and the call as it was made (R178).
func TestGateArguments(t *testing.T) {
	type key struct{}
	want := gate.Call{ID: "7", Tool: "run_shell_command", Args: json.RawMessage(`{"command":"ls"}`), Workspace: "/w", Policy: gate.Policy{Tier: "kernel"}}
	err := gate.Ask(context.WithValue(t.Context(), key{}, "turn"), func(ctx context.Context, c gate.Call) (gate.Verdict, error) {
		require.Equal(t, "turn", ctx.Value(key{}))
		require.Equal(t, want, c)
		return gate.Verdict{Approved: true}, nil
	}, want)
	require.NoError(t, err)
}

// TestJSON pins the shapes a gate program reads and writes.
func TestJSON(t *testing.T) {
	b, err := json.Marshal(gate.Call{ID: "7", Tool: "open_file", Args: json.RawMessage(`{"path":"a"}`), Workspace: "/w", Policy: gate.Policy{Tier: "evaluator"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"7","tool":"open_file","args":{"path":"a"},"workspace":"/w","policy":{"tier":"evaluator"}}`, string(b))

	var v gate.Verdict
	require.NoError(t, json.Unmarshal([]byte(`{"approved":false,"note":"no"}`), &v))
	require.Equal(t, gate.Verdict{Note: "no"}, v)
	b, err = json.Marshal(gate.Verdict{Approved: true})
	require.NoError(t, err)
	require.JSONEq(t, `{"approved":true}`, string(b))
}

// says is a gate with one answer.
func says(v gate.Verdict, err error) gate.Func {
	return func(context.Context, gate.Call) (gate.Verdict, error) { return v, err }
}
