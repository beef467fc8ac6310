package corpus

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/big"
	"testing"
	"time"
	"unicode/utf8"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// maker makes values out of bytes: each byte says what comes next.
type maker struct {
	b     []byte
	nodes int
}

func (m *maker) next() byte {
	if len(m.b) == 0 {
		return 0
	}
	c := m.b[0]
	m.b = m.b[1:]
	return c
}

func (m *maker) take(n int) []byte {
	n = min(n, len(m.b))
	out := m.b[:n]
	m.b = m.b[n:]
	return out
}

// text is a text of the fuzzer's bytes, which crosses exactly: what is not UTF-8 is taken out.
func (m *maker) text() string {
	return string(bytes.ToValidUTF8(m.take(int(m.next()%40)), nil))
}

func (m *maker) value(depth int) compartment.Value {
	m.nodes++
	kind := m.next() % 10
	if depth > 20 || m.nodes > 2000 {
		kind %= 7
	}
	switch kind {
	case 0:
		return compartment.OfNull()
	case 1:
		return compartment.OfBool(m.next()%2 == 0)
	case 2:
		var b [8]byte
		copy(b[:], m.take(8))
		return compartment.OfNumber(math.Float64frombits(binary.LittleEndian.Uint64(b[:])))
	case 3:
		return compartment.OfString(m.text())
	case 4:
		n := new(big.Int).SetBytes(m.take(int(m.next() % 40)))
		if m.next()%2 == 0 {
			n.Neg(n)
		}
		return compartment.OfBigInt(n)
	case 5:
		return compartment.OfBytes(m.take(int(m.next() % 40)))
	case 6:
		return compartment.OfDate(float64(int64(m.next())*1e12) - 1e14)
	}
	var items []compartment.Value
	var fields []compartment.Field
	for range m.next() % 6 {
		if kind == 7 {
			items = append(items, m.value(depth+1))
		} else {
			fields = append(fields, compartment.Field{Name: m.text(), Value: m.value(depth + 1)})
		}
	}
	if kind == 7 {
		return compartment.OfArray(items...)
	}
	return compartment.OfObject(fields...)
}

// same tells whether two values are the same in every part: NaN is NaN, and -0 is not 0.
func same(a, b compartment.Value) bool {
	if a.Type() != b.Type() || a.Len() != b.Len() || a.Omitted() != b.Omitted() || a.Lossy() != b.Lossy() {
		return false
	}
	x, _ := a.AsNumber()
	y, _ := b.AsNumber()
	if math.Float64bits(x) != math.Float64bits(y) && !(math.IsNaN(x) && math.IsNaN(y)) {
		return false
	}
	if a.Len() == 0 {
		return a.Text(1<<16) == b.Text(1<<16)
	}
	for i := range a.Len() {
		other := b.Item(i)
		if a.Type() == compartment.TypeObject {
			other, _ = b.Get(a.Key(i)) // the language orders keys that are numbers
		}
		if !same(a.Item(i), other) {
			return false
		}
	}
	return true
}

// FuzzValues: a value of the host goes into the guest as a result and comes back as an argument, and as the result of the evaluation, the same in every
// part, on every engine. Nothing of it can change the realm.
func FuzzValues(f *testing.F) {
	f.Add([]byte{7, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0x80, 2, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 1, 1, 3, 2, 'a', 0, 4, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0})
	f.Add([]byte{8, 3, 9, '_', '_', 'p', 'r', 'o', 't', 'o', '_', '_', 8, 1, 1, 'a', 0, 4, 't', 'h', 'e', 'n', 5, 3, 1, 2, 3, 6, 'l', 'e', 'n', 'g', 't', 'h', 6, 100})
	f.Add([]byte{8, 3, 1, '1', 0, 1, '0', 1, 0, 0, 3, 4, 0xe2, 0x80, 0xa8, 'x'})
	f.Add(bytes.Repeat([]byte{7, 1}, 40))
	var given, got compartment.Value
	config := compartment.Config{Powers: []compartment.Power{
		{Name: "give", Sync: true, OnCancel: compartment.CancelDiscards,
			Do: func(context.Context, *compartment.Call) (compartment.Value, error) { return given, nil }},
		{Name: "take", Sync: true, OnCancel: compartment.CancelDiscards, Params: []compartment.Param{{Name: "v"}},
			Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
				got = c.Arg(0)
				return compartment.Value{}, nil
			}}}}
	rooms := fuzzRooms(f, config)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		given = (&maker{b: b}).value(0)
		for name, room := range rooms {
			got = compartment.Value{}
			o, err := room.Evaluate(context.Background(), "{ const v = give(); take(v); v }")
			require.NoError(t, err)
			require.Equal(t, compartment.StatusOK, o.Status, "%s: %s %+v", name, o.Kind, o.Value)
			require.True(t, same(given, got), "%s: %s came back as %s", name, given.Text(2000), got.Text(2000))
			want, exact := given.JSON()
			require.Equal(t, !exact, o.Value.Partial)
			require.Equal(t, len(want), len(o.Data), "%s: %s and %s", name, want, o.Data)
			clean, err := room.Evaluate(context.Background(), "[({}).a, ({}).then, [].length, Object.keys(Object.prototype).length]")
			require.NoError(t, err)
			require.Equal(t, "[undefined, undefined, 0, 0]", clean.Value.Text)
		}
	})
}

// FuzzSource: whatever the source, the engine in WebAssembly is not lost, ends in time, and says nothing but text of the guest.
func FuzzSource(f *testing.F) {
	for _, s := range []string{"1", "let x = ;", "`${`${1}`}`", "throw { toString() { for (;;); } }", "class A { #a; static { } }", "async function* f() { for await (x of y) yield* z }",
		"/(?<a>b)\\k<a>/v", "\u2028//\u2029x", "await import('x')", "label: for (;;) continue label", "new Proxy({}, { get() { throw 1 } }).x"} {
		f.Add(s)
	}
	if all, err := readAttacks(); err == nil {
		for _, a := range all {
			f.Add(a.Code)
		}
	}
	needEngine(f, "wasm")
	e, closeEngine, err := makeEngine("wasm")
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, closeEngine()) })
	s := &stage{engine: e}
	f.Fuzz(func(t *testing.T, source string) {
		if !utf8.ValidString(source) || len(source) > 1<<16 {
			return
		}
		limit := 50 * time.Millisecond
		config := compartment.Config{Limits: compartment.Limits{Time: limit, MemoryBytes: memoryCap}}
		begun := time.Now()
		o := evaluate(t, e, source, config)
		require.Less(t, time.Since(begun), limit+tolerance+time.Second)
		require.NotEqual(t, compartment.StatusEngineLost, o.Status, "%v", o.Cause)
		require.NotEqual(t, compartment.StatusHostFailure, o.Status)
		require.Empty(t, s.sound(attack{Code: source}, o, 0))
	})
}

// fuzzRooms opens one compartment on each engine.
func fuzzRooms(f *testing.F, config compartment.Config) map[string]compartment.Compartment {
	rooms := map[string]compartment.Compartment{}
	for _, name := range engineNames {
		needEngine(f, name)
		e, closeEngine, err := makeEngine(name)
		require.NoError(f, err)
		room, err := e.Open(context.Background(), config)
		require.NoError(f, err)
		f.Cleanup(func() {
			require.NoError(f, room.Close())
			require.NoError(f, closeEngine())
		})
		rooms[name] = room
	}
	return rooms
}
