package shell_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/policy"
	"sallyport/shell"
)

// openLimited opens a sandbox with limits, of which the one called name may be impossible on this machine: then it must
// be refused when the sandbox is opened, typed, and never be dropped. Such a refusal is an answer too, and there is
// nothing more to look at.
func openLimited(t *testing.T, p policy.Policy, l shell.Limits, name string) (box *shell.Sandbox, limited bool) {
	t.Helper()
	needBoundary(t)
	box, err := shell.Open(t.Context(), p, shell.Options{Limits: l})
	if err != nil {
		e := code(t, err, shell.CodeDependencyMissing)
		require.Equal(t, "limits", e.Layer)
		require.NotEmpty(t, e.Hints)
		noChildren(t)
		t.Logf("the limit of %s cannot be put up here, and Open says so: %v", name, err)
		return nil, false
	}
	t.Cleanup(func() { closeSoon(t, box) })
	layer := box.Report().Layer("limit: " + name)
	require.Equal(t, shell.Enforced, layer.State)
	require.NotEmpty(t, layer.Evidence)
	return box, true
}

// limitRecord asserts that there is exactly one record of a limit that was run into, and that it is complete.
func limitRecord(t *testing.T, cmd *shell.Cmd, limit string) {
	t.Helper()
	require.Len(t, cmd.Violations(), 1)
	v := cmd.Violations()[0]
	require.Equal(t, "limit", v.Operation)
	require.Equal(t, limit, v.Target)
	require.Equal(t, cmd.ID, v.ID)
	require.Equal(t, cmd.Path, v.Program)
	require.WithinDuration(t, time.Now(), v.Time, time.Minute)
	require.Positive(t, v.Count)
	for _, text := range []string{v.Errno, v.Rule, v.Remedy} {
		require.NotEmpty(t, text)
	}
}

// TestMemoryLimit: a command that takes three times its memory is killed, and the completion and a record say why; the
// first arm shows that without the limit it runs.
func TestMemoryLimit(t *testing.T) {
	p, exe := withChild(t, policy.Policy{})
	free := open(t, p, shell.Options{})
	require.Equal(t, "allocated\n", output(t, child(t, free, exe, "allocate", "300")))

	box, limited := openLimited(t, p, shell.Limits{MemoryBytes: 100 << 20}, "memory")
	if !limited {
		return
	}
	for range 2 {
		cmd := child(t, box, exe, "allocate", "300")
		in, err := cmd.StdinPipe() // so that it would keep its memory for ever
		require.NoError(t, err)
		require.NoError(t, cmd.Run())
		_ = in.Close() // Wait has closed it
		require.Equal(t, "memory", cmd.Completion.Limit)
		require.Equal(t, "SIGKILL", cmd.Completion.Signal)
		require.True(t, cmd.Completion.Failed)
		limitRecord(t, cmd, "memory")
	}

	small := script(t, box, "echo small")
	require.Equal(t, "small\n", output(t, small), "a command that stays below is left alone")
	require.Empty(t, small.Completion.Limit)
	require.Empty(t, small.Violations())
}

// TestMemoryLimitOfTree: the limit is for everything together: three processes, of which each alone stays below it.
func TestMemoryLimitOfTree(t *testing.T) {
	p, exe := withChild(t, policy.Policy{})
	box, limited := openLimited(t, p, shell.Limits{MemoryBytes: 150 << 20}, "memory")
	if !limited {
		return
	}
	cmd := script(t, box, `for i in 1 2 3; do sleep 1 | "$1" "$2" allocate 80 & done; wait`, exe, childWord)
	require.NoError(t, cmd.Run())
	limitRecord(t, cmd, "memory")
}

// TestPrivateFilesCountAsMemory: what a command writes to its own /tmp is memory of the machine, and so of the command.
func TestPrivateFilesCountAsMemory(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{MemoryBytes: 100 << 20}, "memory")
	if !limited {
		return
	}
	cmd := script(t, box, "head -c 314572800 /dev/zero >/tmp/large; exec sleep 30")
	began := time.Now()
	require.NoError(t, cmd.Run())
	require.Less(t, time.Since(began), 20*time.Second)
	require.NotEmpty(t, cmd.Violations())
	limitRecord(t, cmd, "memory")
}

// forks starts up to so many processes that stay, and says how many it could.
const forks = `i=0; while [ $i -lt $1 ]; do sleep 60 & i=$((i+1)); echo $i; done`

// TestProcessLimit: not more processes at one moment than the limit, itself included; the first arm shows that without
// it all of them start.
func TestProcessLimit(t *testing.T) {
	free := open(t, policy.Policy{}, shell.Options{})
	require.Equal(t, 60, strings.Count(output(t, script(t, free, forks, "60")), "\n"))

	box, limited := openLimited(t, policy.Policy{}, shell.Limits{Processes: 20}, "processes")
	if !limited {
		return
	}
	for range 2 {
		cmd := script(t, box, forks, "60")
		out, err := cmd.Output()
		require.NoError(t, err)
		started := strings.Count(string(out), "\n")
		require.LessOrEqual(t, started, 20)
		require.GreaterOrEqual(t, started, 15, "the first process of the jail does not use the command's share up")
	}
	require.Equal(t, "fine\n", output(t, script(t, box, "echo fine")))
}

// TestProcessLimitFromTheFirstMoment: where a control group holds the limit it is in force before the command's first
// instruction. A command that starts processes as fast as it can would otherwise be ahead of it on a busy machine.
func TestProcessLimitFromTheFirstMoment(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{Processes: 20}, "processes")
	if !limited {
		return
	}
	_, parent, ok := strings.Cut(box.Report().Layer("limit: processes").Evidence, " in ")
	if !ok || !strings.HasPrefix(parent, "/") {
		return // an rlimit holds it: see TestLimitsFromTheFirstMoment
	}
	files := filepath.Join(parent, "sallyport-"+strconv.Itoa(os.Getpid())+"-*", "pids.max")
	for range 40 / slowness {
		require.Equal(t, "20\n", output(t, script(t, box, "cat $1", files)))
	}
}

// TestProcessLimitIsEachCommands: commands at the same time have the limit each.
func TestProcessLimitIsEachCommands(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{Processes: 20}, "processes")
	if !limited {
		return
	}
	var cmds []*shell.Cmd
	var outs []*writerBuffer
	for range 3 {
		cmd, out := script(t, box, forks+"; read line", "12"), &writerBuffer{}
		cmd.Stdout = out
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer in.Close()
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for _, out := range outs {
		eventually(t, func() bool { return strings.Count(out.String(), "\n") == 12 }, "each starts its twelve")
	}
	for _, cmd := range cmds {
		require.NoError(t, cmd.Signal(syscall.SIGKILL))
		require.NoError(t, cmd.Wait())
	}
}

// TestCPULimit: a loop that never ends is ended after the processor time that it may use.
func TestCPULimit(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{CPUTime: time.Second}, "cpu")
	if !limited {
		return
	}
	cmd := script(t, box, "while :; do :; done")
	require.NoError(t, cmd.Run())
	require.Contains(t, []string{"SIGKILL", "SIGXCPU"}, cmd.Completion.Signal)
	used := cmd.Completion.UserTime + cmd.Completion.SystemTime
	require.Greater(t, used, 500*time.Millisecond)
	require.Less(t, used, 3*time.Second)
	require.Equal(t, "cpu", cmd.Completion.Limit)
	limitRecord(t, cmd, "cpu")
	require.Equal(t, "fine\n", output(t, script(t, box, "echo fine")))
}

// TestFileSizeLimit: no file grows beyond the limit, and the process that tried gets a signal.
func TestFileSizeLimit(t *testing.T) {
	dir := workspace(t)
	box, limited := openLimited(t, writable(dir), shell.Limits{FileSizeBytes: 1 << 20}, "file size")
	if !limited {
		return
	}
	cmd := script(t, box, `head -c 3145728 /dev/zero >"$1/large"; echo "status $?"; head -c 1000 /dev/zero >"$1/small"; echo "status $?"`, dir)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("status %d\nstatus 0\n", 128+int(syscall.SIGXFSZ)), string(out))
	for name, size := range map[string]int64{"large": 1 << 20, "small": 1000} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, size, info.Size())
	}
	cmd = command(t, box, "dd", "if=/dev/zero", "of="+filepath.Join(dir, "large"), "bs=1M", "count=3")
	require.NoError(t, cmd.Run())
	require.Equal(t, "SIGXFSZ", cmd.Completion.Signal)
}

// limitsInside are the rows of /proc/self/limits that a command sees: soft and hard.
func limitsInside(t *testing.T, box *shell.Sandbox) map[string][2]string {
	rows := map[string][2]string{}
	for _, line := range strings.Split(output(t, command(t, box, "cat", "/proc/self/limits")), "\n") {
		if len(line) < 60 {
			continue
		}
		values := strings.Fields(line[26:])
		rows[strings.TrimSpace(line[:26])] = [2]string{values[0], values[1]}
	}
	return rows
}

// TestLimitsAreHard: a limit of setrlimit is as hard as it is soft, so that it cannot be raised again from inside, and
// what is not limited is as the host has it.
func TestLimitsAreHard(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{CPUTime: 90 * time.Second, FileSizeBytes: 5 << 20}, "cpu")
	if !limited {
		return
	}
	require.Equal(t, [2]string{"0", "0"}, limitsInside(t, box)["Max core file size"])
	out := output(t, script(t, box, `for way in "-t unlimited" "-S -t 91" "-H -t 91" "-f unlimited" "-c 1"; do ulimit $way 2>/dev/null && echo "raised by $way"; done; echo done`))
	require.Equal(t, "done\n", out)

	free := limitsInside(t, open(t, policy.Policy{}, shell.Options{}))
	require.Equal(t, "unlimited", free["Max file size"][1])
	require.Equal(t, [2]string{"0", "0"}, free["Max core file size"])
	var host syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &host))
	require.Equal(t, strconv.FormatUint(host.Max, 10), free["Max open files"][1])
}

// TestLimitsFromTheFirstMoment: the hard limit is there before the command's first instruction, so that nothing the
// command starts can have been born without it.
func TestLimitsFromTheFirstMoment(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{CPUTime: 90 * time.Second, FileSizeBytes: 5 << 20}, "cpu")
	if !limited {
		return
	}
	for range 40 / slowness {
		rows := limitsInside(t, box)
		require.Equal(t, [2]string{"90", "90"}, rows["Max cpu time"])
		require.Equal(t, [2]string{strconv.Itoa(5 << 20), strconv.Itoa(5 << 20)}, rows["Max file size"])
	}
}

// TestCPUTimeIsRoundedUp: a fraction of a second is a whole one, not none.
func TestCPUTimeIsRoundedUp(t *testing.T) {
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{CPUTime: time.Millisecond}, "cpu")
	if !limited {
		return
	}
	require.Equal(t, [2]string{"1", "1"}, limitsInside(t, box)["Max cpu time"])
}

// TestHugeLimits: a limit beyond everything that the machine has is no limit, or an error when the sandbox is opened; it
// does not turn into a small one.
func TestHugeLimits(t *testing.T) {
	needBoundary(t)
	for name, o := range map[string]shell.Options{
		"memory":    {Limits: shell.Limits{MemoryBytes: math.MaxInt64}},
		"processes": {Limits: shell.Limits{Processes: math.MaxInt}},
		"cpu":       {Limits: shell.Limits{CPUTime: math.MaxInt64}},
		"file size": {Limits: shell.Limits{FileSizeBytes: math.MaxInt64}},
		"tmp":       {TmpBytes: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			box, err := shell.Open(t.Context(), policy.Policy{}, o)
			if err != nil {
				require.NotEmpty(t, shell.CodeOf(err), "%v", err)
				return
			}
			defer closeSoon(t, box)
			out := output(t, script(t, box, `head -c 1000000 /dev/zero >/tmp/f; (true); (true); stat -c %s /tmp/f`))
			require.Equal(t, "1000000\n", out)
		})
	}
}

// TestLimitsLeaveNothing: what binds a limit is gone with the command, and with the sandbox.
func TestLimitsLeaveNothing(t *testing.T) {
	before := cgroups(t)
	box, limited := openLimited(t, policy.Policy{}, shell.Limits{MemoryBytes: 200 << 20}, "memory")
	if !limited {
		return
	}
	for range 5 {
		require.NoError(t, command(t, box, "true").Run())
		require.Error(t, command(t, box, "no-such-command").Run())
	}
	require.NoError(t, box.Close())
	eventually(t, func() bool { return len(cgroups(t)) <= len(before) }, "control groups are left: %v", cgroups(t))
}

// cgroups lists the control groups whose name is ours.
func cgroups(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/sys/fs/cgroup/*/*/*"} {
		names, err := filepath.Glob(pattern + "/sallyport-" + strconv.Itoa(os.Getpid()) + "-*")
		require.NoError(t, err)
		found = append(found, names...)
	}
	return found
}
