package hostfuncs

import (
	"context"
	"sync/atomic"
	"time"

	"sallyport/compartment"
)

// clockResolution is how coarse the clock is unless the host says otherwise: good enough for dates and time stamps, and
// far too coarse to time what runs beside the guest.
const clockResolution = 100 * time.Millisecond

// Clock is the power clock(): milliseconds since 1970, for new Date(await clock()). The time is rounded down to a multiple
// of resolution; 0 stands for 100 ms, and anything finer than a millisecond for one. It never goes back, in any
// compartment that has this power, also when the clock of the host is set back: it then stands still until the host has
// caught up. Before 1970 it is 0.
//
// The Date of the language stays without a clock. It is not gated by itself: see Gated.
func Clock(resolution time.Duration) compartment.Power { return clock(resolution, time.Now) }

// clock is Clock on any clock of a host.
func clock(resolution time.Duration, now func() time.Time) compartment.Power {
	step := max(resolution, time.Millisecond).Milliseconds()
	if resolution <= 0 {
		step = clockResolution.Milliseconds()
	}
	var latest atomic.Int64
	return compartment.Power{
		Name:       "clock",
		Summary:    "Gives the time in milliseconds since 1970, rounded down; it never goes back.",
		TypeScript: "clock(): Promise<number>",
		Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeNumber}, Integer: true},
		OnCancel:   compartment.CancelDiscards, // it changes nothing
		Do: func(context.Context, *compartment.Call) (compartment.Value, error) {
			ms := now().UnixMilli()
			return compartment.OfInt(raise(&latest, ms-ms%step)), nil
		},
	}
}

// raise makes latest at least ms and gives what it is then.
func raise(latest *atomic.Int64, ms int64) int64 {
	for {
		old := latest.Load()
		if old >= ms {
			return old
		}
		if latest.CompareAndSwap(old, ms) {
			return ms
		}
	}
}
