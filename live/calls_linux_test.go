package live

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestRefusedCalls: every call of the table is refused by the filter alone and answered without it (process case 33).
func TestRefusedCalls(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		if missing := hostSays(); len(missing) > 0 {
			record(entry{Kind: "note", Test: t.Name(), Detail: "not in this kernel, so asserted on the compiled filter alone: " + inPart(missing)})
		}
		attack{
			name:  "refused-calls",
			why:   "namespaces, mounts, tracing, keys, io_uring and more are attack surface, or the way out",
			alone: [][]string{seccompAlone},
		}.test(t)
		attack{
			name:     "refused-calls-of-root",
			why:      "the same for calls that the kernel gives to root only",
			alone:    [][]string{seccompAlone},
			rootOnly: true,
		}.test(t)
	})
}

// TestForeignCalls: a 32-bit call from a 64-bit program kills it, an x32 call is unknown (process case 32). The programs
// are written by hand, so that no compiler is needed. Where a kernel lacks the way in, the compiled filter is tested
// instead, in the package that compiles it.
func TestForeignCalls(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, code := range foreignPrograms {
			t.Run(name, func(t *testing.T) {
				path := ""
				a := attack{
					name:        "foreign-calls",
					why:         "a filter that looks at the number alone takes it for another call",
					alone:       [][]string{seccompAlone},
					mayBeAbsent: name,
					before: func(f *field) {
						path = f.outside + "/program"
						require.NoError(f.t, os.WriteFile(path, elfProgram(code), 0o755))
					},
					args: func(*field) []string { return []string{path} },
				}
				if name == "x32" {
					// With the filter the answer is ENOSYS, which is also what a kernel without x32 says.
					f := newField(t)
					a.before(f)
					found := attackIn(t, open(t, f.writable(), a.options), f.ws, nil, a.name, path)
					record(entry{Kind: "arm", Test: t.Name(), Attack: "x32", Arm: "everything up", Outcome: found.verdict, Detail: found.detail})
					require.Equal(t, finding{absent, "ENOSYS"}, found)
					return
				}
				a.test(t)
			})
		}
	})
}

// pty makes a pseudo-terminal of the host and gives its two ends.
func pty(f *field) (master, slave *os.File) {
	f.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, master.Close()) })
	require.NoError(f.t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(f.t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, slave.Close()) })
	return master, slave
}

// TestTerminal: nothing is typed into a terminal that the command was handed (process case 36).
func TestTerminal(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		attack{
			name:     "type-into-terminal",
			why:      "what is typed into the host's terminal is run by the host's shell",
			alone:    [][]string{seccompAlone},
			rootOnly: true, // newer kernels keep it from others by a sysctl
			files: func(f *field) []*os.File {
				_, slave := pty(f)
				return []*os.File{slave}
			},
		}.test(t)
	})
}
