package meter

import (
	"errors"
	"fmt"
)

// errShort is found by errors.Is when a module ends too early.
var errShort = errors.New("the module ends too early")

// reader reads a part of a module. After the first fault it returns zeros and empty slices and keeps the fault.
type reader struct {
	b    []byte
	p    int
	base int // where b begins in the module, for messages
	err  error
}

// fail keeps the first fault.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %w", r.base+r.p, fmt.Errorf(format, args...))
	}
	r.p = len(r.b)
}

// octet reads one byte.
func (r *reader) octet() byte {
	if r.err != nil || r.p >= len(r.b) {
		r.fail("%w", errShort)
		return 0
	}
	r.p++
	return r.b[r.p-1]
}

// take reads n bytes.
func (r *reader) take(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.b)-r.p) {
		r.fail("%w", errShort)
		return nil
	}
	r.p += int(n)
	return r.b[r.p-int(n) : r.p]
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.octet()
		v |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			if v > 1<<32-1 {
				r.fail("a number is too large")
				return 0
			}
			return uint32(v)
		}
	}
	r.fail("a number is too long")
	return 0
}

// skip passes over one LEB128 number of at most 64 bits, signed or not.
func (r *reader) skip() {
	for range 10 {
		if r.octet()&0x80 == 0 {
			return
		}
	}
	r.fail("a number is too long")
}

// i32Type is the value type i32.
const i32Type = 0x7f

// valueType reads a value type. Those of more than one byte, which typed references have, are not known here.
func (r *reader) valueType() byte {
	t := r.octet()
	switch t {
	case i32Type, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f, 0x69: // numbers, vectors, function, external and exception references
	default:
		r.fail("value type %#x is not known", t)
	}
	return t
}

// valueTypes reads a vector of value types.
func (r *reader) valueTypes() []byte {
	n := r.u32()
	from := r.p
	for ; n > 0 && r.err == nil; n-- {
		r.valueType()
	}
	return r.b[from:r.p]
}

// limits passes over the limits of a table or memory.
func (r *reader) limits() {
	flags := r.octet()
	if flags > 7 {
		r.fail("limits of form %#x are not known", flags)
		return
	}
	r.skip()
	if flags&1 != 0 {
		r.skip()
	}
}

// appendU appends an unsigned LEB128 number.
func appendU(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendS appends a signed LEB128 number.
func appendS(b []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
