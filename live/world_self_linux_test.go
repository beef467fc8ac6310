package live

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The open arm of every test in a world: unconfined, a client reaches each of its servers by name, and what it reached
// is seen. Nothing that a command in a jail does not reach is kept away by the world.
func TestWorldIsReachable(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, c := range []struct{ url, hit string }{
			{"http://api.example.test/", "api.example.test at 93.184.216.34:80"},
			{"https://evil.test/", "https evil.test at 93.184.217.1:443"},
			{"http://203.0.113.9/", "203.0.113.9 at 203.0.113.9:80"},
			{"http://[2606:4700::1]/", "[2606:4700::1] at [2606:4700::1]:80"},
		} {
			cmd := exec.Command("curl", "-sS", "--max-time", "10", c.url)
			cmd.Env = append(os.Environ(), w.environment()...)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "welcome to")
			require.Equal(t, []string{c.hit}, reached(w.seen(), "http"))
		}
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		if os.Getuid() != 0 {
			require.Contains(t, string(status), "CapEff:\t0000000000000000", "the tests in a world have no rights of their own")
		}
		require.False(t, strings.Contains(string(status), "CapAmb:\t0000000000003"), "%s", status)
	})
}
