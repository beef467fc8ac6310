package compartment

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGuestLimits: the zero limits are the defaults; each field is refused below its floor and above its bound, by
// name, value and bound (R258, R22).
func TestGuestLimits(t *testing.T) {
	standard, err := Limits{}.Resolve()
	require.NoError(t, err)
	require.Equal(t, Limits{Time: 30 * time.Second, StackDepth: 1000, SourceBytes: 256 << 10, HostCalls: 1000, ConcurrentCalls: 8,
		CallTime: 10 * time.Second, CallBytes: 1_000_000, OutputBytes: 10_000_000, ValueDepth: 32, ValueNodes: 10_000,
		ConsoleEntries: 1000, ConsoleEntryBytes: 8192}, standard)

	for _, row := range limitTable {
		t.Run(row.name, func(t *testing.T) {
			require.NotEmpty(t, row.why)
			for _, v := range []int64{row.least, row.most} {
				var l Limits
				row.set(&l, v)
				got, err := l.Resolve()
				require.NoError(t, err)
				require.Equal(t, v, row.get(&got))
			}
			for _, v := range []int64{row.least - 1, row.most + 1, -1, -1 << 40} {
				if v == 0 {
					continue // nothing said: the default
				}
				var l Limits
				row.set(&l, v)
				_, err := l.Resolve()
				require.ErrorIs(t, err, ErrConfig)
				var typed *Error
				require.ErrorAs(t, err, &typed)
				require.Equal(t, row.name, typed.Field)
				for _, part := range []string{row.name, row.text(v), row.text(row.least), row.text(row.most)} {
					require.Contains(t, err.Error(), part)
				}
			}
		})
	}
}

// TestFloors pins the floors the reference gives.
func TestFloors(t *testing.T) {
	for _, bad := range []Limits{{ConsoleEntryBytes: 31}, {ValueDepth: 3}, {ValueNodes: 15}, {CallBytes: 4095}, {OutputBytes: 4095}} {
		_, err := bad.Resolve()
		require.ErrorIs(t, err, ErrConfig)
	}
	_, err := Limits{ConsoleEntryBytes: 32, ValueDepth: 4, ValueNodes: 16, CallBytes: 4096, OutputBytes: 4096, HostCalls: 1, ConcurrentCalls: 1, ConsoleEntries: 1}.Resolve()
	require.NoError(t, err)
	_, err = Limits{ConsoleEntryBytes: 31}.Resolve()
	require.EqualError(t, err, "limits.console_entry_bytes: 31 is not allowed, want 32 to 1048576")
}

// TestErrorFamilies: every code of this boundary begins the same way, and no other boundary's code does (R2).
func TestErrorFamilies(t *testing.T) {
	for _, c := range []Code{CodeConfig, CodeClosed, CodeLost, CodeEngine} {
		require.True(t, strings.HasPrefix(string(c), "E_CODE_"), c)
	}
}

// TestErrorIs: a sentinel matches the errors of its code and no others.
func TestErrorIs(t *testing.T) {
	err := error(&Error{Code: CodeClosed, Reason: "gone"})
	require.ErrorIs(t, err, ErrClosed)
	require.NotErrorIs(t, err, ErrConfig)
	require.NotErrorIs(t, ErrClosed, err, "a sentinel is not an error that happened")
	require.EqualError(t, &Error{Code: CodeLost}, "E_CODE_REALM_LOST")
	cause := &Error{Code: CodeEngine, Reason: "inner"}
	require.ErrorIs(t, &Error{Code: CodeConfig, Err: cause}, ErrEngine)
}
