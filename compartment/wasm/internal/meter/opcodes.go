package meter

// shape is what follows an opcode.
type shape uint8

// The shapes.
const (
	unknown     shape = iota // refused: where the next instruction begins cannot be told
	plain                    // nothing
	number                   // one LEB128 number: an index, a block type, a constant
	numbers2                 // two of them
	memory                   // alignment, perhaps a memory's index, offset
	memoryLane               // as memory, and a lane
	lane                     // one byte
	octets4                  // f32.const
	octets8                  // f64.const
	octets16                 // v128.const, i8x16.shuffle
	branchTable              // a vector of labels and one more
	typeVector               // a vector of value types
	catchVector              // a block type and a vector of catch clauses
	prefixed                 // a second opcode
)

// rangeOf is a run of opcodes of one shape.
type rangeOf struct {
	from, to uint32
	shape    shape
	why      string
}

// The tables list every instruction of WebAssembly 2.0, and of the extensions for tail calls, exceptions (both forms) and threads. What is not
// listed is refused: typed function references and garbage collection, which no runtime here runs.
var (
	single = []rangeOf{
		{0x00, 0x01, plain, "unreachable, nop"},
		{0x02, 0x04, number, "block, loop, if: block type"},
		{0x05, 0x05, plain, "else"},
		{0x06, 0x07, number, "try: block type; catch: tag"},
		{0x08, 0x09, number, "throw: tag; rethrow: label"},
		{0x0a, 0x0b, plain, "throw_ref, end"},
		{0x0c, 0x0d, number, "br, br_if"},
		{0x0e, 0x0e, branchTable, "br_table"},
		{0x0f, 0x0f, plain, "return"},
		{0x10, 0x10, number, "call"},
		{0x11, 0x11, numbers2, "call_indirect: type, table"},
		{0x12, 0x12, number, "return_call"},
		{0x13, 0x13, numbers2, "return_call_indirect"},
		{0x18, 0x18, number, "delegate: label"},
		{0x19, 0x1b, plain, "catch_all, drop, select"},
		{0x1c, 0x1c, typeVector, "select with types"},
		{0x1f, 0x1f, catchVector, "try_table"},
		{0x20, 0x26, number, "local.*, global.*, table.get, table.set"},
		{0x28, 0x3e, memory, "loads and stores"},
		{0x3f, 0x40, number, "memory.size, memory.grow: memory"},
		{0x41, 0x42, number, "i32.const, i64.const"},
		{0x43, 0x43, octets4, "f32.const"},
		{0x44, 0x44, octets8, "f64.const"},
		{0x45, 0xc4, plain, "comparisons, arithmetic, conversions, sign extension"},
		{0xd0, 0xd0, number, "ref.null: type"},
		{0xd1, 0xd1, plain, "ref.is_null"},
		{0xd2, 0xd2, number, "ref.func"},
		{0xfc, 0xfe, prefixed, "bulk memory and saturation; vectors; threads"},
	}
	prefixFC = []rangeOf{
		{0, 7, plain, "saturating truncation"},
		{8, 8, numbers2, "memory.init: data, memory"},
		{9, 9, number, "data.drop"},
		{10, 10, numbers2, "memory.copy"},
		{11, 11, number, "memory.fill"},
		{12, 12, numbers2, "table.init"},
		{13, 13, number, "elem.drop"},
		{14, 14, numbers2, "table.copy"},
		{15, 17, number, "table.grow, table.size, table.fill"},
	}
	prefixFD = []rangeOf{
		{0, 11, memory, "v128 loads, v128.store"},
		{12, 13, octets16, "v128.const, i8x16.shuffle"},
		{14, 20, plain, "swizzle, splats"},
		{21, 34, lane, "extract_lane, replace_lane"},
		{35, 83, plain, "comparisons, bitwise"},
		{84, 91, memoryLane, "lane loads and stores"},
		{92, 93, memory, "load32_zero, load64_zero"},
		{94, 153, plain, "arithmetic"},
		{155, 161, plain, "arithmetic"},
		{163, 164, plain, "arithmetic"},
		{167, 177, plain, "arithmetic"},
		{181, 186, plain, "arithmetic"},
		{188, 193, plain, "arithmetic"},
		{195, 196, plain, "arithmetic"},
		{199, 209, plain, "arithmetic"},
		{213, 225, plain, "arithmetic"},
		{227, 237, plain, "arithmetic"},
		{239, 255, plain, "arithmetic, conversions"},
		{256, 275, plain, "relaxed vectors"},
	}
	prefixFE = []rangeOf{
		{0, 2, memory, "memory.atomic.notify, wait32, wait64"},
		{3, 3, number, "atomic.fence"},
		{16, 78, memory, "atomic loads, stores, read-modify-write"},
	}
)

// shapeIn looks an opcode up.
func shapeIn(table []rangeOf, op uint32) shape {
	for _, r := range table {
		if op >= r.from && op <= r.to {
			return r.shape
		}
	}
	return unknown
}

// singleShapes is the table of the one-byte opcodes opened out, because it is asked for every instruction.
var singleShapes = func() (t [256]shape) {
	for op := range t {
		t[op] = shapeIn(single, uint32(op))
	}
	return t
}()

// prefixes are the tables behind the opcodes that are prefixes.
var prefixes = [256][]rangeOf{0xfc: prefixFC, 0xfd: prefixFD, 0xfe: prefixFE}

// The opcodes that walk tells apart.
const (
	opBlock, opLoop, opIf    = 0x02, 0x03, 0x04
	opTry, opDelegate, opEnd = 0x06, 0x18, 0x0b
	opTryTable, opTableSet   = 0x1f, 0x26
)

// instruction is one instruction that walk has passed.
type instruction struct {
	op    byte
	sub   uint32 // the second opcode of a prefixed one
	after int    // where the next one begins
}

// writesTable tells whether the instruction changes a table.
func (i instruction) writesTable() bool {
	return i.op == opTableSet || i.op == 0xfc && (i.sub == 12 || i.sub == 13 || i.sub == 14 || i.sub == 15 || i.sub == 17)
}

// walk passes over an expression to its end, and shows each instruction to see, when there is one.
func walk(r *reader, see func(instruction)) {
	for depth := 0; r.err == nil; {
		in := instruction{op: r.octet()}
		s := singleShapes[in.op]
		if s == prefixed {
			in.sub = r.u32()
			s = shapeIn(prefixes[in.op], in.sub)
		}
		if r.err == nil && s == unknown {
			r.fail("instruction %#x %#x is not known", in.op, in.sub)
			return
		}
		r.immediates(s)
		if in.after = r.p; r.err == nil && see != nil {
			see(in)
		}
		switch in.op {
		case opBlock, opLoop, opIf, opTry, opTryTable:
			depth++
		case opEnd, opDelegate:
			if depth == 0 {
				return
			}
			depth--
		}
	}
}

// immediates passes over what follows an opcode.
func (r *reader) immediates(s shape) {
	switch s {
	case number:
		r.skip()
	case numbers2:
		r.skip()
		r.skip()
	case memory:
		r.memory()
	case memoryLane:
		r.memory()
		r.octet()
	case lane:
		r.octet()
	case octets4:
		r.take(4)
	case octets8:
		r.take(8)
	case octets16:
		r.take(16)
	case branchTable:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			r.skip()
		}
		r.skip()
	case typeVector:
		r.valueTypes()
	case catchVector:
		r.skip()
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			r.catchClause()
		}
	}
}

// memory passes over a memory argument. A bit of the alignment says that the index of a memory follows it.
func (r *reader) memory() {
	if align := r.u32(); align&0x40 != 0 {
		r.skip()
	}
	r.skip()
}

// catchClause passes over one clause of a try_table.
func (r *reader) catchClause() {
	kind := r.octet()
	if kind > 3 {
		r.fail("catch clause %d is not known", kind)
		return
	}
	if kind < 2 {
		r.skip() // a tag; the last two kinds catch all
	}
	r.skip()
}
