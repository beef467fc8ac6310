package wasm

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// importRow is a function that guests may import. Its first argument is the instance that called.
type importRow struct {
	module, name, signature string
	f                       func(*instance, []uint64)
	what                    string
}

// The answers of WASI that are given: it is not there, and it is no descriptor.
const (
	wasiNoSys = 52
	wasiBadF  = 8
)

// importTable is everything that a guest can call. What the engine was compiled to expect of an operating system is answered with "there is
// none".
func importTable() []importRow {
	answer := func(errno uint64) func(*instance, []uint64) {
		return func(_ *instance, s []uint64) { s[0] = errno }
	}
	return []importRow{
		{tickModule, tickName, ">i", (*instance).tick, "the fuel is used up: goes on, or does not return"},
		{"env", "host_call", "iiiii>i", (*instance).hostCall, "a power is called: name, its length, this, count and array of arguments; 0 says that something was thrown"},
		{"env", "host_promise_rejection", "iii>", (*instance).rejection, "a promise was rejected with nobody looking (0), or somebody looked at last (1)"},
		{"env", "host_module_normalize", "ii>i", (*instance).moduleName, "import(): the specifier, when the import map has it; otherwise refused"},
		{"env", "host_module_load", "ii>i", (*instance).moduleSource, "the source of a module of the import map; its length goes to the address"},
		{"env", "host_get_timezone_offset", "ii>i", answer(0), "UTC on every host"},
		{"wasi_snapshot_preview1", "clock_time_get", "ili>i", (*instance).noClock, "the beginning of 1970, always: the present moment is withheld"},
		{"wasi_snapshot_preview1", "random_get", "ii>i", (*instance).noChance, "the same bytes on every run; hash seeds want them"},
		{"wasi_snapshot_preview1", "fd_write", "iiii>i", answer(wasiBadF), "no descriptor is open"},
		{"wasi_snapshot_preview1", "fd_close", "i>i", answer(wasiBadF), "as fd_write"},
		{"wasi_snapshot_preview1", "fd_seek", "ilii>i", answer(wasiBadF), "as fd_write"},
		{"wasi_snapshot_preview1", "fd_fdstat_get", "ii>i", answer(wasiBadF), "as fd_write"},
	}
}

// The import that metering calls.
const tickModule, tickName = "env", "host_interrupt"

// findImport looks a function up.
func findImport(module, name string) (importRow, bool) {
	for _, r := range importTable() {
		if r.module == module && r.name == name {
			return r, true
		}
	}
	return importRow{}, false
}

// instanceKey is the key of the instance in the context of its calls.
type instanceKey struct{}

// provide makes the host modules of a runtime.
func provide(ctx context.Context, rt wazero.Runtime) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for _, r := range importTable() {
		b := builders[r.module]
		if b == nil {
			b = rt.NewHostModuleBuilder(r.module)
			builders[r.module] = b
		}
		params, results := parseSignature(r.signature)
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, s []uint64) {
			ctx.Value(instanceKey{}).(*instance).enter(r.f, s)
		}), params, results).Export(r.name)
	}
	for name, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("provide %s: %w", name, err)
		}
	}
	return nil
}

// parseSignature is the reverse of signature.
func parseSignature(s string) (params, results []api.ValueType) {
	to := &params
	for _, c := range s {
		switch c {
		case '>':
			to = &results
		default:
			for t, letter := range typeLetters {
				if letter == string(c) {
					*to = append(*to, t)
				}
			}
		}
	}
	return params, results
}

// noClock answers every question for the time with 0.
func (in *instance) noClock(s []uint64) {
	var zero [8]byte
	in.write(uint32(s[2]), zero[:])
	s[0] = 0
}

// noChance fills the guest's buffer with a fixed sequence.
func (in *instance) noChance(s []uint64) {
	b, ok := in.at(uint32(s[0]), uint32(s[1]))
	if !ok {
		s[0] = wasiNoSys
		return
	}
	for i := 0; i < len(b); i += 8 { // splitmix64 from a constant
		var word [8]byte
		x := uint64(i+8) * 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(word[:], x^x>>31)
		copy(b[i:], word[:])
	}
	s[0] = 0
}
