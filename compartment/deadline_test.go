package compartment

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDeadlineIsTold: a power's context knows when the evaluation ends, or the caller's deadline when that is earlier, and which of the two it was is told
// apart.
func TestDeadlineIsTold(t *testing.T) {
	for _, c := range []struct {
		limit, callers, want time.Duration
		kind                 Kind
	}{
		{time.Second, 0, time.Second, KindTime},
		{time.Second, time.Minute, time.Second, KindTime},
		{time.Minute, time.Second, time.Second, KindCancelled},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, begun := t.Context(), time.Now()
			if c.callers > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.callers)
				defer cancel()
			}
			h, err := NewHost(Config{Limits: Limits{Time: c.limit, CallTime: time.Hour}})
			require.NoError(t, err)
			interrupted := 0
			e := h.Begin(ctx, "", func() { interrupted++ })
			for _, of := range []context.Context{e.ctx, context.WithValue(e.ctx, t, 1)} {
				deadline, ok := of.Deadline()
				require.True(t, ok)
				require.Equal(t, c.want, deadline.Sub(begun))
			}
			<-e.Done()
			require.Equal(t, c.want, time.Since(begun))
			synctest.Wait()
			require.Equal(t, 1, interrupted)
			kind, stopped := e.Stopped()
			require.True(t, stopped)
			require.Equal(t, c.kind, kind)
			e.Finish(Ending{Kind: kind})
		})
	}
}
