package compartment_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain: no test leaves a goroutine behind, and neither does the engine that they share.
func TestMain(m *testing.M) {
	code := m.Run()
	if sharedWasm != nil {
		if err := sharedWasm.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the engine:", err)
			code = max(code, 1)
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
