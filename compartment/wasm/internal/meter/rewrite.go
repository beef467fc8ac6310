package meter

import "fmt"

// rewrite puts the module together again.
func (m *metering) rewrite(head []byte, sections []section) ([]byte, error) {
	out := append([]byte(nil), head...)
	check := m.check()
	global, export := false, false
	for _, s := range sections {
		// A section that has to be added goes before the first that must come after it.
		if !global && after(s.id, secGlobal) {
			out, global = appendSection(out, secGlobal, m.addGlobal(nil)), true
		}
		if !export && after(s.id, secExport) {
			out, export = appendSection(out, secExport, m.addExports(nil)), true
		}
		body := s.body
		switch s.id {
		case secGlobal:
			body, global = m.addGlobal(body), true
		case secExport:
			body, export = m.addExports(body), true
		case secCode:
			var err error
			if body, err = m.addChecks(s, check); err != nil {
				return nil, err
			}
		}
		out = appendSection(out, s.id, body)
	}
	if !global {
		out = appendSection(out, secGlobal, m.addGlobal(nil))
	}
	if !export {
		out = appendSection(out, secExport, m.addExports(nil))
	}
	return out, nil
}

// order is where each section stands in a module. A custom section may stand anywhere.
var order = [lastSection + 1]int{secCustom: 0, secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secTag: 6, secGlobal: 7,
	secExport: 8, secStart: 9, secElement: 10, secDataCount: 11, secCode: 12, secData: 13}

// after tells whether section id must come after the section first.
func after(id, first byte) bool { return order[id] > order[first] }

// appendSection appends a section.
func appendSection(out []byte, id byte, body []byte) []byte {
	return append(appendU(append(out, id), uint32(len(body))), body...)
}

// count reads the number at the beginning of a section, which survey has read before, and returns what follows it.
func count(body []byte) (uint32, []byte) {
	if len(body) == 0 {
		return 0, nil
	}
	r := reader{b: body}
	n := r.u32()
	return n, body[r.p:]
}

// addGlobal appends the global that holds the fuel.
func (m *metering) addGlobal(body []byte) []byte {
	n, rest := count(body)
	out := append(appendU(nil, n+1), rest...)
	out = append(out, i32Type, 1, opI32Const)
	return append(appendS(out, m.options.Quantum), opEnd)
}

// addExports appends the exports of the fuel and of the module's own mutable globals.
func (m *metering) addExports(body []byte) []byte {
	const kindGlobal = 3
	n, rest := count(body)
	out := append(appendU(nil, n+1+uint32(len(m.mutable))), rest...)
	add := func(name string, index uint32) {
		out = append(appendU(out, uint32(len(name))), name...)
		out = appendU(append(out, kindGlobal), index)
	}
	add(FuelGlobal, m.fuel)
	for _, i := range m.mutable {
		add(globalName(i), uint32(m.imported+i))
	}
	return out
}

// Instructions of the check.
const (
	opCall, opDrop, opGlobalGet, opGlobalSet = 0x10, 0x1a, 0x23, 0x24
	opI32Const, opI32LtS, opI32Sub           = 0x41, 0x48, 0x6b
	emptyBlock                               = 0x40
)

// check is what stands at the head of every loop:
//
//	fuel = fuel - 1
//	if fuel < 0 { tick(); fuel = quantum }
func (m *metering) check() []byte {
	if m.options.Quantum == 0 {
		return nil
	}
	get, set := appendU([]byte{opGlobalGet}, m.fuel), appendU([]byte{opGlobalSet}, m.fuel)
	var b []byte
	b = append(append(b, get...), opI32Const, 1, opI32Sub)
	b = append(append(b, set...), get...)
	b = append(b, opI32Const, 0, opI32LtS, opIf, emptyBlock)
	b = append(appendU(append(b, opCall), uint32(m.tick)), opDrop)
	b = append(appendS(append(b, opI32Const), m.options.Quantum), set...)
	return append(b, opEnd)
}

// addChecks puts the check at the head of every loop of every function.
func (m *metering) addChecks(s section, check []byte) ([]byte, error) {
	r := reader{b: s.body, base: s.at}
	n := r.u32()
	out := appendU(nil, n)
	for f := range n {
		size := r.u32()
		at := r.p
		code := r.take(size)
		body := reader{b: code, base: s.at + at}
		metered := m.addToFunction(&body, check)
		switch {
		case r.err != nil:
			return nil, fmt.Errorf("function %d: %w", f, r.err)
		case body.err != nil:
			return nil, fmt.Errorf("function %d: %w", f, body.err)
		case body.p != len(code):
			return nil, fmt.Errorf("function %d: code after its end", f)
		}
		out = append(appendU(out, uint32(len(metered))), metered...)
	}
	if r.p != len(s.body) {
		return nil, fmt.Errorf("section %d: %d bytes too many", s.id, len(s.body)-r.p)
	}
	return out, nil
}

// addToFunction returns the function with the check at the head of its loops.
func (m *metering) addToFunction(r *reader, check []byte) []byte {
	for n := r.u32(); n > 0 && r.err == nil; n-- { // the locals: how many, of which type
		r.u32()
		r.valueType()
	}
	out := make([]byte, 0, len(r.b)+len(r.b)/8)
	done := 0
	walk(r, func(in instruction) {
		if in.writesTable() {
			m.stats.TableWrites = true
		}
		if in.op == opLoop {
			out = append(append(out, r.b[done:in.after]...), check...)
			done = in.after
			m.stats.Loops++
		}
	})
	return append(out, r.b[done:r.p]...)
}
