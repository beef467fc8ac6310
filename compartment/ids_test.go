package compartment

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCallNames: no two calls have the same name, within an evaluation and across them, and every name has as much chance in it as it has letters.
func TestCallNames(t *testing.T) {
	seen := map[string]bool{}
	letters := map[byte]int{}
	for range 200 {
		var n ids
		for range 50 { // more than are asked for at a time
			name := n.next()
			require.Regexp(t, "^call-[A-Z2-7]{16}$", name)
			require.False(t, seen[name])
			seen[name] = true
			for i := range 16 {
				letters[name[5+i]]++
			}
		}
	}
	require.Len(t, letters, 32)
	for l, n := range letters { // 160,000 letters, 5,000 of each: far off is not chance
		require.InDelta(t, 5000, n, 500, "%c", l)
	}
}
