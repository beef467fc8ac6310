package hostfuncs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sallyport/compartment"
	"sallyport/compartment/goja"
	"sallyport/compartment/wasm"
	"sallyport/compartment/wasm/guest"
)

// codeDir keeps compiled code for one run of the tests.
var codeDir string

func TestMain(m *testing.M) {
	var err error
	if codeDir, err = os.MkdirTemp("", "sallyport-code-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if wasmMade {
		if e, err := wasmEngine(); err == nil {
			e.Close()
		}
	}
	if err := errors.Join(os.RemoveAll(codeDir), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

var wasmMade bool

// wasmEngine is the engine in WebAssembly, made once.
var wasmEngine = sync.OnceValues(func() (*wasm.Engine, error) {
	wasmMade = true
	return wasm.New(context.Background(), wasm.Options{CacheDir: codeDir})
})

// onEngines runs a test on both engines. Where there is no guest, the one in WebAssembly is skipped aloud, and is a
// failure under SALLYPORT_LIVE=require.
func onEngines(t *testing.T, test func(t *testing.T, e compartment.Engine)) {
	t.Helper()
	t.Run("goja", func(t *testing.T) { test(t, goja.NewWithoutMemoryLimit()) })
	t.Run("wasm", func(t *testing.T) {
		e, err := wasmEngine()
		if errors.Is(err, guest.ErrAbsent) && os.Getenv("SALLYPORT_LIVE") != "require" {
			t.Skipf("SKIPPED: %v; bring it: %s", err, guest.Commands[0])
		}
		require.NoError(t, err)
		test(t, e)
	})
}

// open makes a compartment with these powers.
func open(t *testing.T, e compartment.Engine, limits compartment.Limits, powers ...compartment.Power) compartment.Compartment {
	t.Helper()
	if limits.Time == 0 {
		limits.Time = 10 * time.Second
	}
	c, err := e.Open(t.Context(), compartment.Config{Powers: powers, Limits: limits})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// run evaluates one program.
func run(t *testing.T, c compartment.Compartment, source string) compartment.Outcome {
	t.Helper()
	o, err := c.Evaluate(t.Context(), source)
	require.NoError(t, err)
	return o
}

// data is the JSON of a program that comes to a value.
func data(t *testing.T, c compartment.Compartment, source string) string {
	t.Helper()
	o := run(t, c, source)
	require.Equal(t, compartment.StatusOK, o.Status, "%s: %v %v", source, o.Value.Text, o.Cause)
	return string(o.Data)
}

// refused is the code and the text that a program reads when its call is refused.
func refused(t *testing.T, c compartment.Compartment, source string) (code, text string) {
	t.Helper()
	o := run(t, c, source)
	require.Equal(t, compartment.StatusRefused, o.Status, "%s: %v %v", source, o.Value.Text, o.Cause)
	return o.Value.Exception.Code, o.Value.Exception.Message
}
