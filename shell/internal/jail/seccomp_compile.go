package jail

import "fmt"

// Filter is one instruction of classic BPF, as the kernel takes it.
type Filter struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// Instructions and return values of a seccomp program.
const (
	bpfLoad     = 0x20 // A = word at K of struct seccomp_data
	bpfAnd      = 0x54 // A &= K
	bpfJumpEq   = 0x15
	bpfJumpGT   = 0x25
	bpfJumpBits = 0x45 // A & K != 0
	bpfReturn   = 0x06

	retKillProcess = 0x80000000
	retErrno       = 0x00050000
	retNotify      = 0x7fc00000
	retAllow       = 0x7fff0000

	dataNr   = 0
	dataArch = 4
	dataArgs = 16 // six 64-bit arguments; both architectures are little-endian

)

// auditArch are the AUDIT_ARCH values of the architectures we build for.
var auditArch = map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}

// Compile makes the program of the table for one architecture. A call of another architecture (int 0x80 on amd64)
// kills the process. Calls newer than the table are ENOSYS, and so are those of x32, whose numbers have bit 30 set.
//
// The rows stand one behind the other: the kernel finds out once which calls are allowed whatever their arguments and
// remembers it in a bitmap, so the length costs nothing for them.
func Compile(table []Row, arch string) ([]Filter, error) {
	var lines []line
	for _, row := range table {
		lines = append(lines, line{row.Name, row.When, retErrno | uint32(row.Errno)})
	}
	return compileLines(lines, arch)
}

// line is what the compiler takes of a row: a call, and what the kernel does with it.
type line struct {
	name   string
	when   []Test
	action uint32
}

func compileLines(lines []line, arch string) ([]Filter, error) {
	number, ok := numbers[arch]
	if !ok {
		return nil, fmt.Errorf("no seccomp table for the architecture %q", arch)
	}
	prog := []Filter{
		{bpfLoad, 0, 0, dataArch},
		{bpfJumpEq, 1, 0, auditArch[arch]},
		{bpfReturn, 0, 0, retKillProcess},
		{bpfLoad, 0, 0, dataNr},
		{bpfJumpGT, 0, 1, lastCall},
		{bpfReturn, 0, 0, retErrno | errNOSYS},
	}
	for _, l := range lines {
		nr, ok := number[l.name]
		if !ok {
			continue // a call that this architecture does not have
		}
		body, err := compileLine(l)
		if err != nil {
			return nil, err
		}
		prog = append(prog, Filter{bpfJumpEq, 0, uint8(len(body)), nr})
		prog = append(prog, body...)
	}
	return append(prog, Filter{bpfReturn, 0, 0, retAllow}), nil
}

// compileLine makes the instructions behind the comparison of the number. When a test does not hold, the number is
// loaded again and the next line has its turn.
func compileLine(l line) ([]Filter, error) {
	act := Filter{bpfReturn, 0, 0, l.action}
	if len(l.when) == 0 {
		return []Filter{act}, nil
	}
	// Built from the end: at every test, next is the distance to the "load the number again" at the end.
	tail := []Filter{act, {bpfLoad, 0, 0, dataNr}}
	for i := len(l.when) - 1; i >= 0; i-- {
		head, err := compileTest(l.when[i], len(tail)-1)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", l.name, err)
		}
		tail = append(head, tail...)
	}
	if len(tail) > 250 {
		return nil, fmt.Errorf("row %s: too long to jump over", l.name)
	}
	return tail, nil
}

// compileTest falls through when the test holds and jumps skip instructions further when it does not.
func compileTest(t Test, skip int) ([]Filter, error) {
	low := dataArgs + 8*uint32(t.Arg)
	if t.Op == "set" {
		return []Filter{
			{bpfLoad, 0, 0, low},
			{bpfJumpEq, 0, 2, 0},
			{bpfLoad, 0, 0, low + 4},
			{bpfJumpEq, uint8(skip), 0, 0},
		}, nil
	}
	code := []Filter{{bpfLoad, 0, 0, low}}
	if t.Mask != 0 {
		code = append(code, Filter{bpfAnd, 0, 0, t.Mask})
	}
	n := len(t.Values)
	for i, v := range t.Values {
		rest := n - 1 - i // comparisons behind this one
		switch t.Op {
		case "any":
			code = append(code, Filter{bpfJumpBits, 0, uint8(skip), v})
		case "none":
			code = append(code, Filter{bpfJumpBits, uint8(skip), 0, v})
		case "in":
			miss := 0
			if rest == 0 {
				miss = skip
			}
			code = append(code, Filter{bpfJumpEq, uint8(rest), uint8(miss), v})
		case "not":
			code = append(code, Filter{bpfJumpEq, uint8(rest + skip), 0, v})
		default:
			return nil, fmt.Errorf("unknown test %q", t.Op)
		}
	}
	if n == 0 || ((t.Op == "any" || t.Op == "none") && n != 1) {
		return nil, fmt.Errorf("test %q with %d values", t.Op, n)
	}
	return code, nil
}
