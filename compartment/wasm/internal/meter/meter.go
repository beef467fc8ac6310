// Package meter rewrites a WebAssembly module so that it spends fuel as it runs, and asks the host for more when it has none.
//
//	out, stats, err := meter.Add(module, meter.Options{ImportModule: "env", ImportName: "host_interrupt", Quantum: 20_000})
//
// Every loop gets a few instructions at its head: they take one from a global, and when nothing is left they call an import that the
// module already has (its result is dropped) and fill the global up again. A host stops the module by not returning from that import. Nothing
// else is changed, and no index moves: the import is there already and the global comes after all others.
//
// # What is metered, and what is not
//
// Code runs for ever only through loops or through calls. A loop costs one unit of fuel a round. Calls cost nothing: a chain of them is as
// deep as the machine's stack, which is limited elsewhere, and then it ends in a trap. A module that branches at every level of a deep recursion and has
// no loop in it at all would run long without spending; no interpreter is built like that, because its dispatch is a loop. Metering the
// entries of functions too was measured to cost 18 % where loops alone cost 2 %, and is not done. A single
// bulk instruction (memory.copy, memory.fill) costs nothing and is as long as the memory is large.
//
// # State
//
// The module's mutable globals are exported, so that a host that copies the memory can copy the whole state. Stats.TableWrites says
// whether the module changes its tables, which would be state that the host cannot copy.
//
// # Trust
//
// The module is not trusted: Add reads within bounds, fails on what it does not know instead of guessing, and never panics. It does not
// validate; the runtime that compiles the result does.
package meter

import (
	"errors"
	"fmt"
)

// Options say how to meter.
type Options struct {
	// ImportModule and ImportName name the import to call when the fuel is used up. The module must have it, as a function that takes nothing
	// and returns an i32.
	ImportModule, ImportName string
	// Quantum is how much fuel there is between two calls. 0 meters nothing and adds only the exports: for measuring what metering costs.
	Quantum int32
}

// Stats say what was done.
type Stats struct {
	// Loops is how many loops are metered.
	Loops int
	// Globals are the names under which the module's own mutable globals are exported, in their order.
	Globals []string
	// TableWrites: the module has instructions that change a table.
	TableWrites bool
}

// FuelGlobal is the name under which the global that holds the fuel is exported.
const FuelGlobal = "sallyport_fuel"

// globalName is the name under which the module's own global i is exported.
func globalName(i int) string { return fmt.Sprintf("sallyport_global_%d", i) }

// Add returns the module with metering. Its errors say what in the module is wrong, missing or not known, and where.
func Add(module []byte, o Options) ([]byte, Stats, error) {
	if o.Quantum < 0 {
		return nil, Stats{}, fmt.Errorf("quantum %d is less than 0", o.Quantum)
	}
	sections, err := split(module)
	if err != nil {
		return nil, Stats{}, err
	}
	m := metering{options: o, tick: -1}
	if err := m.survey(sections); err != nil {
		return nil, Stats{}, err
	}
	out, err := m.rewrite(module[:len(header)], sections)
	return out, m.stats, err
}

// metering is the work on one module.
type metering struct {
	options Options
	stats   Stats

	types    []bool // which function types are () -> i32
	tick     int    // index of the imported function
	imported int    // how many globals are imported
	globals  int    // how many globals the module has itself
	mutable  []int  // which of its own are mutable
	fuel     uint32 // index of the global that is added
}

// header is the magic number and the version.
const header = "\x00asm\x01\x00\x00\x00"

// The sections, by number.
const (
	secCustom, secType, secImport, secFunction, secTable, secMemory = 0, 1, 2, 3, 4, 5
	secGlobal, secExport, secStart, secElement, secCode             = 6, 7, 8, 9, 10
	secData, secDataCount, secTag, lastSection                      = 11, 12, 13, 13
)

// section is one section of a module.
type section struct {
	id   byte
	body []byte
	at   int // where the body begins in the module
}

// split cuts a module into its sections.
func split(module []byte) ([]section, error) {
	if len(module) < len(header) || string(module[:len(header)]) != header {
		return nil, errors.New("not a WebAssembly module of version 1")
	}
	r := reader{b: module, p: len(header)}
	var out []section
	seen := [lastSection + 1]bool{}
	for r.p < len(module) {
		id, size := r.octet(), r.u32()
		at := r.p
		body := r.take(size)
		switch {
		case r.err != nil:
			return nil, fmt.Errorf("section %d: %w", id, r.err)
		case id > lastSection:
			return nil, fmt.Errorf("section %d is not known", id)
		case id != secCustom && seen[id]:
			return nil, fmt.Errorf("section %d comes twice", id)
		}
		seen[id] = true
		out = append(out, section{id, body, at})
	}
	return out, nil
}

// survey finds the import to call and counts the globals.
func (m *metering) survey(sections []section) error {
	surveyors := map[byte]func(*reader){secType: m.readTypes, secImport: m.readImports, secGlobal: m.readGlobals, secExport: m.readExports}
	for _, id := range []byte{secType, secImport, secGlobal, secExport} { // the types come first, whatever the order in the module
		for _, s := range sections {
			if s.id != id {
				continue
			}
			r := reader{b: s.body, base: s.at}
			if surveyors[id](&r); r.err != nil {
				return fmt.Errorf("section %d: %w", id, r.err)
			}
			if r.p != len(s.body) {
				return fmt.Errorf("section %d: %d bytes too many", id, len(s.body)-r.p)
			}
		}
	}
	if m.tick < 0 {
		return fmt.Errorf("no import %s.%s of type () -> i32", m.options.ImportModule, m.options.ImportName)
	}
	m.fuel = uint32(m.imported + m.globals)
	for _, i := range m.mutable {
		m.stats.Globals = append(m.stats.Globals, globalName(i))
	}
	return nil
}

// readTypes notes which function types are () -> i32.
func (m *metering) readTypes(r *reader) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		if form := r.octet(); form != 0x60 {
			r.fail("type form %#x is not known", form)
			return
		}
		params, results := r.valueTypes(), r.valueTypes()
		m.types = append(m.types, len(params) == 0 && len(results) == 1 && results[0] == i32Type)
	}
}

// readImports finds the import to call and counts the globals that are imported.
func (m *metering) readImports(r *reader) {
	functions := 0
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		module, name := string(r.take(r.u32())), string(r.take(r.u32()))
		switch kind := r.octet(); kind {
		case 0: // function
			t := r.u32()
			ours := module == m.options.ImportModule && name == m.options.ImportName
			if ours && m.tick < 0 && int64(t) < int64(len(m.types)) && m.types[t] {
				m.tick = functions
			}
			functions++
		case 1: // table
			r.valueType()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // global
			r.valueType()
			r.octet()
			m.imported++
		case 4: // tag
			r.octet()
			r.u32()
		default:
			r.fail("import kind %d is not known", kind)
		}
	}
}

// readGlobals counts the module's own globals and notes which are mutable.
func (m *metering) readGlobals(r *reader) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		r.valueType()
		if r.octet() == 1 {
			m.mutable = append(m.mutable, m.globals)
		}
		m.globals++
		walk(r, nil)
	}
}

// readExports makes sure that the names we add are free.
func (m *metering) readExports(r *reader) {
	ours := map[string]bool{FuelGlobal: true}
	for _, i := range m.mutable {
		ours[globalName(i)] = true
	}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		if name := string(r.take(r.u32())); ours[name] {
			r.fail("the name %q is taken", name)
		}
		r.octet()
		r.u32()
	}
}
