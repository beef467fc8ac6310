package compartment

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func bigOne() *big.Int { return big.NewInt(1) }

// begin starts an evaluation with these powers on a host with these limits. The engine is played by the test.
func begin(t *testing.T, l Limits, powers ...Power) *Evaluation {
	t.Helper()
	for i := range powers {
		if powers[i].OnCancel == 0 {
			powers[i].OnCancel = CancelDiscards
		}
	}
	h, err := NewHost(Config{Limits: l, Powers: powers})
	require.NoError(t, err)
	return h.Begin(t.Context(), "source", func() {})
}

// until waits for the channel or the context.
func until(release <-chan struct{}) func(context.Context, *Call) (Value, error) {
	return func(ctx context.Context, _ *Call) (Value, error) {
		select {
		case <-release:
			return OfString("late"), nil
		case <-ctx.Done():
			return Value{}, ctx.Err()
		}
	}
}

// TestCallsSettle: each call comes to its own end, by its ticket, and is written down.
func TestCallsSettle(t *testing.T) {
	e := begin(t, Limits{},
		Power{Name: "good", Params: []Param{{Name: "n"}}, Do: func(_ context.Context, c *Call) (Value, error) { return c.Arg(0), nil }},
		Power{Name: "no", Do: func(context.Context, *Call) (Value, error) { return Value{}, Refuse("busy", "come back later") }},
		Power{Name: "bad", Do: func(context.Context, *Call) (Value, error) { return Value{}, errors.New("open /srv/x: EIO") }},
		Power{Name: "panics", Do: func(context.Context, *Call) (Value, error) { panic("/srv/y") }},
		Power{Name: "leaves", Do: func(context.Context, *Call) (Value, error) { runtime.Goexit(); return Value{}, nil }},
		Power{Name: "lies", Returns: Param{Types: []Type{TypeString}}, Do: func(context.Context, *Call) (Value, error) { return OfNumber(1), nil }},
		Power{Name: "marks", Do: func(context.Context, *Call) (Value, error) { return OfMark(TypeFunction, "f"), nil }},
		Power{Name: "floods", Do: func(context.Context, *Call) (Value, error) { return OfString(string(make([]byte, 2_000_000))), nil }},
	)
	got := map[int]Settled{}
	tickets := map[int]string{}
	for i, p := range e.host.Powers() {
		var args []Value
		if p.Name == "good" {
			args = []Value{OfNumber(7)}
		}
		tickets[e.Call(i, args)] = p.Name
	}
	tickets[e.Call(0, nil)] = "good without its argument"
	for e.Waiting() {
		s, ok := e.Wait()
		require.True(t, ok)
		got[s.Ticket] = s
	}
	require.Len(t, got, len(tickets))
	for ticket, name := range tickets {
		s := got[ticket]
		want, failed := map[string]struct {
			kind Kind
			code string
			text string
		}{
			"no":                        {KindByPower, "busy", "come back later"},
			"bad":                       {KindPowerError, "error", "bad could not do it"},
			"panics":                    {KindPowerPanic, "panic", "panics could not do it"},
			"leaves":                    {KindPowerPanic, "panic", "leaves could not do it"},
			"lies":                      {KindPowerResult, "result", "lies could not do it"},
			"marks":                     {KindPowerResult, "result", "marks could not do it"},
			"floods":                    {KindPowerResult, "result", "floods could not do it"},
			"good without its argument": {KindArguments, "arguments", "good: n must be "},
		}[name]
		if name == "good without its argument" {
			require.Nil(t, s.Failure, "no types are given, so undefined is data like any other")
			continue
		}
		if !failed {
			require.Nil(t, s.Failure, name)
			require.Equal(t, "7", s.Value.Text(10))
			continue
		}
		require.Equal(t, want.kind, s.Failure.Kind, name)
		require.Equal(t, want.code, s.Failure.Code, name)
		require.Equal(t, want.text, s.Failure.Text, name)
		require.Error(t, s.Failure.Err, "%s: the host's log has the cause", name)
	}
	o := e.Finish(Ending{})
	require.Empty(t, o.Effects.Unknown)
	results := map[string]int{}
	for _, f := range o.Effects.Done {
		results[f.Result]++
	}
	require.Equal(t, map[string]int{"ok": 2, "refused": 1, "failed": 6}, results)
	require.Equal(t, int64(9), o.Used.HostCalls.Used)
	require.Equal(t, Gauge{2, 1000}, o.Used.Calls["good"])
}

// TestLimitOfCalls: one call too many stops the evaluation; one power's own limit is a refusal.
func TestLimitOfCalls(t *testing.T) {
	e := begin(t, Limits{HostCalls: 3}, Power{Name: "f", Do: nothing, Limits: PowerLimits{Calls: 1}}, Power{Name: "g", Do: nothing})
	e.Call(0, nil)
	e.Call(0, nil)
	refused := 0
	for e.Waiting() {
		s, ok := e.Wait()
		require.True(t, ok)
		if s.Failure != nil {
			require.Equal(t, KindCalls, s.Failure.Kind)
			refused++
		}
	}
	require.Equal(t, 1, refused)
	e.Call(1, nil)
	_, stopped := e.Stopped()
	require.False(t, stopped)
	e.Call(1, nil)
	kind, stopped := e.Stopped()
	require.True(t, stopped)
	require.Equal(t, KindHostCalls, kind)
	o := e.Finish(Ending{Kind: kind})
	require.Equal(t, int64(3), o.Used.HostCalls.Used, "the one too many reached nobody")
}

// TestConcurrencyIsBounded: no more calls run at one time than may, in all and of one power; the others wait their
// turn.
func TestConcurrencyIsBounded(t *testing.T) {
	var now, most atomic.Int32
	var slow, slowest atomic.Int32
	count := func(n, m *atomic.Int32) func(context.Context, *Call) (Value, error) {
		return func(context.Context, *Call) (Value, error) {
			if v := n.Add(1); v > m.Load() {
				m.Store(v)
			}
			runtime.Gosched()
			n.Add(-1)
			return Value{}, nil
		}
	}
	both := func(ctx context.Context, c *Call) (Value, error) {
		count(&slow, &slowest)(ctx, c)
		return count(&now, &most)(ctx, c)
	}
	e := begin(t, Limits{ConcurrentCalls: 4}, Power{Name: "f", Do: count(&now, &most)}, Power{Name: "g", Do: both, Limits: PowerLimits{AtOnce: 1}})
	for i := range 200 {
		e.Call(i%2, nil)
	}
	n := 0
	for e.Waiting() {
		_, ok := e.Wait()
		require.True(t, ok)
		n++
	}
	require.Equal(t, 200, n)
	require.LessOrEqual(t, most.Load(), int32(4))
	require.Equal(t, int32(1), slowest.Load())
	e.Finish(Ending{})
}

// TestTimeStops: at its limit the evaluation ends, whatever it waits for, and says why; the caller's end is told
// apart from it (R255).
func TestTimeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewHost(Config{Limits: Limits{Time: time.Second, CallTime: time.Hour}, Powers: []Power{
			{Name: "f", OnCancel: CancelDiscards, Do: until(nil)}, {Name: "g", OnCancel: CancelUnknown, Do: func(context.Context, *Call) (Value, error) {
				time.Sleep(time.Hour) // does not look at its context
				return Value{}, nil
			}}}})
		require.NoError(t, err)
		interrupts := 0
		start := time.Now()
		e := h.Begin(t.Context(), "", func() { interrupts++ })
		e.Call(0, nil)
		e.Call(1, nil)
		_, ok := e.Wait()
		require.False(t, ok)
		kind, _ := e.Stopped()
		require.Equal(t, KindTime, kind)
		o := e.Finish(Ending{Kind: kind})
		require.Equal(t, 1, interrupts)
		require.Equal(t, time.Second+grace, time.Since(start))
		require.Equal(t, StatusStopped, o.Status)
		require.Equal(t, "g", o.Effects.Unknown[0].Power)
		require.Contains(t, o.Next, "It is not known whether 1 call was carried out: check before trying again.")
		require.Equal(t, "failed", o.Effects.Done[0].Result, "it answered the end of its context")
		time.Sleep(2 * time.Hour) // the power returns: nobody waits, and its goroutine ends
	})
	ctx, cancel := context.WithCancel(t.Context())
	h, err := NewHost(Config{})
	require.NoError(t, err)
	e := h.Begin(ctx, "", func() {})
	cancel()
	<-e.Done()
	kind, _ := e.Stopped()
	require.Equal(t, KindCancelled, kind)
	e.Finish(Ending{Kind: kind})
	deadline, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	e = h.Begin(deadline, "", func() {})
	<-e.Done()
	kind, _ = e.Stopped()
	require.Equal(t, KindCancelled, kind, "the caller's deadline is the caller's")
	e.Finish(Ending{Kind: kind})
}

// TestCancelPolicies: what the end means for a call that is running (R259).
func TestCancelPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrote := false
		release := make(chan struct{})
		write := func(ctx context.Context, _ *Call) (Value, error) {
			time.Sleep(5 * time.Second)
			if ctx.Err() != nil {
				return Value{}, ctx.Err()
			}
			wrote = true
			return Value{}, nil
		}
		deaf := func(context.Context, *Call) (Value, error) { <-release; return Value{}, nil }
		h, err := NewHost(Config{Limits: Limits{Time: time.Second, ConcurrentCalls: 3}, Powers: []Power{
			{Name: "read", OnCancel: CancelDiscards, Do: deaf},
			{Name: "send", OnCancel: CancelUnknown, Do: deaf},
			{Name: "write", OnCancel: CancelFinishes, Do: write}}})
		require.NoError(t, err)
		start := time.Now()
		e := h.Begin(t.Context(), "", func() {})
		for i := range 3 {
			e.Call(i, nil)
		}
		e.Call(2, nil) // there is no place for it
		_, ok := e.Wait()
		require.False(t, ok)
		o := e.Finish(Ending{Kind: KindTime})
		require.True(t, wrote)
		require.Equal(t, 5*time.Second, time.Since(start), "the write was waited for, and nothing else was")
		require.Len(t, o.Effects.Done, 2)
		require.Equal(t, Effect{ID: o.Effects.Done[0].ID, Power: "read", Args: []byte("{}"), Result: "discarded"}, o.Effects.Done[0])
		require.Equal(t, "write ok", o.Effects.Done[1].Power+" "+o.Effects.Done[1].Result)
		require.Len(t, o.Effects.Unknown, 1)
		require.Equal(t, "send", o.Effects.Unknown[0].Power)
		close(release)
	})
}

// TestCallTime: a call that takes too long is given up, and its place stays taken until it really returns.
func TestCallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := func(context.Context, *Call) (Value, error) { <-release; return OfString("late"), nil }
		h, err := NewHost(Config{Limits: Limits{Time: time.Minute, ConcurrentCalls: 1}, Powers: []Power{
			{Name: "f", OnCancel: CancelUnknown, Do: deaf, Limits: PowerLimits{Time: time.Second}}, {Name: "g", OnCancel: CancelDiscards, Do: nothing}}})
		require.NoError(t, err)
		e := h.Begin(t.Context(), "", func() {})
		slow, next := e.Call(0, nil), e.Call(1, nil)
		s, ok := e.Wait()
		require.True(t, ok)
		require.Equal(t, slow, s.Ticket)
		require.Equal(t, KindPowerTime, s.Failure.Kind)
		require.Equal(t, "f took longer than 1s", s.Failure.Text)
		close(release)
		s, ok = e.Wait()
		require.True(t, ok)
		require.Equal(t, next, s.Ticket)
		require.Nil(t, s.Failure)
		o := e.Finish(Ending{})
		require.Equal(t, "f", o.Effects.Unknown[0].Power, "it may have been carried out")
	})
}

// TestCallTimeSeenByThePower: a power that heeds its context and gives up is a power that took too long too, whoever saw
// the end of the time first. A deadline of the power's own is a failure like any other.
func TestCallTimeSeenByThePower(t *testing.T) {
	for range 20 { // the two are in a race
		synctest.Test(t, func(t *testing.T) {
			heed := func(ctx context.Context, _ *Call) (Value, error) { <-ctx.Done(); return Value{}, ctx.Err() }
			own := func(context.Context, *Call) (Value, error) { return Value{}, context.DeadlineExceeded }
			h, err := NewHost(Config{Limits: Limits{Time: time.Minute, CallTime: time.Second}, Powers: []Power{
				{Name: "heed", OnCancel: CancelUnknown, Do: heed}, {Name: "own", OnCancel: CancelDiscards, Do: own}}})
			require.NoError(t, err)
			e := h.Begin(t.Context(), "", func() {})
			e.Call(0, nil)
			s, ok := e.Wait()
			require.True(t, ok)
			require.Equal(t, KindPowerTime, s.Failure.Kind)
			require.Equal(t, "heed took longer than 1s", s.Failure.Text)
			e.Call(1, nil)
			s, ok = e.Wait()
			require.True(t, ok)
			require.Equal(t, KindPowerError, s.Failure.Kind, "a deadline of its own is not the call's")
			o := e.Finish(Ending{})
			require.Equal(t, "heed", o.Effects.Unknown[0].Power)
			require.Equal(t, "failed", o.Effects.Done[0].Result)
		})
	}
}

// TestGateRunsFirst: a gate is asked before the power, on its own time; what it says decides (R180, R262).
func TestGateRunsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		ask := func(answer error) func(context.Context, *Call) error {
			return func(_ context.Context, c *Call) error {
				time.Sleep(20 * time.Second) // a person thinks; longer than any call may take
				ran = append(ran, "ask "+c.Power)
				return answer
			}
		}
		do := func(_ context.Context, c *Call) (Value, error) { ran = append(ran, "do "+c.Power); return Value{}, nil }
		h, err := NewHost(Config{Limits: Limits{Time: time.Hour, ConcurrentCalls: 1}, Powers: []Power{
			{Name: "yes", Gated: true, Ask: ask(nil), Do: do, OnCancel: CancelFinishes},
			{Name: "no", Gated: true, Ask: ask(Refuse("gate_refused", "not today")), Do: do, OnCancel: CancelFinishes},
			{Name: "broken", Gated: true, Ask: ask(errors.New("/srv/gate")), Do: do, OnCancel: CancelFinishes},
			{Name: "panics", Gated: true, Ask: func(context.Context, *Call) error { panic("x") }, Do: do, OnCancel: CancelFinishes}}})
		require.NoError(t, err)
		e := h.Begin(t.Context(), "", func() {})
		for i := range 4 {
			e.Call(i, nil)
		}
		var failures []string
		for e.Waiting() {
			s, ok := e.Wait()
			require.True(t, ok)
			if s.Failure != nil {
				failures = append(failures, fmt.Sprintf("%s %s %s", s.Failure.Kind, s.Failure.Code, s.Failure.Text))
			}
		}
		require.Equal(t, []string{"ask yes", "do yes", "ask no", "ask broken"}, ran)
		require.Equal(t, []string{"refused/gate gate_refused not today", "refused/gate gate broken was not approved", "refused/gate gate panics was not approved"}, failures)
		e.Finish(Ending{})
	})
}

// TestPendingGateEndsWithTheEvaluation: a question nobody answered is no effect, also for a power that would be let
// finish.
func TestPendingGateEndsWithTheEvaluation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewHost(Config{Limits: Limits{Time: time.Second}, Powers: []Power{{Name: "f", Gated: true, OnCancel: CancelFinishes, Do: nothing,
			Ask: func(ctx context.Context, _ *Call) error { <-ctx.Done(); return ctx.Err() }}}})
		require.NoError(t, err)
		e := h.Begin(t.Context(), "", func() {})
		e.Call(0, nil)
		_, ok := e.Wait()
		require.False(t, ok)
		o := e.Finish(Ending{Kind: KindTime})
		require.Empty(t, o.Effects.Unknown)
		require.Equal(t, "refused", o.Effects.Done[0].Result)
	})
}

// TestRevoked: a power that was taken back refuses the next call.
func TestRevoked(t *testing.T) {
	revoked := false
	e := begin(t, Limits{}, Power{Name: "f", Do: nothing, Revoked: func() bool { return revoked }})
	e.Call(0, nil)
	s, _ := e.Wait()
	require.Nil(t, s.Failure)
	revoked = true
	e.Call(0, nil)
	s, _ = e.Wait()
	require.Equal(t, KindRevoked, s.Failure.Kind)
	e.Finish(Ending{})
}

// TestSynchronous: the guest waits for the value, and calls under way come to their end all the same.
func TestSynchronous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := NewHost(Config{Limits: Limits{Time: time.Minute, ConcurrentCalls: 1}, Powers: []Power{
			{Name: "slow", OnCancel: CancelDiscards, Do: func(context.Context, *Call) (Value, error) { time.Sleep(time.Second); return OfNumber(1), nil }},
			{Name: "now", Sync: true, OnCancel: CancelDiscards, Do: func(context.Context, *Call) (Value, error) { time.Sleep(3 * time.Second); return OfNumber(2), nil }},
			{Name: "here", Sync: true, Local: true, OnCancel: CancelDiscards, Do: func(_ context.Context, c *Call) (Value, error) { c.Log("log", "x"); panic("x") }},
		}})
		require.NoError(t, err)
		e := h.Begin(t.Context(), "", func() {})
		first := e.Call(0, nil)
		v, f := e.CallSync(1, nil)
		require.Nil(t, f)
		require.Equal(t, "2", v.Text(9))
		_, f = e.CallSync(2, nil)
		require.Equal(t, KindPowerPanic, f.Kind)
		s, ok := e.Wait()
		require.True(t, ok)
		require.Equal(t, first, s.Ticket)
		o := e.Finish(Ending{})
		require.Len(t, o.Effects.Done, 2, "a local call is no effect")
		require.Equal(t, int64(2), o.Used.HostCalls.Used)
		require.Len(t, o.Console.Entries, 1)
	})
}

// TestAfterTheEnd: what comes late reaches nobody.
func TestAfterTheEnd(t *testing.T) {
	e := begin(t, Limits{}, Power{Name: "f", Do: nothing}, Power{Name: "g", Do: nothing, Sync: true})
	o := e.Finish(Ending{})
	e.Log("log", "late")
	e.Stop(KindClosed)
	e.Call(0, nil)
	_, f := e.CallSync(1, nil)
	require.Equal(t, KindCancelled, f.Kind)
	require.Empty(t, o.Console.Entries)
	require.Empty(t, e.console.Entries)
	require.Empty(t, e.effects)
}

// TestGuestLogs: what is logged is kept, cut with a mark, and counted when it is dropped (R256).
func TestGuestLogs(t *testing.T) {
	e := begin(t, Limits{ConsoleEntries: 2, ConsoleEntryBytes: 32})
	e.Log("log", "short\n")
	e.Log("error", string(make([]byte, 100)))
	e.Log("log", "dropped")
	e.Log("log", "dropped too")
	o := e.Finish(Ending{Kind: KindThrown})
	require.Equal(t, Entry{Level: "log", Text: `short\n`}, o.Console.Entries[0])
	require.True(t, o.Console.Entries[1].Clipped)
	require.Equal(t, `\x00\x00\x00\x00\x00\x00\x00\x00… (100 bytes in all)`, o.Console.Entries[1].Text)
	require.Equal(t, int64(2), o.Console.DroppedEntries)
	require.Equal(t, int64(68+7+11), o.Console.DroppedBytes)
}
