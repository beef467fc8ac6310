package goja

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain: no test leaves a goroutine behind, but for those that show that a built-in of this engine can.
func TestMain(m *testing.M) {
	if os.Getenv("SALLYPORT_STILL_RUNNING") != "" || os.Getenv("SALLYPORT_KILLER") != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}
