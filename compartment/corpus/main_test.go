package corpus

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"sallyport/compartment/wasm/guest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if engine := os.Getenv(childEngine); engine != "" {
		os.Exit(childMain(engine))
	}
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// required tells whether a test that cannot run is a failure.
func mustRun() bool { return os.Getenv("SALLYPORT_LIVE") == "require" }

// skip leaves a test out aloud, or fails it where nothing may be left out.
func skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if mustRun() {
		require.Fail(t, fmt.Sprintf(format, args...))
	}
	t.Skipf("SKIPPED: "+format, args...)
}

// needEngine leaves a test out when its engine cannot be had.
func needEngine(t testing.TB, name string) {
	t.Helper()
	if _, _, err := guest.Find(""); name == "wasm" && err != nil {
		if !errors.Is(err, guest.ErrAbsent) {
			require.NoError(t, err)
		}
		skip(t, "the guest is not here; bring it: %s", guest.Commands[0])
	}
}
