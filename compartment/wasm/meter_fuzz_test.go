package wasm

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"sallyport/compartment/wasm/guest"
	"sallyport/compartment/wasm/internal/meter"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
)

var meterOptions = meter.Options{ImportModule: tickModule, ImportName: tickName, Quantum: 1000}

// smallModules are modules with what the instrumenter has to find its way through.
var smallModules = map[string]string{
	"no code":    "\x00asm\x01\x00\x00\x00",
	"a loop":     "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x0a\x09\x01\x07\x00\x03\x40\x0b\x41\x07\x0b",
	"two loops":  "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x0a\x0c\x01\x0a\x00\x03\x40\x03\x40\x0b\x0b\x41\x07\x0b",
	"a table":    "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x04\x04\x01\x70\x00\x01\x09\x07\x01\x00\x41\x00\x0b\x01\x01\x0a\x0e\x01\x0c\x00\x03\x40\x0c\x00\x0b\x41\x00\x11\x00\x00\x0b",
	"a global":   "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x06\x06\x01\x7f\x01\x41\x02\x0b\x0a\x0b\x01\x09\x00\x41\x01\x24\x00\x41\x00\x0f\x0b",
	"memory":     "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x05\x03\x01\x00\x01\x0a\x12\x01\x10\x00\x41\x00\x41\x00\x41\x01\xfc\x0b\x00\x41\x00\x28\x02\x00\x0b",
	"recursion":  "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x0a\x06\x01\x04\x00\x10\x01\x0b",
	"a block":    "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x0a\x11\x01\x0f\x00\x02\x7f\x41\x01\x04\x7f\x41\x02\x05\x41\x03\x0b\x0b\x0b",
	"a far jump": "\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x02\x16\x01\x03env\x0ehost_interrupt\x00\x00\x03\x02\x01\x00\x0a\x12\x01\x10\x00\x03\x40\x02\x40\x41\x01\x0e\x01\x00\x01\x0b\x0b\x41\x00\x0b",
}

// isModule tells whether wazero takes a module.
func isModule(b []byte) bool {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(16))
	defer rt.Close(ctx)
	_, err := rt.CompileModule(ctx, b)
	return err == nil
}

// FuzzMeteredModules: whatever the bytes, the instrumenter does not panic; and of what was a module it makes a module, or says why not.
func FuzzMeteredModules(f *testing.F) {
	for name, m := range smallModules {
		if !isModule([]byte(m)) {
			f.Fatalf("%s is no module", name)
		}
		if _, _, err := meter.Add([]byte(m), meterOptions); err != nil && name != "no code" {
			f.Fatalf("%s: %v", name, err)
		}
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		out, _, err := meter.Add(b, meterOptions)
		if err == nil && isModule(b) {
			require.True(t, isModule(out), "a module became none: %x", out)
		}
	})
}

// FuzzMutatedGuest changes bytes of the guest itself: the instrumenter does not panic, and is done within a moment. Each edit is four bytes of place and
// one of what is put there.
func FuzzMutatedGuest(f *testing.F) {
	module, _, err := guest.Find("")
	if err != nil {
		needGuest(f)
	}
	f.Add([]byte{})
	f.Add([]byte{8, 0, 0, 0, 0xff})
	f.Add([]byte{9, 0, 0, 0, 0xff, 10, 0, 0, 0, 0xff, 11, 0, 0, 0, 0xff, 12, 0, 0, 0, 0x7f})
	f.Add([]byte{0, 16, 0, 0, 0x0b, 0, 32, 0, 0, 0x03, 0, 64, 0, 0, 0xfc, 0, 128, 0, 0, 0x0e})
	f.Fuzz(func(t *testing.T, edits []byte) {
		b := append([]byte(nil), module...)
		for len(edits) >= 5 {
			b[binary.LittleEndian.Uint32(edits)%uint32(len(b))] = edits[4]
			edits = edits[5:]
		}
		begun := time.Now()
		out, _, err := meter.Add(b, meterOptions)
		require.Less(t, time.Since(begun), 5*time.Second)
		if err == nil {
			require.Less(t, len(out), 2*len(b))
		}
	})
}
