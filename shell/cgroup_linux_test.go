package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines of /proc/self/mountinfo: both versions of control groups, as systemd's hybrid layout has them, a container's view
// of a part of them, and what is no control group.
const mountsForTests = `22 1 0:20 / /proc rw,nosuid - proc proc rw
30 22 0:25 / /sys/fs/cgroup/pids rw,nosuid shared:9 - cgroup cgroup rw,pids
31 22 0:26 /outer/box /sys/fs/cgroup/memory rw,nosuid shared:9 master:3 - cgroup cgroup rw,memory
32 22 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
33 22 0:28 / /sys/fs/cgroup/pidsx rw - cgroup cgroup rw,pidsx
broken line
`

// TestCgroupDir finds where a control group is mounted: below the part of the hierarchy that the mount shows.
func TestCgroupDir(t *testing.T) {
	for _, tc := range []struct {
		fsType, option, path string
		dir, mountPoint      string
	}{
		{"cgroup", "pids", "/", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/pids"},
		{"cgroup", "pids", "/user/me", "/sys/fs/cgroup/pids/user/me", "/sys/fs/cgroup/pids"},
		{"cgroup", "memory", "/outer/box/inner", "/sys/fs/cgroup/memory/inner", "/sys/fs/cgroup/memory"},
		{"cgroup", "memory", "/outer/box", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"},
		{"cgroup2", "", "/a", "/sys/fs/cgroup/unified/a", "/sys/fs/cgroup/unified"},
	} {
		dir, mountPoint, err := cgroupDir(tc.fsType, tc.option, tc.path, mountsForTests)
		require.NoError(t, err)
		require.Equal(t, tc.dir, dir)
		require.Equal(t, tc.mountPoint, mountPoint)
	}
	for _, tc := range [][3]string{
		{"cgroup", "memory", "/elsewhere"}, {"cgroup", "memory", "/outer"}, {"cgroup", "cpu", "/"}, {"cgroup", "pid", "/"},
	} {
		_, _, err := cgroupDir(tc[0], tc[1], tc[2], mountsForTests)
		require.Error(t, err, "%v", tc)
	}
	_, _, err := cgroupDir("cgroup2", "", "/", "")
	require.ErrorContains(t, err, "cgroup2")
}

// TestSecondVersion takes the nearest group on the way up whose children can have the limit, and says so when there is
// none.
func TestSecondVersion(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "slice/unit/scope")
	require.NoError(t, os.MkdirAll(home, 0o755))
	mounts := fmt.Sprintf("32 22 0:27 / %s rw - cgroup2 cgroup2 rw\n", top)
	enable := func(dir, controllers string) {
		require.NoError(t, os.WriteFile(filepath.Join(top, dir, "cgroup.subtree_control"), []byte(controllers+"\n"), 0o644))
	}
	enable("slice/unit/scope", "")
	enable("slice/unit", "cpu memory")
	enable("slice", "cpu memory pids")
	enable(".", "cpuset")
	memory, err := secondVersion("memory", "/slice/unit/scope", mounts)
	require.NoError(t, err)
	require.Equal(t, controller{"memory", 2, filepath.Join(top, "slice/unit")}, memory)
	pids, err := secondVersion("pids", "/slice/unit/scope", mounts)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(top, "slice"), pids.parent)
	_, err = secondVersion("io", "/slice/unit/scope", mounts)
	require.ErrorContains(t, err, "io")
	_, err = secondVersion("cpus", "/slice/unit/scope", mounts)
	require.Error(t, err, "a part of a name is no name")
}

// TestBreaches reads how often the kernel enforced a limit, in the words of both versions.
func TestBreaches(t *testing.T) {
	for _, tc := range []struct {
		c          controller
		file, text string
		want       map[string]int
	}{
		{controller{name: "pids", version: 1}, "pids.events", "max 7\n", map[string]int{"processes": 7}},
		{controller{name: "pids", version: 2}, "pids.events", "max 0\n", map[string]int{}},
		{controller{name: "memory", version: 2}, "memory.events", "low 0\nhigh 0\nmax 90\noom 2\noom_kill 1\n", map[string]int{"memory": 1}},
		{controller{name: "memory", version: 2}, "memory.events", "max 90\noom_kill 0\n", map[string]int{}},
		{controller{name: "memory", version: 1}, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", map[string]int{"memory": 3}},
		{controller{name: "memory", version: 1}, "memory.oom_control", "oom_kill x\n", map[string]int{}},
		{controller{name: "memory", version: 1}, "other", "", map[string]int{}},
	} {
		tc.c.parent = t.TempDir()
		g := &cgroup{controllers: []controller{tc.c}, name: "sallyport-1-x"}
		require.NoError(t, os.Mkdir(g.dir(tc.c), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(g.dir(tc.c), tc.file), []byte(tc.text), 0o644))
		require.Equal(t, tc.want, g.breaches(), "%s: %s", tc.file, tc.text)
	}
	var none *cgroup
	require.Empty(t, none.breaches())
	none.remove()
}

// TestSweep removes what a host that was killed left behind, and nothing that belongs to a living one or to somebody
// else.
func TestSweep(t *testing.T) {
	parent := t.TempDir()
	dead := exec.CommandContext(t.Context(), "true")
	require.NoError(t, dead.Run())
	keep := []string{fmt.Sprintf("sallyport-%d-live", os.Getpid()), "sallyport-x-1", "sallyport-", "other-1-x", "sallyport-1-init"}
	gone := fmt.Sprintf("sallyport-%d-dead", dead.Process.Pid)
	for _, name := range append(keep, gone) {
		require.NoError(t, os.Mkdir(filepath.Join(parent, name), 0o755))
	}
	sweepCgroups(parent)
	require.NoDirExists(t, filepath.Join(parent, gone))
	for _, name := range keep {
		require.DirExists(t, filepath.Join(parent, name))
	}
	sweepCgroups(filepath.Join(parent, "absent"))
}

// TestMakeCgroupRefuses: a limit that cannot be set is a typed error of the layer, and what was made is gone.
func TestMakeCgroupRefuses(t *testing.T) {
	first := controller{name: "memory", version: 2, parent: t.TempDir()}
	second := controller{name: "pids", version: 2, parent: filepath.Join(t.TempDir(), "absent")}
	_, err := makeCgroup([]controller{second, first}, Limits{Processes: 1, MemoryBytes: 1})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "limits", e.Layer)
	require.Equal(t, CodeFailed, e.Code)
	require.Equal(t, "mkdir", e.Syscall)
	left, err := os.ReadDir(first.parent)
	require.NoError(t, err)
	require.Empty(t, left)
}
