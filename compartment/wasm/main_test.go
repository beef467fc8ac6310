package wasm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"sallyport/compartment"
	"sallyport/compartment/wasm/guest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// codeDir keeps compiled code for the tests of one run.
var codeDir string

func TestMain(m *testing.M) {
	flag.Parse()
	if _, _, err := guest.Find(""); errors.Is(err, guest.ErrAbsent) {
		fmt.Fprintf(os.Stderr, "\n*** THE GUEST IS NOT HERE: most tests of compartment/wasm are skipped. Bring it: %s\n\n", guest.Commands[0])
		if f := flag.Lookup("test.run"); f.Value.String() == "" && !required() {
			_ = f.Value.Set("^(Test|Fuzz)") // examples cannot skip themselves
		}
	}
	var err error
	if codeDir, err = os.MkdirTemp("", "sallyport-code-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if e := shared(); e != nil {
		e.Close()
	}
	if err := errors.Join(os.RemoveAll(codeDir), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// required tells whether a test that cannot run is a failure.
func required() bool { return os.Getenv("SALLYPORT_LIVE") == "require" }

// shared is the engine of most tests; nil when there is none.
var shared = sync.OnceValue(func() *Engine {
	e, err := New(context.Background(), Options{CacheDir: codeDir})
	if err != nil && !errors.Is(err, guest.ErrAbsent) {
		panic(err)
	}
	return e
})

// needGuest skips a test when the guest is not here.
func needGuest(t testing.TB) {
	t.Helper()
	_, _, err := guest.Find("")
	switch {
	case err == nil:
	case errors.Is(err, guest.ErrAbsent) && !required():
		t.Skipf("SKIPPED: the guest is not here; bring it: %s", guest.Commands[0])
	default:
		require.NoError(t, err)
	}
}

// testEngine is the engine that most tests share.
func testEngine(t testing.TB) *Engine {
	t.Helper()
	needGuest(t)
	return shared()
}

// newTestEngine makes an engine of the test's own.
func newTestEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	needGuest(t)
	if o.CacheDir == "" {
		o.CacheDir = codeDir
	}
	e, err := New(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// open makes a compartment.
func open(t testing.TB, e compartment.Engine, c compartment.Config) compartment.Compartment {
	t.Helper()
	r, err := e.Open(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// evaluate runs a source that the boundary must be able to run.
func evaluate(t testing.TB, c compartment.Compartment, source string) compartment.Outcome {
	t.Helper()
	o, err := c.Evaluate(context.Background(), source)
	require.NoError(t, err)
	return o
}

// once runs a source in a compartment of its own.
func once(t testing.TB, source string, c compartment.Config) compartment.Outcome {
	t.Helper()
	return evaluate(t, open(t, testEngine(t), c), source)
}

// brief is a time limit for what is going to meet it.
const brief = 100 * time.Millisecond
