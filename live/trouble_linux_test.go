package live

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

// forbidden is one system call that a container's seccomp profile, or an old kernel, answers with an error. With a mask,
// only calls whose argument has one of its bits, or, with equal, is that value.
type forbidden struct {
	NR    uint32
	Errno uint32
	Arg   int
	Mask  uint32
	Equal uint32
}

func init() {
	modes["under-filter"] = underFilter
	modes["without-namespaces"] = withoutNamespaces
	modes["tests-under-filter"] = testsUnderFilter
}

// forbid installs a filter on every thread of this process.
func forbid(list []forbidden) error {
	const load, jumpEqual, jumpSet, ret, allow, fail = 0x20, 0x15, 0x45, 0x06, 0x7fff0000, 0x00050000
	var prog []unix.SockFilter
	add := func(code uint16, jt, jf uint8, k uint32) {
		prog = append(prog, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
	}
	for _, f := range list {
		add(load, 0, 0, 0)
		if f.Mask == 0 && f.Equal == 0 {
			add(jumpEqual, 0, 1, f.NR)
			add(ret, 0, 0, fail|f.Errno)
			continue
		}
		add(jumpEqual, 0, 3, f.NR)
		add(load, 0, 0, 16+8*uint32(f.Arg))
		if f.Mask != 0 {
			add(jumpSet, 0, 1, f.Mask)
		} else {
			add(jumpEqual, 0, 1, f.Equal)
		}
		add(ret, 0, 0, fail|f.Errno)
	}
	add(ret, 0, 0, allow)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// opened is what came of opening a sandbox and running a command in it, in a process that is in trouble.
type opened struct {
	Error, Code, Layer, Syscall, Errno string
	Hints                              []string
	Ran                                bool
	Children                           []string
}

// tryToOpen opens a sandbox, runs a command when that succeeds, and prints what came of it.
func tryToOpen() int {
	var o opened
	box, err := shell.Open(context.Background(), policy.Policy{}, shell.Options{})
	if err == nil {
		cmd := box.Command(context.Background(), "true")
		cmd.Dir = "/"
		err = cmd.Run()
		o.Ran = err == nil
	}
	if e, ok := err.(*shell.Error); ok {
		o.Code, o.Layer, o.Syscall, o.Hints = string(e.Code), e.Layer, e.Syscall, e.Hints
		o.Errno = unix.ErrnoName(e.Errno)
	}
	if err != nil {
		o.Error = err.Error()
	}
	if o.Children, err = childrenOf(os.Getpid()); err != nil {
		fmt.Println(err)
		return 1
	}
	b, err := json.Marshal(o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(string(b))
	return 0
}

func underFilter(args []string) int {
	var list []forbidden
	if err := json.Unmarshal([]byte(args[0]), &list); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := forbid(list); err != nil {
		fmt.Println(err)
		return 1
	}
	return tryToOpen()
}

// withoutNamespaces forbids user namespaces below the one that it was started in.
func withoutNamespaces([]string) int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	return tryToOpen()
}

// testsUnderFilter runs tests of this binary where no user namespace can be made.
func testsUnderFilter(args []string) int {
	err := forbid(noUserNamespaces(unix.EPERM))
	if err == nil {
		err = syscall.Exec(attacker2(), append([]string{attacker2()}, args...), os.Environ())
	}
	fmt.Println(err)
	return 1
}

// noUserNamespaces is what containers and some distributions do.
func noUserNamespaces(errno syscall.Errno) []forbidden {
	return []forbidden{
		{NR: unix.SYS_CLONE, Errno: uint32(errno), Mask: unix.CLONE_NEWUSER},
		{NR: unix.SYS_UNSHARE, Errno: uint32(errno), Mask: unix.CLONE_NEWUSER},
		{NR: unix.SYS_CLONE3, Errno: uint32(unix.ENOSYS)},
	}
}

// trouble is one layer that cannot be put up.
type trouble struct {
	name    string
	deny    []forbidden
	layer   string
	syscall string
	errno   string
	code    shell.Code
	hint    string // in one of the hints
}

func denied(nr uint32, errno syscall.Errno) []forbidden {
	return []forbidden{{NR: nr, Errno: uint32(errno)}}
}

// troubles are one a layer at least, with the errors that a container, an old kernel or a security module gives.
var troubles = []trouble{
	{"no user namespace", noUserNamespaces(unix.EPERM), "namespaces", "clone", "EPERM", shell.CodeFailed, "seccomp profile"},
	{"too many user namespaces", noUserNamespaces(unix.ENOSPC), "namespaces", "clone", "ENOSPC", shell.CodeFailed, ""},
	{"no host name", denied(unix.SYS_SETHOSTNAME, unix.EPERM), "namespaces", "sethostname", "EPERM", shell.CodeFailed, ""},
	{"no interface flags", []forbidden{{NR: unix.SYS_IOCTL, Errno: uint32(unix.EPERM), Arg: 1, Equal: unix.SIOCSIFFLAGS}},
		"network", "ioctl", "EPERM", shell.CodeFailed, ""},
	{"no mount", denied(unix.SYS_MOUNT, unix.EPERM), "mounts", "mount", "EPERM", shell.CodeFailed, "mount"},
	{"no open_tree", denied(unix.SYS_OPEN_TREE, unix.EPERM), "mounts", "open_tree", "EPERM", shell.CodeFailed, "mount"},
	{"no move_mount", denied(unix.SYS_MOVE_MOUNT, unix.EPERM), "mounts", "move_mount", "EPERM", shell.CodeFailed, "mount"},
	{"no pivot_root", denied(unix.SYS_PIVOT_ROOT, unix.EPERM), "mounts", "pivot_root", "EPERM", shell.CodeFailed, "pivot_root"},
	{"no umount", denied(unix.SYS_UMOUNT2, unix.EPERM), "mounts", "umount2", "EPERM", shell.CodeFailed, "mount"},
	{"no mount_setattr", denied(unix.SYS_MOUNT_SETATTR, unix.ENOSYS), "mounts", "mount_setattr", "ENOSYS", shell.CodeDependencyMissing, "too old"},
	{"no close_range", denied(unix.SYS_CLOSE_RANGE, unix.ENOSYS), "descriptors", "close_range", "ENOSYS", shell.CodeDependencyMissing, "too old"},
	{"no capset", denied(unix.SYS_CAPSET, unix.EPERM), "capabilities", "capset", "EPERM", shell.CodeFailed, ""},
	{"no bounding set", []forbidden{{NR: unix.SYS_PRCTL, Errno: uint32(unix.EPERM), Equal: unix.PR_CAPBSET_DROP}},
		"capabilities", "prctl", "EPERM", shell.CodeFailed, ""},
	{"no no_new_privs", []forbidden{{NR: unix.SYS_PRCTL, Errno: uint32(unix.EPERM), Equal: unix.PR_SET_NO_NEW_PRIVS}},
		"no_new_privs", "prctl", "EPERM", shell.CodeFailed, ""},
	{"no core limit", []forbidden{{NR: unix.SYS_PRLIMIT64, Errno: uint32(unix.EPERM), Arg: 1, Equal: unix.RLIMIT_CORE}},
		"rlimits", "limit", "EPERM", shell.CodeFailed, ""},
	{"kernel without Landlock", denied(unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS),
		"landlock", "landlock_create_ruleset", "ENOSYS", shell.CodeDependencyMissing, "Landlock"},
	{"Landlock not started", denied(unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP),
		"landlock", "landlock_create_ruleset", "ENOTSUP", shell.CodeDependencyMissing, "lsm="},
	{"no Landlock restriction", denied(unix.SYS_LANDLOCK_RESTRICT_SELF, unix.EPERM),
		"landlock", "landlock_restrict_self", "EPERM", shell.CodeFailed, ""},
	{"no seccomp", denied(unix.SYS_SECCOMP, unix.EINVAL), "names", "seccomp", "EINVAL", shell.CodeFailed, ""},
	{"somebody else answers calls", []forbidden{{NR: unix.SYS_SECCOMP, Errno: uint32(unix.EBUSY), Arg: 1, Equal: 0x28}},
		"names", "NEW_LISTENER", "EBUSY", shell.CodeFailed, "listener"},
	{"memory of others cannot be read", denied(unix.SYS_PROCESS_VM_READV, unix.EPERM), "names", "", "", shell.CodeFailed, ""},
}

// TestLayerThatCannotBePutUp: whatever a machine forbids, opening fails with the layer, the system call and the errno,
// and what to do; nothing runs, and nothing is left (R16, R17; process case 31).
func TestLayerThatCannotBePutUp(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for _, c := range troubles {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				list, err := json.Marshal(c.deny)
				require.NoError(t, err)
				o := openInTrouble(t, "under-filter", string(list))
				require.False(t, o.Ran, "a command ran with less than everything")
				require.Equal(t, string(c.code), o.Code, o.Error)
				require.Equal(t, c.layer, o.Layer, o.Error)
				require.Contains(t, o.Syscall, c.syscall, o.Error)
				require.Equal(t, c.errno, o.Errno, o.Error)
				checkLine(t, o)
				require.Contains(t, strings.Join(o.Hints, "\n"), c.hint)
				if c.hint != "" {
					require.NotEmpty(t, o.Hints)
				}
			})
		}
	})
}

// openInTrouble runs a mode of this binary that opens a sandbox.
func openInTrouble(t *testing.T, args ...string) opened {
	t.Helper()
	out, err := again(args...).Output()
	require.NoError(t, err, "%s", out)
	var o opened
	require.NoError(t, json.Unmarshal(out, &o), "%s", out)
	require.Empty(t, o.Children, "a process is left")
	return o
}

// checkLine: an error is one line in lower case that names the call and the errno.
func checkLine(t *testing.T, o opened) {
	t.Helper()
	require.NotContains(t, o.Error, "\n")
	require.False(t, unicode.IsUpper([]rune(o.Error)[0]), o.Error)
	require.Contains(t, o.Error, o.Syscall)
	require.Contains(t, o.Error, o.Errno)
}

// pretences are calls that a machine says to have done and has not done, by the layer that is then not in force. Two are
// not here: with an empty bounding set the exec empties the other sets even without capset, and the filter of this test
// has set no_new_privs already.
var pretences = map[string][]forbidden{
	"mounts: mount_setattr":                {{NR: unix.SYS_MOUNT_SETATTR}},
	"mounts: move_mount":                   {{NR: unix.SYS_MOVE_MOUNT}},
	"mounts: pivot_root":                   {{NR: unix.SYS_PIVOT_ROOT}},
	"mounts: umount2":                      {{NR: unix.SYS_UMOUNT2}},
	"capabilities: prctl(PR_CAPBSET_DROP)": {{NR: unix.SYS_PRCTL, Equal: unix.PR_CAPBSET_DROP}},
	"rlimits: prlimit64":                   {{NR: unix.SYS_PRLIMIT64, Arg: 1, Equal: unix.RLIMIT_CORE}},
	"landlock: landlock_restrict_self":     {{NR: unix.SYS_LANDLOCK_RESTRICT_SELF}},
	"seccomp: seccomp":                     {{NR: unix.SYS_SECCOMP}},
}

// TestPretenceIsFoundOut: when a call says that it was done and nothing came of it, opening fails all the same: what is
// in force is read back, not remembered.
func TestPretenceIsFoundOut(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		for name, list := range pretences {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				b, err := json.Marshal(list)
				require.NoError(t, err)
				o := openInTrouble(t, "under-filter", string(b))
				require.False(t, o.Ran, "a command ran in a jail that is not sound")
				require.Equal(t, string(shell.CodeFailed), o.Code, o.Error)
				t.Log(o.Layer, o.Error)
			})
		}
	})
}

// TestNoUserNamespacesLeft: user.max_user_namespaces is 0, in a user namespace of the test's own, and the hint names the
// setting (process case 31).
func TestNoUserNamespacesLeft(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		cmd := again("without-namespaces")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		var o opened
		require.NoError(t, json.Unmarshal(out, &o), "%s", out)
		require.False(t, o.Ran)
		require.Equal(t, string(shell.CodeFailed), o.Code)
		require.Equal(t, "namespaces", o.Layer)
		require.Equal(t, "ENOSPC", o.Errno)
		require.Contains(t, strings.Join(o.Hints, "\n"), "user.max_user_namespaces is 0")
		checkLine(t, o)
	})
}

// TestProbeRunsARealCommand: where no namespace can be made, a test is skipped, aloud, and fails when skips are
// forbidden; the probe is a confined command and no look at a file of features (R304, R308, R309).
func TestProbeRunsARealCommand(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		run := func(live string) (string, error) {
			cmd := again("tests-under-filter", "-test.run=^TestLoopbackInside$", "-test.v")
			cmd.Env = append(cmd.Env, "SALLYPORT_LIVE="+live, "SALLYPORT_LIVE_JOURNAL="+strconv.Itoa(4))
			// Its skip is meant, so it has a journal of its own.
			own, err := os.CreateTemp(userDir(os.Getuid()), "journal")
			require.NoError(t, err)
			defer own.Close()
			cmd.ExtraFiles = append(cmd.ExtraFiles, own)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		out, err := run("")
		require.NoError(t, err, out)
		require.Contains(t, out, "live: SKIPPED TestLoopbackInside/"+whoami())
		require.Contains(t, out, "no command can be confined here")
		out, err = run("require")
		require.Error(t, err, out)
		require.Contains(t, out, "forbids to skip")
	})
}
