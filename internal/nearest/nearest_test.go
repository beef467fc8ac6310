package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOf: what was probably meant is found, and what is far from everything is not.
func TestOf(t *testing.T) {
	known := []string{"path", "max_depth", "limit"}
	for _, c := range []struct{ unknown, want string }{
		{"path", "path"}, {"Path", "path"}, {"pth", "path"}, {"maxDepth", "max_depth"}, {"max-depth", "max_depth"},
		{"limits", "limit"}, {"recursive", ""}, {"", ""}, {strings.Repeat("p", 65), ""},
	} {
		require.Equal(t, c.want, Of(c.unknown, known), c.unknown)
	}
	require.Empty(t, Of("path", nil))
}

// TestDistance counts changes of single bytes.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"abc", "abc", 0}} {
		require.Equal(t, c.want, distance(c.a, c.b))
	}
}
