package hostfuncs

import (
	"context"
	"time"

	"sallyport/compartment"
)

// sleepLongest is the longest sleep unless the host says otherwise: half of what one call may take.
const sleepLongest = 5 * time.Second

// sleepsAtOnce leaves room for the other powers: a call that sleeps takes one of the places for calls that run (8 unless
// the limits say otherwise).
const sleepsAtOnce = 4

// Timers is the power sleep(ms): a promise that is kept after so many milliseconds, which is what setTimeout would be
// here: sleep(10).then(f). One call sleeps for at most longest; 0 stands for 5 s. A sleep longer than the limit of the
// compartment for one call (10 s) ends as a call that took too long. Four sleep at one time, and more begin when one
// of them ends.
//
// A program cannot outstay its own time with it: sleeping counts, and the end of the evaluation ends the sleep. It does
// tell a program that some time has gone by. It is not gated by itself: see Gated.
func Timers(longest time.Duration) compartment.Power {
	if longest <= 0 {
		longest = sleepLongest
	}
	return compartment.Power{
		Name:       "sleep",
		Summary:    "Waits for so many milliseconds, at most " + longest.String() + ".",
		TypeScript: "sleep(ms: number): Promise<void>",
		Params: []compartment.Param{{Name: "ms", Types: []compartment.Type{compartment.TypeNumber},
			Min: 0, Max: float64(longest) / float64(time.Millisecond)}},
		Returns:  compartment.Param{Types: []compartment.Type{compartment.TypeUndefined}},
		Limits:   compartment.PowerLimits{AtOnce: sleepsAtOnce},
		OnCancel: compartment.CancelDiscards, // nothing happens, and it ends at once
		Do: func(ctx context.Context, c *compartment.Call) (compartment.Value, error) {
			ms, _ := c.Arg(0).AsNumber()
			t := time.NewTimer(time.Duration(ms * float64(time.Millisecond)))
			defer t.Stop()
			select {
			case <-t.C:
				return compartment.Value{}, nil
			case <-ctx.Done():
				return compartment.Value{}, context.Cause(ctx)
			}
		},
	}
}
