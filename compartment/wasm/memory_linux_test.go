package wasm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithoutPagemap: where the kernel does not tell what changed, everything counts as changed.
func TestWithoutPagemap(t *testing.T) {
	m, err := (&mappedSystem{}).newMemory(4*pageSize, func() bool { return false })
	require.NoError(t, err)
	defer m.release()
	m.Reallocate(pageSize)
	require.Len(t, m.changed(nil), pageSize/smallPage)
}
