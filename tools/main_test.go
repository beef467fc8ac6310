package tools

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a goroutine is left after all tests: of a hung gate, of a client that went away, of anything.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
