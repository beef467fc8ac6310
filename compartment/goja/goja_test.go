package goja

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// room opens a compartment.
func open(t *testing.T, c compartment.Config) compartment.Compartment {
	t.Helper()
	r, err := NewWithoutMemoryLimit().Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// evaluate runs one source in a compartment of its own.
func evaluate(t *testing.T, source string, powers ...compartment.Power) compartment.Outcome {
	t.Helper()
	o, err := open(t, compartment.Config{Powers: powers}).Evaluate(t.Context(), source)
	require.NoError(t, err)
	return o
}

// TestPromises: the engine says what it lacks, and refuses a limit it cannot hold.
func TestPromises(t *testing.T) {
	e := NewWithoutMemoryLimit()
	require.Equal(t, "goja", e.Name())
	require.Equal(t, compartment.Promises{Capabilities: true}, e.Promises())
	_, err := e.Open(t.Context(), compartment.Config{Limits: compartment.Limits{MemoryBytes: 64 << 20}})
	require.ErrorIs(t, err, compartment.ErrConfig)
	require.EqualError(t, err, "limits.memory_bytes: the goja engine cannot limit memory")
	_, err = e.Open(t.Context(), compartment.Config{Limits: compartment.Limits{HostCalls: -1}})
	require.ErrorIs(t, err, compartment.ErrConfig)
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Open(dead, compartment.Config{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestArgumentsAreCopiedOnce: what a power gets is what was there when it was called. A getter, a trap or a
// conversion, which could give one answer to a check and another afterwards, does not run at all.
func TestArgumentsAreCopiedOnce(t *testing.T) {
	var got []string
	show := compartment.Power{Name: "show", Sync: true, OnCancel: compartment.CancelDiscards, Params: []compartment.Param{{Name: "v", Shown: true}},
		Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
			got = append(got, c.Arg(0).Text(200))
			return compartment.Value{}, nil
		}}
	o := evaluate(t, `
		let n = 0;
		const count = { get() { n++; return 'x' } };
		show(Object.defineProperty({ plain: 1 }, 'tricky', { ...count, enumerable: true }));
		show(new Proxy({ a: 1 }, { get() { n++ }, has() { n++ }, ownKeys() { n++; return [] }, getOwnPropertyDescriptor() { n++ }, getPrototypeOf() { n++; return null } }));
		show({ toString() { n++; return 'x' }, toJSON() { n++ }, valueOf() { n++ } });
		const list = [1, 2]; Object.defineProperty(list, 1, { ...count, enumerable: true }); show(list);
		show(new Map([[{ get k() { n++ } }, 1]]));
		show(Object.defineProperty(new Error('m'), 'name', count));
		const changed = { deep: { v: 1 } }; show(changed); changed.deep.v = 2;
		n`, show)
	require.Equal(t, "0", string(o.Data), "%+v", o)
	require.Equal(t, []string{
		"{plain: 1, tricky: [getter]}", "[proxy]", "{toString: [function toString], toJSON: [function toJSON], valueOf: [function valueOf]}",
		"[1, [getter]]", "Map(1) {{k: [getter]} => 1}", "[Error: m]", "{deep: {v: 1}}"}, got)
}

// TestStopLeavesNothingArmed: a stop that comes when its evaluation has just ended does not hit the following one.
func TestStopLeavesNothingArmed(t *testing.T) {
	r := open(t, compartment.Config{}).(*room)
	ev, err := r.begin(t.Context(), "1")
	require.NoError(t, err)
	end := r.run(ev, "1")
	ev.Stop(compartment.KindCancelled)
	require.Equal(t, compartment.StatusOK, r.conclude(ev, end).Status)
	o, err := r.Evaluate(t.Context(), "1 + 1")
	require.NoError(t, err)
	require.Equal(t, "2", string(o.Data), "%+v", o)
}

// TestStopsRace: the two in whatever order they come.
func TestStopsRace(t *testing.T) {
	r := open(t, compartment.Config{})
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(cancel)
		o, err := r.Evaluate(ctx, "1")
		require.NoError(t, err)
		wg.Wait()
		if o.Status == compartment.StatusStopped {
			require.Equal(t, compartment.KindCancelled, o.Kind)
			r = open(t, compartment.Config{})
			continue
		}
		o, err = r.Evaluate(t.Context(), "1 + 1")
		require.NoError(t, err)
		require.Equal(t, "2", string(o.Data))
	}
}

// TestDatesAreOfNoPlace: whatever the time zone of the host, a program gives the same answers.
func TestDatesAreOfNoPlace(t *testing.T) {
	source := `const d = new Date(2020, 5, 15, 12, 30); const e = new Date(0); e.setHours(5); e.setMonth(6);
		[d.getTime(), d.getTimezoneOffset(), d.getHours(), String(d), d.toLocaleString(), d.toLocaleDateString(), d.toTimeString(), d.toDateString(),
		 e.getTime(), Date.parse('2020-01-01T00:00'), Date.parse('2020-01-01'), Date.parse('Jan 5 2020'), Date.parse('Jan 5 2020 10:00 GMT+0200'), Date.parse(String(d)), Date.parse(d.toUTCString()), Date.parse(d.toISOString()),
		 new Date('2020-01-01T00:00:00+02:00').getTime(), d.getYear ? d.getYear() : 120, JSON.stringify(d), d.getDay()]`
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	want := `[1592224200000,0,12,"Mon Jun 15 2020 12:30:00 GMT+0000 (Coordinated Universal Time)","6/15/2020, 12:30:00","6/15/2020","12:30:00 GMT+0000 (Coordinated Universal Time)","Mon Jun 15 2020",` +
		`15656400000,1577836800000,1577836800000,1578182400000,1578211200000,1592224200000,1592224200000,1592224200000,1577829600000,120,"\"2020-06-15T12:30:00.000Z\"",1]`
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("west", -5*3600), time.FixedZone("east", 13*3600+1800)} {
		time.Local = zone
		require.Equal(t, want, string(evaluate(t, source).Data), zone.String())
	}
}

// TestUnhandled: rejections that nobody looked at are counted; those that were looked at, also later, are not.
func TestUnhandled(t *testing.T) {
	for source, want := range map[string]int{
		"1":                    0,
		"Promise.reject(1); 1": 1,
		"Promise.reject(1); Promise.reject(2); Promise.resolve().then(() => { throw 3 }); 1": 3,
		"Promise.reject(1).catch(() => 0); 1":                                                0,
		"const p = Promise.reject(1); Promise.resolve().then(() => p.catch(() => 0)); 1":     0,
		"try { await Promise.reject(1) } catch (e) {} 1":                                     0,
		"Promise.reject(1)": 0, // it is the result
		"for (let i = 0; i < 5000; i++) Promise.reject(i); 1": 1000, // only so many are told apart
	} {
		o := evaluate(t, source)
		require.Equal(t, want, o.Console.UnhandledRejections, source)
		require.Equal(t, want > 0, strings.Contains(o.Next, "A promise was rejected"), source)
	}
}

// TestLostRealm: after a stop the realm is gone, and says so; nothing is begun again in it.
func TestLostRealm(t *testing.T) {
	r := open(t, compartment.Config{Limits: compartment.Limits{Time: 20 * time.Millisecond}})
	o, err := r.Evaluate(t.Context(), "for (;;) {}")
	require.NoError(t, err)
	require.Equal(t, compartment.SessionLost, o.Session.State)
	_, err = r.Evaluate(t.Context(), "1")
	require.ErrorIs(t, err, compartment.ErrLost)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
}

// TestClose stops the evaluation that runs; afterwards there is none.
func TestClose(t *testing.T) {
	r := open(t, compartment.Config{})
	began := make(chan struct{})
	config := compartment.Config{Powers: []compartment.Power{{Name: "began", Sync: true, OnCancel: compartment.CancelDiscards,
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			close(began)
			return compartment.Value{}, nil
		}}}}
	r = open(t, config)
	ended := make(chan compartment.Outcome, 1)
	go func() {
		o, err := r.Evaluate(context.Background(), "began(); for (;;) {}")
		if err != nil {
			o.Cause = err
		}
		ended <- o
	}()
	<-began
	require.NoError(t, r.Close())
	o := <-ended
	require.NoError(t, o.Cause)
	require.Equal(t, compartment.KindClosed, o.Kind)
	_, err := r.Evaluate(t.Context(), "1")
	require.Error(t, err)
	_, err = open(t, compartment.Config{}).Evaluate(t.Context(), "1")
	require.NoError(t, err)
}

// TestStillRunning: a built-in that does not stop does not hold the caller. The outcome says what goes on.
func TestStillRunning(t *testing.T) {
	if os.Getenv("SALLYPORT_STILL_RUNNING") == "" { // in a process of its own: what runs on would burn the rest of this one's time
		out := child(t, "TestStillRunning", "SALLYPORT_STILL_RUNNING=1")
		require.Contains(t, out, "PASS")
		return
	}
	r, err := NewWithoutMemoryLimit().Open(t.Context(), compartment.Config{Limits: compartment.Limits{Time: 50 * time.Millisecond}})
	require.NoError(t, err)
	start := time.Now()
	o, err := r.Evaluate(t.Context(), "/^(?=a)(a+)+$/.test('a'.repeat(40) + 'b')")
	require.NoError(t, err)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, compartment.KindStillRunning, o.Kind)
	require.Equal(t, compartment.SessionLost, o.Session.State)
	require.ErrorContains(t, o.Cause, "a goroutine goes on")
	_, err = r.Evaluate(t.Context(), "1")
	require.ErrorIs(t, err, compartment.ErrLost)
	require.NoError(t, r.Close())
	o, err = open(t, compartment.Config{}).Evaluate(t.Context(), "1 + 1")
	require.NoError(t, err)
	require.Equal(t, "2", string(o.Data))
}

// child runs one test again in a process of its own and returns what it said. That it passed is seen by its exit and
// by its words.
func child(t *testing.T, test string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+test+"$", "-test.v", "-test.timeout=50s")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestPanicOfTheEngine: a fault of the engine ends that compartment and nothing else.
func TestPanicOfTheEngine(t *testing.T) {
	r := open(t, compartment.Config{}).(*room)
	ev, err := r.begin(t.Context(), "1")
	require.NoError(t, err)
	r.realm.kept.ownKeys = func(goja.FunctionCall) goja.Value { panic(errors.New("index out of range")) }
	end := r.run(ev, "({})")
	ev.Quiesce()
	require.Equal(t, compartment.KindEnginePanic, end.Kind)
	require.ErrorContains(t, end.Err, "index out of range")
	o := ev.Finish(end)
	require.Equal(t, compartment.StatusEngineLost, o.Status)
}
