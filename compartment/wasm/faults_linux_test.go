package wasm

import (
	"context"
	"fmt"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestOwnPagesAreKnown: what is remembered of the pages is what the kernel says, after evaluations that write to pages of the image, grow the memory, and
// touch nothing new.
func TestOwnPagesAreKnown(t *testing.T) {
	if !faultsAreCounted() {
		t.Skip("SKIPPED: this kernel does not count page faults, so nothing is remembered")
	}
	r := open(t, testEngine(t), compartment.Config{})
	remembered := 0
	for i := range 300 {
		source := "1 + 1"
		switch i % 10 {
		case 3:
			source = fmt.Sprintf("globalThis.k%d = new Uint8Array(%d).fill(1); 1", i, 5000+i)
		case 7:
			source = fmt.Sprintf("globalThis.list%d = Array.from({ length: 200 }, (_, i) => ({ i })); 1", i)
		}
		o, err := r.Evaluate(context.Background(), source)
		require.NoError(t, err)
		require.Equal(t, compartment.StatusOK, o.Status, "%+v", o)
		m := r.(*room).in.mem.(*mappedMemory)
		if _, known := m.own.known(m.own.faults()); known {
			remembered++
		}
		got := m.changed(nil)
		want, exact := m.ask(nil)
		require.True(t, exact)
		require.Equal(t, want, got, "after evaluation %d", i)
	}
	t.Logf("remembered %d times of 300", remembered)
	require.Greater(t, remembered, 3, "it is never remembered") // a runtime that looks for races has page faults of its own
}

// TestOwnPagesNoticeWrites: each first write to a page is noticed, of the image and behind it, and laying an image over the memory forgets.
func TestOwnPagesNoticeWrites(t *testing.T) {
	e := testEngine(t)
	base, err := e.base(compartment.RefuseCode)
	require.NoError(t, err)
	in, err := e.restore(base, defaultMemory)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.close()) }()
	require.NoError(t, in.growTo(base.image.size()+16*pageSize))
	m := in.mem.(*mappedMemory)
	was := len(m.changed(nil))
	for i := 0; i < len(m.bytes())/smallPage; i += 7 {
		m.bytes()[i*smallPage]++
		require.Contains(t, m.changed(nil), uint32(i))
	}
	require.Greater(t, len(m.changed(nil)), was)
	require.NoError(t, m.overlay(base.image))
	require.LessOrEqual(t, len(m.changed(nil)), was)
}
