package compartment_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain: no test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
