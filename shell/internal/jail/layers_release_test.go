//go:build !sallyport_layers

package jail

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReleaseKnowsTheFullSetOnly: a release build starts a jail with every layer or none starts, whatever plan it is
// handed.
func TestReleaseKnowsTheFullSetOnly(t *testing.T) {
	require.True(t, Allowed(AllLayers))
	for l := range AllLayers {
		require.False(t, Allowed(l), "%b", l)
	}
	require.False(t, Allowed(AllLayers<<1|1))
	require.False(t, Allowed(AllLayers+1))
}
