package corpus

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestAttacks runs every attack on every engine. The engine in WebAssembly passes all; what goja does not pass is in gojaExceptions, each with its
// reason, and a line of which that is no longer true must be taken off (R252, R253, R254, R255).
func TestAttacks(t *testing.T) {
	all, err := readAttacks()
	require.NoError(t, err)
	require.Len(t, all, 211, "the corpus is whole")
	for _, engine := range engineNames {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			needEngine(t, engine)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			verdicts, err := runAll(ctx, engine, all)
			require.NoError(t, err)
			require.Len(t, verdicts, len(all))
			exceptions := map[string]exception{}
			if engine == "goja" {
				exceptions = exceptionsByID(t, all)
			}
			for _, a := range all {
				t.Run(a.ID, func(t *testing.T) { judge(t, verdicts[a.ID], exceptions) })
			}
		})
	}
}

// judge holds a verdict against the exceptions.
func judge(t *testing.T, v verdict, exceptions map[string]exception) {
	faults := slices.Clone(v.Wrong)
	if v.Died != "" {
		faults = append(faults, "the process died: "+v.Died)
	}
	e, excepted := exceptions[v.ID]
	switch {
	case excepted && len(faults) == 0 && !e.flaky:
		require.Fail(t, "passes now: take it off the list of exceptions", e.why)
	case raceFactor > 1 && v.Word == string(compartment.StatusEngineLost) && len(exceptions) > 0:
		t.Logf("under the race detector goja is too slow to answer every stop in time: %q", faults)
	case excepted:
		t.Logf("excepted (%s): %s %q", e.why, v.Word, faults)
	default:
		require.Empty(t, faults, fmt.Sprintf("%s %s", v.Word, v.Kind))
	}
}

// exceptionsByID is the table by id. Every row must be about an attack that there is, with a reason.
func exceptionsByID(t *testing.T, all []attack) map[string]exception {
	out := map[string]exception{}
	for _, e := range gojaExceptions {
		require.NotEmpty(t, e.why, e.id)
		require.NotContains(t, out, e.id, "twice")
		require.True(t, slices.ContainsFunc(all, func(a attack) bool { return a.ID == e.id }), e.id)
		out[e.id] = e
	}
	return out
}
