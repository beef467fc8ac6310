package compartment_test

import (
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestDynamicCodeIsChecked: a value that is none of the constants is refused, and the zero value is the one that refuses.
func TestDynamicCodeIsChecked(t *testing.T) {
	require.Zero(t, compartment.RefuseCode)
	eachEngine(t, func(t *testing.T, e compartment.Engine) {
		_, err := e.Open(t.Context(), compartment.Config{DynamicCode: 2})
		require.ErrorIs(t, err, compartment.ErrConfig)
		require.EqualError(t, err, "dynamic_code: DynamicCode(2) is not allowed, want RefuseCode or OwnGlobal")
		for code := range compartment.OwnGlobal + 1 {
			c, err := e.Open(t.Context(), compartment.Config{DynamicCode: code})
			require.NoError(t, err, code)
			require.NoError(t, c.Close())
		}
	})
}
