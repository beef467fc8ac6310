package meter

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var tickOptions = Options{ImportModule: "env", ImportName: "host_interrupt", Quantum: 1000}

// sec makes a section.
func sec(id byte, body ...byte) []byte { return appendSection(nil, id, body) }

// str makes a name.
func str(s string) string { return string(rune(len(s))) + s }

// The parts of a small module: one type () -> i32, the import, one function of that type.
var (
	types    = sec(secType, 1, 0x60, 0, 1, 0x7f)
	imports  = sec(secImport, append(append([]byte{1}, str("env")+str("host_interrupt")...), 0, 0)...)
	function = sec(secFunction, 1, 0)
)

// code makes a code section with one function without locals.
func code(body ...byte) []byte {
	f := append([]byte{0}, body...)
	return sec(secCode, append(appendU([]byte{1}, uint32(len(f))), f...)...)
}

// module puts sections together.
func module(sections ...[]byte) []byte {
	out := []byte(header)
	for _, s := range sections {
		out = append(out, s...)
	}
	return out
}

// loopOnce is a function body with one loop that ends at once and a result.
var loopOnce = []byte{opLoop, emptyBlock, opEnd, opI32Const, 7, opEnd}

func TestAddMetersEveryLoop(t *testing.T) {
	nested := []byte{opLoop, emptyBlock, opLoop, emptyBlock, opEnd, opEnd, opI32Const, 7, opEnd}
	out, stats, err := Add(module(types, imports, function, code(nested...)), tickOptions)
	require.NoError(t, err)
	require.Equal(t, 2, stats.Loops)
	m := metering{options: tickOptions, fuel: 0, tick: 0}
	require.Equal(t, 2, strings.Count(string(out), string(m.check())))
}

// TestAddWithoutMetering: the exports are there, the code is what it was.
func TestAddWithoutMetering(t *testing.T) {
	body := code(loopOnce...)
	out, _, err := Add(module(types, imports, function, body), Options{ImportModule: "env", ImportName: "host_interrupt"})
	require.NoError(t, err)
	require.Contains(t, string(out), string(body))
	require.Contains(t, string(out), FuelGlobal)
}

// TestAddPlacesWhatIsMissing: the global and the export sections are made where they belong, also when later sections are there.
func TestAddPlacesWhatIsMissing(t *testing.T) {
	out, _, err := Add(module(types, imports, function, code(loopOnce...), sec(secCustom, 1, 'x')), tickOptions)
	require.NoError(t, err)
	sections, err := split(out)
	require.NoError(t, err)
	var ids []byte
	for _, s := range sections {
		ids = append(ids, s.id)
	}
	require.Equal(t, []byte{secType, secImport, secFunction, secGlobal, secExport, secCode, secCustom}, ids)
	require.Contains(t, string(out), FuelGlobal)
}

// TestAddExportsMutableGlobals: what a copy of the memory would miss is exported; constants are not.
func TestAddExportsMutableGlobals(t *testing.T) {
	globals := sec(secGlobal, 2, 0x7f, 0, opI32Const, 1, opEnd, 0x7f, 1, opI32Const, 2, opEnd)
	out, stats, err := Add(module(types, imports, function, globals, code(loopOnce...)), tickOptions)
	require.NoError(t, err)
	require.Equal(t, []string{"sallyport_global_1"}, stats.Globals)
	require.Contains(t, string(out), "sallyport_global_1")
	require.NotContains(t, string(out), "sallyport_global_0")
}

func TestAddSeesTableWrites(t *testing.T) {
	for name, body := range map[string][]byte{
		"table.set":  {opTableSet, 0, opEnd},
		"table.grow": {0xfc, 15, 0, opEnd},
		"table.init": {0xfc, 12, 0, 0, opEnd},
	} {
		_, stats, err := Add(module(types, imports, function, code(body...)), tickOptions)
		require.NoError(t, err, name)
		require.True(t, stats.TableWrites, name)
	}
	_, stats, err := Add(module(types, imports, function, code(0xfc, 16, 0, opEnd)), tickOptions)
	require.NoError(t, err)
	require.False(t, stats.TableWrites, "table.size only looks")
}

// TestAddRefuses: each fault is named, and nothing is guessed.
func TestAddRefuses(t *testing.T) {
	whole := module(types, imports, function, code(loopOnce...))
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "not a WebAssembly module"},
		{"another version", []byte("\x00asm\x02\x00\x00\x00"), "not a WebAssembly module"},
		{"a cut section", whole[:len(whole)-3], "ends too early"},
		{"an unknown section", module(sec(14)), "section 14 is not known"},
		{"a section twice", module(types, types), "section 1 comes twice"},
		{"no import to call", module(types, function, code(loopOnce...)), "no import env.host_interrupt"},
		{"an import of another type", module(sec(secType, 1, 0x60, 0, 0), imports), "no import env.host_interrupt"},
		{"a type of a later standard", module(sec(secType, 1, 0x5f, 0)), "type form 0x5f"},
		{"an instruction of a later standard", module(types, imports, function, code(0xfb, 0, 0, opEnd)), "instruction 0xfb"},
		{"an instruction that is none", module(types, imports, function, code(0x27, opEnd)), "instruction 0x27"},
		{"no end", module(types, imports, function, code(opLoop, emptyBlock, opEnd)), "ends too early"},
		{"code after the end", module(types, imports, function, code(opEnd, opEnd)), "code after its end"},
		{"a huge vector", module(types, imports, function, code(0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f)), "ends too early"},
		{"an endless number", module(sec(secType, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80)), "too long"},
		{"bytes after the types", module(sec(secType, 0, 0)), "1 bytes too many"},
		{"a taken name", module(types, imports, function, sec(secExport, append(append([]byte{1}, str(FuelGlobal)...), 0, 0)...)), "is taken"},
	} {
		_, _, err := Add(c.b, tickOptions)
		require.ErrorContains(t, err, c.want, c.name)
	}
	_, _, err := Add(whole, Options{ImportModule: "env", ImportName: "host_interrupt", Quantum: -1})
	require.ErrorContains(t, err, "quantum")
}

// TestTablesDoNotOverlap: an opcode has one shape.
func TestTablesDoNotOverlap(t *testing.T) {
	for name, table := range map[string][]rangeOf{"single": single, "fc": prefixFC, "fd": prefixFD, "fe": prefixFE} {
		next := uint32(0)
		for _, r := range table {
			require.GreaterOrEqual(t, r.from, next, "%s %#x", name, r.from)
			require.GreaterOrEqual(t, r.to, r.from, "%s %#x", name, r.from)
			require.NotEmpty(t, r.why, "%s %#x", name, r.from)
			next = r.to + 1
		}
	}
}

// TestWalkPassesEveryInstruction goes over one instruction of each shape with immediates that would mislead a walk that skips too few bytes.
func TestWalkPassesEveryInstruction(t *testing.T) {
	var float8 [8]byte
	binary.LittleEndian.PutUint64(float8[:], 0x0b0b0b0b0b0b0b0b)
	v128 := append(float8[:], float8[:]...)
	body := []byte{0x0e, 2, 0x8b, 0, 0x0b, 0x0b} // br_table with labels that look like end
	for _, part := range [][]byte{
		{0x41, 0x0b, 0x42, 0x8b, 0x0b}, append([]byte{0x43}, float8[:4]...), append([]byte{0x44}, float8[:]...),
		{0x28, 0x0b, 0x0b}, {0x28, 0x4b, 0x0b, 0x0b}, {0x11, 0x0b, 0x0b}, {0x1c, 1, 0x7f},
		append([]byte{0xfd, 12}, v128...), {0xfd, 21, 0x0b}, {0xfd, 84, 0x0b, 0x0b, 0x0b}, {0xfd, 0x80, 0x02},
		{0xfe, 16, 0x0b, 0x0b}, {0xfe, 3, 0x0b}, {0xfc, 8, 0x0b, 0x0b},
		{0x1f, emptyBlock, 2, 0, 0x0b, 0x0b, 2, 0x0b, opEnd}, {opTry, emptyBlock, 0x07, 0x0b, opDelegate, 0x0b}, {0xd0, 0x70},
	} {
		body = append(body, part...)
	}
	r := reader{b: append(body, opEnd, 0xff)}
	walk(&r, nil)
	require.NoError(t, r.err)
	require.Equal(t, len(body)+1, r.p)
}

// FuzzAdd: no bytes make it panic, hang or take much more memory than they are long.
func FuzzAdd(f *testing.F) {
	f.Add(module(types, imports, function, code(loopOnce...)))
	f.Add(module(types, imports, function, code(0x0e, 1, 0, 0, opEnd)))
	f.Add(module(types, imports, sec(secGlobal, 1, 0x7f, 1, opI32Const, 2, opEnd), function, code(0xfd, 12)))
	f.Add([]byte(header))
	if b, err := os.ReadFile("../../guest/quickjs.wasm"); err == nil {
		f.Add(b[:4096])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, stats, err := Add(b, tickOptions)
		if err != nil {
			require.Nil(t, out)
			return
		}
		require.LessOrEqual(t, len(out), 64*len(b)+256)
		again, more, err := Add(out, tickOptions)
		require.ErrorContains(t, err, "is taken", "metered twice: %v %v", stats, more)
		require.Nil(t, again)
	})
}
