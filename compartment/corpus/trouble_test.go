package corpus

import (
	"context"
	"runtime"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// troubles are powers that do what no power should.
func troubles(release <-chan struct{}, returned chan<- struct{}) []compartment.Power {
	type does func(ctx context.Context) (compartment.Value, error)
	power := func(name string, sync bool, policy compartment.CancelPolicy, do does) compartment.Power {
		return compartment.Power{Name: name, Sync: sync, OnCancel: policy,
			Do: func(ctx context.Context, _ *compartment.Call) (compartment.Value, error) { return do(ctx) }}
	}
	panics := func(context.Context) (compartment.Value, error) { panic("/srv/secret.go:12") }
	leaves := func(context.Context) (compartment.Value, error) { runtime.Goexit(); return compartment.Value{}, nil }
	never := func(context.Context) (compartment.Value, error) { <-release; return compartment.OfString("late"), nil }
	after := func(then does) does {
		return func(ctx context.Context) (compartment.Value, error) {
			defer func() { returned <- struct{}{} }()
			<-ctx.Done()
			return then(ctx)
		}
	}
	late := after(func(context.Context) (compartment.Value, error) { return compartment.OfString("late"), nil })
	return []compartment.Power{
		power("panics", false, compartment.CancelUnknown, panics), power("panicsNow", true, compartment.CancelUnknown, panics),
		power("leaves", false, compartment.CancelUnknown, leaves), power("leavesNow", true, compartment.CancelUnknown, leaves),
		power("never", false, compartment.CancelUnknown, never), power("neverNow", true, compartment.CancelUnknown, never),
		power("late", false, compartment.CancelDiscards, late), power("lateNow", true, compartment.CancelDiscards, late),
		power("panicsLate", false, compartment.CancelUnknown, after(panics)),
	}
}

// TestTroubleWithPowers: a panic, an end of the goroutine, no return, and a return after the stop stay with that call: the evaluation ends in time and as
// it should, nothing of the host is said, another compartment answers, and no goroutine stays once the power has let go.
func TestTroubleWithPowers(t *testing.T) {
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		before := runtime.NumGoroutine()
		release, returned := make(chan struct{}), make(chan struct{}, 10)
		config := compartment.Config{Powers: troubles(release, returned), Limits: compartment.Limits{Time: shortTime}}
		for _, c := range []struct {
			source    string
			kind      compartment.Kind
			result    string // of the call, in the effects
			comesBack bool
		}{
			{source: "await panics()", kind: compartment.KindPowerPanic, result: "unknown"},
			{source: "panicsNow()", kind: compartment.KindPowerPanic, result: "unknown"},
			{source: "try { panicsNow() } catch (e) { e.message }", result: "unknown"},
			{source: "await leaves()", kind: compartment.KindPowerPanic, result: "unknown"},
			{source: "leavesNow()", kind: compartment.KindPowerPanic, result: "unknown"},
			{source: "await never()", kind: compartment.KindTime, result: "unknown"},
			{source: "never(); 1", kind: compartment.KindTime, result: "unknown"},
			{source: "neverNow()", kind: compartment.KindTime, result: "unknown"},
			{source: "try { neverNow() } catch (e) { 1 } finally { globalThis.seen = 1 }", kind: compartment.KindTime, result: "unknown"},
			{source: "await late()", kind: compartment.KindTime, comesBack: true},
			{source: "lateNow()", kind: compartment.KindTime, comesBack: true},
			{source: "await panicsLate()", kind: compartment.KindTime, comesBack: true},
		} {
			t.Run(c.source, func(t *testing.T) {
				begun := time.Now()
				o := evaluate(t, e, c.source, config)
				require.Less(t, time.Since(begun), shortTime+tolerance+time.Second)
				require.Equal(t, c.kind, o.Kind, "%+v", o.Value)
				require.Len(t, append(o.Effects.Done, o.Effects.Unknown...), 1)
				if c.result != "" {
					require.Equal(t, c.result, append(o.Effects.Done, o.Effects.Unknown...)[0].Result)
				}
				require.Empty(t, (&stage{engine: e}).sound(attack{Code: c.source}, compartment.Outcome{Value: o.Value, Where: o.Where, Next: o.Next}, 0))
				if c.comesBack {
					<-returned
				}
				require.Equal(t, "2", string(evaluate(t, e, "1 + 1", compartment.Config{}).Data))
			})
		}
		close(release)
		// The condition runs on a goroutine of its own.
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 10*time.Second, 10*time.Millisecond)
	})
}
