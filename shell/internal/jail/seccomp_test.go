package jail

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seccompData is what the kernel shows a filter.
type seccompData struct {
	nr, arch uint32
	args     [6]uint64
}

// word is what a load at an offset gives.
func (d seccompData) word(t require.TestingT, offset uint32) uint32 {
	switch {
	case offset == dataNr:
		return d.nr
	case offset == dataArch:
		return d.arch
	case offset < dataArgs || offset >= dataArgs+6*8 || offset%4 != 0:
		require.Failf(t, "load outside of the data", "%d", offset)
	}
	arg := d.args[(offset-dataArgs)/8]
	if offset%8 == 4 {
		return uint32(arg >> 32)
	}
	return uint32(arg)
}

// evaluate runs a program the way the kernel does.
func evaluate(t require.TestingT, prog []Filter, d seccompData) uint32 {
	var a uint32
	for pc := 0; ; pc++ {
		if pc >= len(prog) {
			require.Fail(t, "ran off the end")
		}
		in := prog[pc]
		jump := func(condition bool) {
			if condition {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case bpfLoad:
			a = d.word(t, in.K)
		case bpfAnd:
			a &= in.K
		case bpfJumpEq:
			jump(a == in.K)
		case bpfJumpGT:
			jump(a > in.K)
		case bpfJumpBits:
			jump(a&in.K != 0)
		case bpfReturn:
			return in.K
		default:
			require.Failf(t, "unknown instruction", "%#x", in.Code)
		}
	}
}

// oracle is what the table means, read row by row and not compiled.
func oracle(table []Row, arch string, d seccompData) uint32 {
	if d.arch != auditArch[arch] {
		return retKillProcess
	}
	if d.nr > lastCall {
		return retErrno | errNOSYS
	}
	for _, row := range table {
		nr, ok := numbers[arch][row.Name]
		if ok && nr == d.nr && !slices.ContainsFunc(row.When, func(t Test) bool { return !holds(t, d) }) {
			return retErrno | uint32(row.Errno)
		}
	}
	return retAllow
}

func holds(t Test, d seccompData) bool {
	arg := uint32(d.args[t.Arg])
	mask := t.Mask
	if mask == 0 {
		mask = 0xffffffff
	}
	switch t.Op {
	case "any":
		return arg&t.Values[0] != 0
	case "in":
		return slices.Contains(t.Values, arg&mask)
	case "not":
		return !slices.Contains(t.Values, arg&mask)
	case "set":
		return d.args[t.Arg] != 0
	}
	panic("unknown test " + t.Op)
}

// limitedTable is the table with the rows for a memory watch.
func limitedTable() []Row { return slices.Concat(Table, watchRows) }

func compiled(t require.TestingT, arch string) []Filter {
	prog, err := Compile(limitedTable(), arch)
	require.NoError(t, err)
	return prog
}

// x32Bit marks the number of a call of the x32 interface.
const x32Bit = 0x40000000

var architectures = []string{"amd64", "arm64"}

// TestEveryRowHasAReason: no row without a Why and an errno, no call that no architecture has, no row twice.
func TestEveryRowHasAReason(t *testing.T) {
	always := map[string]bool{}
	for _, row := range limitedTable() {
		require.NotEmpty(t, row.Why, row.Name)
		require.Contains(t, []uint16{errPERM, errNOSYS, errPROTONOSUPPORT, errAFNOSUPPORT, errOPNOTSUPP}, row.Errno, row.Name)
		known := false
		for _, arch := range architectures {
			_, ok := numbers[arch][row.Name]
			known = known || ok
		}
		require.True(t, known, "%s has no number", row.Name)
		require.False(t, always[row.Name], "%s: a row behind one that always holds", row.Name)
		always[row.Name] = len(row.When) == 0
	}
	for _, arch := range architectures {
		for name := range numbers[arch] {
			require.Contains(t, everyName(), name, "%s has a number and no row", name)
		}
	}
}

// everyName is every call that a row of any table names.
func everyName() []string {
	var names []string
	for _, row := range slices.Concat(limitedTable(), landlockRows) {
		names = append(names, row.Name)
	}
	for _, c := range slices.Concat(writeCalls, readCalls, networkCalls) {
		names = append(names, c.Name)
	}
	return names
}

// TestNumbers compares every number of every architecture with golang.org/x/sys. A name without a number there must not
// exist on that architecture.
func TestNumbers(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	require.NoError(t, err)
	for _, arch := range architectures {
		theirs := sysNumbers(t, filepath.Join(string(bytes.TrimSpace(dir)), "zsysnum_linux_"+arch+".go"))
		require.Greater(t, len(theirs), 250)
		highest := uint32(0)
		for _, n := range theirs {
			highest = max(highest, n)
		}
		require.LessOrEqual(t, uint32(lastCall), highest, "numbers are let through that nobody knows")
		for _, name := range everyName() {
			want, there := theirs["SYS_"+strings.ToUpper(name)]
			got, ours := numbers[arch][name]
			if there || ours && name != "umount2" {
				require.Equal(t, want, got, "%s on %s", name, arch)
			}
			require.Equal(t, there, ours, "%s on %s", name, arch)
		}
	}
}

// sysNumbers reads the constants of a file of system call numbers.
func sysNumbers(t *testing.T, name string) map[string]uint32 {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	list := map[string]uint32{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			v, err := strconv.ParseUint(lit.Value, 0, 32)
			require.NoError(t, err)
			list[spec.Names[0].Name] = uint32(v)
		}
		return true
	})
	return list
}

// TestProgramIsValid checks what the kernel's own checker demands: bounds, jumps that stay inside, an end that returns.
func TestProgramIsValid(t *testing.T) {
	for _, arch := range architectures {
		prog := compiled(t, arch)
		require.LessOrEqual(t, len(prog), 4096)
		for i, in := range prog {
			require.Less(t, i+1+int(max(in.Jt, in.Jf)), len(prog)+1, "%s: jump at %d", arch, i)
		}
		require.EqualValues(t, bpfReturn, prog[len(prog)-1].Code)
	}
	_, err := Compile(Table, "riscv64")
	require.Error(t, err)
}

// TestForeignArchitectures: a call of another architecture kills, whatever its number; x32 and calls that are newer than
// the table are unknown. A kernel without x32 or 32-bit entries cannot show this, the program can (process case 32).
func TestForeignArchitectures(t *testing.T) {
	for _, arch := range architectures {
		prog := compiled(t, arch)
		for nr := range uint32(2 * lastCall) {
			for _, other := range []uint32{0x40000003, 0x40000028, 0, 0xffffffff, auditArch["amd64"] ^ auditArch["arm64"] ^ auditArch[arch]} {
				if got := evaluate(t, prog, seccompData{nr: nr, arch: other}); got != retKillProcess {
					t.Fatalf("%s: call %d of architecture %#x: %#x", arch, nr, other, got)
				}
			}
			x32 := seccompData{nr: nr | x32Bit, arch: auditArch[arch]}
			if got := evaluate(t, prog, x32); got != enosys {
				t.Fatalf("%s: x32 %d: %#x", arch, nr, got)
			}
		}
		for _, nr := range []uint32{lastCall + 1, lastCall + 2, 512, 547, 1 << 16, 1<<30 - 1, 1 << 31, 0xffffffff} {
			require.EqualValues(t, retErrno|errNOSYS, evaluate(t, prog, seccompData{nr: nr, arch: auditArch[arch]}), "%d", nr)
		}
	}
}

// expectation is what the filter must say of one call, written by hand and not derived from the table.
type expectation struct {
	call string
	args []uint64
	want uint32
}

const (
	allowed = uint32(retAllow)
	eperm   = uint32(retErrno | errPERM)
	enosys  = uint32(retErrno | errNOSYS)
	enoaf   = uint32(retErrno | errAFNOSUPPORT)
	enoprot = uint32(retErrno | errPROTONOSUPPORT)
)

// expectations are the calls that kernels here may lack, and the edges of the tests on arguments (process cases 19, 29,
// 32, 33, 36).
var expectations = []expectation{
	{"clone", []uint64{0x11}, allowed}, // SIGCHLD
	{"clone", []uint64{0x3d0f00}, allowed},
	{"clone", []uint64{0x10000000}, eperm}, // NEWUSER
	{"clone", []uint64{0x20000}, eperm},    // NEWNS
	{"clone", []uint64{0x40000000 | 0x11}, eperm},
	{"clone", []uint64{0x80}, eperm}, // NEWTIME
	{"clone", []uint64{0xffffffff_10000011}, eperm},
	{"clone3", nil, enosys},
	{"unshare", []uint64{0x400}, allowed}, // FILES
	{"unshare", []uint64{0x10000000}, eperm},
	{"setns", nil, eperm},
	{"socket", []uint64{2, 1, 0}, allowed},
	{"socket", []uint64{10, 2 | 0x80800, 17}, allowed},
	{"socket", []uint64{2, 2, 1}, allowed},  // ping
	{"socket", []uint64{16, 3, 0}, allowed}, // netlink route
	{"socket", []uint64{16, 3, 15}, eperm},  // netlink kobject_uevent
	{"socket", []uint64{16, 3, 9}, eperm},   // netlink audit
	{"socket", []uint64{1, 1, 0}, eperm},    // AF_UNIX
	{"socket", []uint64{1, 2, 0}, eperm},    // AF_UNIX datagram
	{"socket", []uint64{1 << 32, 1}, enoaf}, // AF_UNSPEC with a high half
	{"socket", []uint64{1<<32 | 1, 1}, eperm},
	{"socket", []uint64{40, 1, 0}, enoaf},   // AF_VSOCK
	{"socket", []uint64{38, 5, 0}, enoaf},   // AF_ALG
	{"socket", []uint64{17, 3, 768}, enoaf}, // AF_PACKET
	{"socket", []uint64{44, 3, 0}, enoaf},   // AF_XDP
	{"socket", []uint64{31, 3, 1}, enoaf},   // AF_BLUETOOTH
	{"socket", []uint64{2, 3, 1}, eperm},    // raw
	{"socket", []uint64{2, 3 | 0x80000, 1}, eperm},
	{"socket", []uint64{2, 10, 768}, eperm},   // SOCK_PACKET
	{"socket", []uint64{2, 1, 262}, enoprot},  // MPTCP
	{"socket", []uint64{2, 1, 132}, enoprot},  // SCTP
	{"socket", []uint64{10, 2, 136}, enoprot}, // UDP-Lite
	{"socket", []uint64{2, 6, 33}, enoprot},   // DCCP
	{"socket", []uint64{2, 1, 1<<32 | 262}, enoprot},
	{"socketpair", []uint64{1, 1, 0}, allowed},
	{"socketpair", []uint64{1, 5 | 0x80000, 0}, allowed},
	{"socketpair", []uint64{1, 2, 0}, eperm},
	{"socketpair", []uint64{1, 3, 0}, eperm},
	{"socketpair", []uint64{1, 2 | 1<<40, 0}, eperm},
	{"socketpair", []uint64{30, 1, 0}, enoaf},
	{"ioctl", []uint64{0, 0x5401}, allowed}, // TCGETS
	{"ioctl", []uint64{0, 0x5412}, eperm},
	{"ioctl", []uint64{0, 0xabcdef01_00005412}, eperm},
	{"ioctl", []uint64{0, 0x541c}, eperm},
	{"ioctl", []uint64{0, 1<<63 | 0x541c}, eperm},
	{"personality", []uint64{0xffffffff}, allowed},
	{"personality", []uint64{0}, allowed},
	{"personality", []uint64{0x40000}, allowed}, // no address randomisation
	{"personality", []uint64{0x400000}, eperm},  // READ_IMPLIES_EXEC
	{"personality", []uint64{0x100000}, eperm},  // MMAP_PAGE_ZERO
	{"seccomp", []uint64{1, 0}, allowed},
	{"seccomp", []uint64{1, 8}, eperm},
	{"seccomp", []uint64{1, 1<<32 | 8 | 1}, eperm},
	{"prlimit64", []uint64{0, 1, 0x7ffe1000}, allowed}, // its own limits: hard is hard
	{"prlimit64", []uint64{1, 1, 0, 1}, allowed},       // only asking
	{"prlimit64", []uint64{1, 7, 0x7ffe1000}, eperm},
	{"prlimit64", []uint64{1, 7, 0x7ffe_00000000}, eperm}, // the low half of the pointer is zero
	{"prlimit64", []uint64{5, 0, 1}, eperm},               // another thread of the first process
	{"prlimit64", []uint64{1<<32 | 1, 0, 1}, eperm},
	{"prlimit64", []uint64{1 << 32, 0, 1}, allowed}, // the kernel reads 0
	{"chmod", []uint64{1, 0o755}, allowed},
	{"chmod", []uint64{1, 0o4755}, eperm},
	{"fchmod", []uint64{1, 0o2755}, eperm},
	{"fchmodat", []uint64{1, 1, 0o6755}, eperm},
	{"fchmodat", []uint64{1, 1, 0o1777}, allowed}, // the sticky bit
	{"fchmodat2", []uint64{1, 1, 1<<40 | 0o4000}, eperm},
	{"creat", []uint64{1, 0o4755}, eperm},
	{"open", []uint64{1, 0x41, 0o4755}, eperm},
	{"open", []uint64{1, 0, 0o4755}, allowed}, // without O_CREAT there is no mode: what stands there is left over
	{"openat", []uint64{1, 1, 0x410002, 0o4600}, eperm},
	{"openat", []uint64{1, 1, 0x40, 0o644}, allowed},
	{"openat2", nil, enosys},
	{"mknod", []uint64{1, 0o104755}, eperm},
	{"mknodat", []uint64{1, 1, 0o10644}, allowed},
	{"memfd_create", nil, enosys}, // in the table with the rows for a memory watch
	{"init_module", nil, eperm}, {"kexec_load", nil, eperm}, {"iopl", nil, eperm}, {"ioperm", nil, eperm},
	{"uselib", nil, enosys}, {"_sysctl", nil, enosys}, {"io_uring_setup", nil, eperm}, {"keyctl", nil, eperm},
	{"bpf", nil, eperm}, {"userfaultfd", nil, eperm}, {"perf_event_open", nil, eperm}, {"ptrace", nil, eperm},
	{"memfd_secret", nil, eperm}, {"open_by_handle_at", nil, eperm},
}

// TestExpectations runs the compiled program of each architecture on calls with known answers.
func TestExpectations(t *testing.T) {
	for _, arch := range architectures {
		prog := compiled(t, arch)
		for _, e := range expectations {
			nr, ok := numbers[arch][e.call]
			if !ok {
				require.Equal(t, "arm64", arch, "%s has no number", e.call)
				continue
			}
			d := seccompData{nr: nr, arch: auditArch[arch]}
			copy(d.args[:], e.args)
			require.Equal(t, e.want, evaluate(t, prog, d), "%s(%#x) on %s", e.call, e.args, arch)
		}
	}
}

// interesting are argument values at the edges of the table's tests.
func interesting() []uint64 {
	values := []uint64{0, 1, 1 << 31, 1 << 32, 0xffffffff, 0xffffffff_ffffffff, 0x7ffe_00000000}
	for _, row := range limitedTable() {
		for _, w := range row.When {
			for _, v := range w.Values {
				values = append(values, uint64(v), uint64(v)+1, uint64(v)-1, uint64(v)|1<<32, uint64(v)|0x80000)
			}
		}
	}
	return values
}

// TestProgramMeansTheTable compares the compiled program with the table, read row by row, on 200,000 calls an
// architecture.
func TestProgramMeansTheTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values, table := interesting(), limitedTable()
	for _, arch := range architectures {
		prog := compiled(t, arch)
		seen := map[uint32]int{}
		for range 200_000 {
			d := seccompData{nr: random.Uint32N(lastCall + 20), arch: auditArch[arch]}
			for i := range d.args {
				if d.args[i] = values[random.IntN(len(values))]; random.IntN(8) == 0 {
					d.args[i] = random.Uint64()
				}
			}
			want := oracle(table, arch, d)
			if got := evaluate(t, prog, d); got != want {
				require.Failf(t, "the program differs", "%s %+v: %#x, the table says %#x", arch, d, got, want)
			}
			seen[want]++
		}
		for _, verdict := range []uint32{allowed, eperm, enosys, enoaf, enoprot} {
			require.NotZero(t, seen[verdict], "%#x was never due", verdict)
		}
	}
}

// FuzzProgramMeansTheTable lets an attacker choose everything.
func FuzzProgramMeansTheTable(f *testing.F) {
	for _, e := range expectations {
		var a [6]uint64
		copy(a[:], e.args)
		f.Add(numbers["amd64"][e.call], uint32(0xc000003e), a[0], a[1], a[2], a[3], a[4], a[5])
	}
	f.Fuzz(func(t *testing.T, nr, arch uint32, a0, a1, a2, a3, a4, a5 uint64) {
		d := seccompData{nr: nr, arch: arch, args: [6]uint64{a0, a1, a2, a3, a4, a5}}
		for _, native := range architectures {
			require.Equal(t, oracle(limitedTable(), native, d), evaluate(t, compiled(t, native), d))
		}
	})
}
