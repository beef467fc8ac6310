package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goTool runs the go command in the module's root for one platform.
func goTool(t *testing.T, goos, goarch string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String(), err
	}
	return string(out), nil
}

// TestLinkedModules lists what a program gets that imports one of our rooms, exactly: no daemon's client, no flag
// library, no test library (R3, R12).
func TestLinkedModules(t *testing.T) {
	for _, r := range rooms {
		want, ok := linked[r.Dir]
		if !ok {
			continue
		}
		t.Run(r.Dir, func(t *testing.T) {
			out, err := goTool(t, "linux", "amd64", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+r.Dir)
			require.NoError(t, err, out)
			got := strings.Fields(out)
			slices.Sort(got)
			got = slices.DeleteFunc(slices.Compact(got), func(m string) bool { return m == module })
			require.ElementsMatch(t, want, got)
		})
	}
}

// TestBoundariesIndependent: neither boundary links the other, on any platform (R1, R7).
func TestBoundariesIndependent(t *testing.T) {
	apart := []struct{ from, never string }{
		{"./shell", module + "/compartment"},
		{"./compartment/...", module + "/shell"},
		{"./evaljs", module + "/shell"},
		{"./hostfuncs", module + "/shell"},
		{"./gate", module + "/shell"},
		{"./gate", module + "/compartment"},
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, a := range apart {
			out, err := goTool(t, goos, "amd64", "list", "-deps", a.from)
			require.NoError(t, err, out)
			require.Contains(t, out, module+"/", "nothing was listed for %s", a.from)
			for _, p := range strings.Fields(out) {
				require.False(t, matches(a.never+"/...", p), "%s links %s on %s", a.from, p, goos)
			}
		}
	}
}

// TestDirectRequirements compares go.mod with the table of modules, both ways.
func TestDirectRequirements(t *testing.T) {
	out, err := goTool(t, "linux", "amd64", "mod", "edit", "-json")
	require.NoError(t, err, out)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	require.NoError(t, json.Unmarshal([]byte(out), &mod))
	require.Empty(t, mod.Replace, "a replaced module works in this checkout only")
	direct := map[string]bool{}
	for _, r := range mod.Require {
		if !r.Indirect {
			direct[r.Path] = true
			require.Contains(t, modules, r.Path, "go.mod requires a module without a reason in the table")
		}
	}
	for m, why := range modules {
		require.NotEmpty(t, why, m)
		require.True(t, direct[m], "%s is in the table but go.mod does not require it", m)
	}
}

// TestBrowserBuildRefused: there is no build of the process boundary for a browser, and the compiler says why (R300,
// R316).
func TestBrowserBuildRefused(t *testing.T) {
	out, err := goTool(t, "js", "wasm", "build", "-o", os.DevNull, "./shell")
	require.Error(t, err, "shell was built for a browser")
	require.Contains(t, strings.ToLower(out), "browser", "the build must fail by our message, not by accident")
}
