package hostfuncs

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
)

// at is what a clock says.
func at(t *testing.T, p compartment.Power) int64 {
	t.Helper()
	v, err := p.Do(t.Context(), &compartment.Call{Power: p.Name})
	require.NoError(t, err)
	ms, ok := v.AsNumber()
	require.True(t, ok)
	return int64(ms)
}

// TestClockRounds: down to the resolution, and never finer than a millisecond (R254).
func TestClockRounds(t *testing.T) {
	var now time.Time
	for _, c := range []struct {
		resolution time.Duration
		now        time.Time
		want       int64
	}{
		{0, time.UnixMilli(1_700_000_000_199), 1_700_000_000_100},
		{-1, time.UnixMilli(1_700_000_000_199), 1_700_000_000_100},
		{time.Second, time.UnixMilli(1_700_000_000_999), 1_700_000_000_000},
		{time.Nanosecond, time.Unix(1_700_000_000, 1_999_999), 1_700_000_000_001},
		{0, time.UnixMilli(-5), 0},
		{0, time.Time{}, 0},
	} {
		now = c.now
		require.Equal(t, c.want, at(t, clock(c.resolution, func() time.Time { return now })), c.now)
	}
}

// TestClockIsMonotone: when the host's clock is set back, ours stands still, and goes on when it is caught up.
func TestClockIsMonotone(t *testing.T) {
	now := time.UnixMilli(10_000)
	p := clock(0, func() time.Time { return now })
	require.Equal(t, int64(10_000), at(t, p))
	now = now.Add(-time.Hour)
	require.Equal(t, int64(10_000), at(t, p))
	now = time.UnixMilli(10_350)
	require.Equal(t, int64(10_300), at(t, p))
}

// TestClockRaise: of many at once, the latest stays.
func TestClockRaise(t *testing.T) {
	p := clock(time.Millisecond, time.Now)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			last := int64(0)
			for range 1000 {
				v, err := p.Do(t.Context(), nil)
				if ms, _ := v.AsNumber(); err != nil || int64(ms) < last {
					t.Errorf("%v, after %d: %v", ms, last, err)
				} else {
					last = int64(ms)
				}
			}
		})
	}
	all.Wait()
}
