package shell_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOtherPlatforms: the package and its tests compile where it refuses to open anything, so that programs for several
// platforms can import it; for a browser it does not compile, and the compiler says why (R23, R300, R312, R316).
func TestOtherPlatforms(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("SKIPPED, so nothing is shown: no go command: %v", err)
	}
	for _, tc := range []struct {
		os, arch, says string
		args           []string
	}{
		{"darwin", "arm64", "", []string{"vet"}},
		{"windows", "amd64", "", []string{"vet"}},
		{"linux", "arm64", "", []string{"vet"}},
		{"js", "wasm", "browser", []string{"build", "-o", os.DevNull}},
	} {
		t.Run(tc.os+"/"+tc.arch, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", append(tc.args, ".")...)
			cmd.Env = append(os.Environ(), "GOOS="+tc.os, "GOARCH="+tc.arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
			out, err := cmd.CombinedOutput()
			if tc.says == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			require.Error(t, err)
			require.Contains(t, strings.ToLower(string(out)), tc.says)
		})
	}
}
