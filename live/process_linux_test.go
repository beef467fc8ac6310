package live

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var (
	namespacesAlone = []string{"namespaces"}
	procAlone       = []string{"proc"}
)

// standInPID starts a process for the attack and remembers it for the look from the host.
func standInPID(f *field) []string {
	pid := f.standIn()
	f.write(f.dir+"/stand-in", strconv.Itoa(pid))
	return []string{strconv.Itoa(pid)}
}

func standInEnded(f *field) string {
	b, err := os.ReadFile(f.dir + "/stand-in")
	require.NoError(f.t, err)
	if ended(atoi(string(b))) {
		return "the process outside has ended"
	}
	return ""
}

// hostSegment makes a shared memory segment for the attack to find.
func hostSegment(f *field) []string {
	key := os.Getpid()<<8 | 0x5a
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		require.NoError(f.t, err)
	})
	return []string{strconv.Itoa(key)}
}

// processAttacks are the attacks on processes outside, on the first process of the jail, and on the kernel's files
// (process cases 12, 13, 35; conformance 51).
var processAttacks = []attack{
	{
		name:  "look-at-host-process",
		why:   "/proc shows environments, memory and open files of every process of the same user (case 12)",
		alone: [][]string{procAlone},
		notBy: [][]string{namespacesAlone},
		args:  standInPID,
	},
	{
		name:  "signal-host-process",
		why:   "a process of the same user can be ended (conformance 51)",
		alone: [][]string{namespacesAlone, landlockAlone},
		args:  standInPID,
		after: standInEnded,
	},
	{
		name:  "share-memory",
		why:   "segments of the host are found by their number",
		alone: [][]string{namespacesAlone},
		args:  hostSegment,
	},
	{
		name:  "trace-host-process",
		why:   "a process of the same user can be read and steered",
		alone: [][]string{namespacesAlone, seccompAlone},
		args:  standInPID,
	},
	{
		name:     "look-into-first-process",
		why:      "its memory, root and files are the way out of the jail, also for uid 0 (cases 12, 13, CVE-2019-5736)",
		alone:    [][]string{capsAlone},
		rootOnly: true,
	},
	{
		name:  "end-first-process",
		why:   "a command's signal to PID 1 ended it and its report",
		alone: [][]string{namespacesAlone},
		alike: "without a pid namespace there is no PID 1 of ours to end; signal-host-process shows what a signal does then",
	},
	{
		name:  "limit-first-process",
		why:   "without descriptors it cannot watch the memory, without memory it cannot report",
		alone: [][]string{seccompAlone},
	},
	{
		name:     "write-sysctl",
		why:      "uid 0 without any capability could write core_pattern and so run a program on the host",
		alone:    [][]string{procAlone, landlockAlone},
		rootOnly: true,
	},
	{
		name:     "write-sysfs",
		why:      "devices and modules are set there, by uid alone",
		alone:    [][]string{mountsAlone, landlockAlone},
		rootOnly: true,
	},
	{
		name:     "read-kernel-files",
		why:      "kernel memory, key rings and other processes' timers are in /proc",
		alone:    [][]string{append([]string{"capabilities"}, procAlone...)},
		together: "root's capabilities read what has no mode bits at all",
		rootOnly: true,
	},
	{
		name:     "inspect-first-process-threads",
		why:      "rights are per thread: one that kept its own is the way out",
		alone:    [][]string{{"capabilities", "no_new_privs"}},
		together: "the two are looked at together",
	},
	{
		name:     "inspect-self",
		why:      "what the command itself may (case 35)",
		alone:    [][]string{{"capabilities", "no_new_privs", "seccomp"}},
		together: "the three are looked at together",
	},
}

// TestProcessAttacks runs the table.
func TestProcessAttacks(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, a := range processAttacks {
			a.test(t)
		}
	})
}
