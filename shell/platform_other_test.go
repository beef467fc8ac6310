//go:build !linux

package shell_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// TestOpenRefusesHere: this comes before any other check, also of a policy and options that could never work, and of a
// context that is over (R23, R59).
func TestOpenRefusesHere(t *testing.T) {
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	bad := policy.Policy{Filesystem: policy.Filesystem{AllowRead: policy.Paths("relative")}}
	for _, ctx := range []context.Context{t.Context(), dead} {
		for _, p := range []policy.Policy{{}, bad} {
			_, err := shell.Open(ctx, p, shell.Options{Helper: "relative"})
			var e *shell.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, shell.CodeUnsupportedEnv, e.Code)
			require.Contains(t, e.Error(), runtime.GOOS)
			require.NotEmpty(t, e.Hints)
			if runtime.GOOS == "windows" {
				require.Contains(t, strings.Join(e.Hints, "\n"), "WSL2")
			}
		}
	}
}

// TestManagerRefusesHere: so does a manager, whether a fallback is allowed or not (R23, R59, R88).
func TestManagerRefusesHere(t *testing.T) {
	for _, fallback := range []bool{false, true} {
		_, err := shell.NewManager(shell.ManagerOptions{}).Open(t.Context(), shell.SessionOptions{AllowUnsandboxedFallback: fallback, ProbeSpawn: true})
		require.Equal(t, shell.CodeUnsupportedEnv, shell.CodeOf(err), "%v", err)
	}
}

// TestCompileExplainsHere: a policy can be explained on every platform.
func TestCompileExplainsHere(t *testing.T) {
	rules, err := shell.Compile(policy.Policy{})
	require.NoError(t, err)
	require.False(t, rules.Connect("example.com", 443).Allowed)
}
