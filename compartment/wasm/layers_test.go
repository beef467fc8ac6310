package wasm

import (
	"bytes"
	"context"
	"testing"
	"time"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// These tests show that the attacks of the others prove something: with one layer left out, they succeed.

// TestMeteringIsWhatStops runs the same long loop with metering, which stops it, and without, which does not.
func TestMeteringIsWhatStops(t *testing.T) {
	needGuest(t)
	long := "let n = 0; for (let i = 0; i < 4e7; i++) n += i; n"
	limits := compartment.Limits{Time: brief / 2}
	unmetered, err := newEngine(context.Background(), Options{CacheDir: codeDir}, newMemorySystem(), 0)
	require.NoError(t, err)
	defer unmetered.Close()

	begun := time.Now()
	o := evaluate(t, open(t, unmetered, compartment.Config{Limits: limits}), long)
	whole := time.Since(begun)
	require.Greater(t, whole, 6*limits.Time, "the loop is too short to show anything")
	require.Equal(t, compartment.KindTime, o.Kind, "it is noticed afterwards")

	begun = time.Now()
	o = evaluate(t, open(t, testEngine(t), compartment.Config{Limits: limits}), long)
	require.Less(t, time.Since(begun), whole/2)
	require.Equal(t, compartment.KindTime, o.Kind)
}

// TestHardeningIsWhatProtects runs the attacks in a realm of the engine's own.
func TestHardeningIsWhatProtects(t *testing.T) {
	in, err := testEngine(t).newInstance(setupMemory, nil)
	require.NoError(t, err)
	defer in.close()
	in.call(xInitialize)
	in.call(xInit)
	in.call(xSetStackSize, setupStack)
	in.fixed = &fixed{scratch: uint32(in.call(xMalloc, scratchSize))}
	for source, want := range map[string]string{
		"Array.prototype.push = () => 'mine'; [].push(1)":                            "mine",
		"({}).constructor.constructor('return 1 + 1')()":                             "2",
		"(0, eval)('1 + 2')":                                                         "3",
		"typeof WeakRef + typeof performance + typeof Date.now()":                    "functionobjectnumber",
		"typeof Math.random()":                                                       "number",
		"Object.setPrototypeOf(globalThis, { spied: 1 }); typeof spied":              "number",
		"Object.getPrototypeOf(async () => {}).constructor('return 1').name":         "anonymous",
		"const r = Object.freeze(/a/); try { r.compile('b') } catch (e) {} r.source": "b",
	} {
		v, err := in.script(source)
		require.NoError(t, err, source)
		require.Equal(t, want, in.text(v), source)
	}
}

// TestMemoryInTheHeap runs the same on memories that are in Go's heap, as they are on other systems than Linux.
func TestMemoryInTheHeap(t *testing.T) {
	needGuest(t)
	e, err := newEngine(context.Background(), Options{CacheDir: codeDir}, heapSystem{}, quantum)
	require.NoError(t, err)
	defer e.Close()
	r := open(t, e, compartment.Config{Limits: compartment.Limits{Time: 2 * time.Second}})
	evaluate(t, r, "let rows = [1]; const big = new Uint8Array(3 << 20).fill(1)")
	require.Equal(t, compartment.KindMemory, evaluate(t, r, "rows.push(2); for (;;) rows.push(new Uint8Array(1 << 20))").Kind)
	require.Equal(t, "[1, 3145728, 1]", evaluate(t, r, "[rows.length, big.length, big[1000000]]").Value.Text)
	for range 20 {
		c, err := e.Open(context.Background(), compartment.Config{})
		require.NoError(t, err)
		require.Equal(t, `"undefined"`, evaluate(t, c, "const was = typeof rows; globalThis.rows = 1; was").Value.Text)
		require.NoError(t, c.Close())
	}
}

// TestMemorySystems: both kinds of memory grow, refuse, become images and tell what changed, and in the same way.
func TestMemorySystems(t *testing.T) {
	for name, system := range map[string]memorySystem{"heap": heapSystem{}, "this platform's": newMemorySystem()} {
		t.Run(name, func(t *testing.T) {
			defer system.close()
			asked, grant := 0, false
			m, err := system.newMemory(8*pageSize, func() bool { asked++; return grant })
			require.NoError(t, err)
			defer m.release()
			require.Len(t, m.Reallocate(2*pageSize), 2*pageSize)
			require.Nil(t, m.Reallocate(9*pageSize))
			require.Equal(t, 1, asked)

			from := bytes.Repeat([]byte{7}, pageSize)
			img, err := system.newImage(from)
			require.NoError(t, err)
			defer img.close()
			require.Equal(t, pageSize, img.size())
			m.bytes()[pageSize+5] = 9
			require.NoError(t, m.overlay(img))
			require.Empty(t, m.changed(nil))
			require.Equal(t, from, m.bytes()[:pageSize])
			require.Zero(t, m.bytes()[pageSize+5], "what is behind the image is zero")
			require.NoError(t, m.overlay(img))

			m.Reallocate(3 * pageSize)
			m.bytes()[smallPage+1], m.bytes()[2*pageSize+smallPage] = 1, 1
			require.Equal(t, []uint32{1, 2*pageSize/smallPage + 1}, m.changed(nil))
			require.NoError(t, m.overlay(img))
			require.Empty(t, m.changed(nil), "it is as it was")
			require.Zero(t, m.bytes()[2*pageSize+smallPage])

			grant = true
			require.Len(t, m.Reallocate(9*pageSize), 9*pageSize, "the reserve")
			require.Nil(t, m.Reallocate(8*pageSize+reserve+1))
		})
	}
}
