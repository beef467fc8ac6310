package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

func init() {
	modes["confinement"] = confinementMain
	modes["session"] = sessionMain
}

// confinementMain puts itself into some confinement and executes itself again, which then says what it found.
func confinementMain(args []string) int {
	runtime.LockOSThread()
	var err error
	for len(args) > 0 && err == nil {
		switch args[0] {
		case "no_new_privs":
			err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		case "landlock":
			err = enterLandlock()
		case "seccomp":
			err = forbidUnshare()
		case "say":
			return say()
		}
		args = args[1:]
	}
	if err == nil {
		err = syscall.Exec("/proc/self/exe", []string{os.Args[0], "confinement", "say"}, os.Environ())
	}
	fmt.Println(err)
	return 1
}

func say() int {
	b, err := json.Marshal(shell.HostConfinement())
	fmt.Println(string(b), err)
	return 0
}

// enterLandlock enters a domain that forbids making block devices.
func enterLandlock() error {
	attr := struct{ handled uint64 }{unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// forbidUnshare puts up a filter by which clone with new user namespaces, and so every jail, is refused.
func forbidUnshare() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // the flags
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

// TestConfinementIsFound: a process that is confined already finds out how, by every mark (R105). Domains of Landlock are
// counted, although the kernel tells nobody; and counting leaves this process as it was.
func TestConfinementIsFound(t *testing.T) {
	here := shell.HostConfinement()
	require.Equal(t, here, shell.HostConfinement())
	require.NoError(t, unix.Prctl(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
	found := func(cmd *exec.Cmd) shell.Confinement {
		var c shell.Confinement
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		text, failure, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		require.Equal(t, "<nil>", failure, "%s", out)
		require.NoError(t, json.Unmarshal([]byte(text), &c))
		return c
	}
	require.Equal(t, here, found(again("confinement", "say")), "the control: nothing more than this process has")
	if here.Landlock >= 0 {
		want := here
		want.NoNewPrivs, want.Landlock = true, here.Landlock+3
		require.Equal(t, want, found(again("confinement", "landlock", "landlock", "landlock")))
	}
	want := here
	want.NoNewPrivs = true
	require.Equal(t, want, found(again("confinement", "no_new_privs")))
	want.Seccomp = 2
	require.Equal(t, want, found(again("confinement", "seccomp")))
	inside := again("confinement", "say")
	inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}}
	require.True(t, found(inside).UserNamespace)

	bothUsers(t, func(t *testing.T) { // and in a jail of our own, which lets no Landlock domain be made
		f := newField(t)
		cmd := command(t, open(t, f.writable(), shell.Options{}), "/", attacker(), "confinement", "say")
		out, err := cmd.Output()
		require.NoError(t, explain(err))
		var c shell.Confinement
		text, _, _ := strings.Cut(string(out), " ")
		require.NoError(t, json.Unmarshal([]byte(text), &c), "%s", out)
		require.Equal(t, shell.Confinement{Seccomp: 2, NoNewPrivs: true, UserNamespace: true, Landlock: -1}, c)
	})
}

// sessionMain opens a session with a probe under the given confinement, and says what came of it and which events there were.
func sessionMain(args []string) int {
	if len(args) > 0 && args[0] == "forbid" {
		runtime.LockOSThread()
		if err := forbidUnshare(); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(syscall.Exec("/proc/self/exe", append([]string{os.Args[0], "session"}, args[1:]...), os.Environ()))
		return 1
	}
	m := shell.NewManager(shell.ManagerOptions{OnEvent: func(e shell.Event) { fmt.Printf("event %s %s\n", e.Kind, e.Subject) }})
	o := shell.SessionOptions{Policy: policy.Policy{}, ProbeSpawn: true, AllowUnsandboxedFallback: len(args) > 0 && args[0] == "fallback"}
	s, err := m.Open(context.Background(), o)
	var e *shell.Error
	if errors.As(err, &e) {
		fmt.Printf("refused %s by %s: %d\n", e.Code, e.Syscall, e.Errno)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("opened")
	if err := s.Dispose(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// TestKernelRefusalIsNoMissingBinary: where the kernel forbids what a jail needs, the error names the call and the errno, and
// says neither that a program is missing nor that a fallback would do (R102, R88, L16). Unconfined, the same session opens, and an
// event tells of the confinement that is there already.
func TestKernelRefusalIsNoMissingBinary(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		out, err := again("session").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "opened")
		for _, args := range [][]string{{"session", "forbid"}, {"session", "forbid", "fallback"}} {
			out, err = again(args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			text := string(out)
			require.Contains(t, text, "event adoption", "that this process is confined is told")
			require.NotContains(t, text, "opened")
			require.Regexp(t, fmt.Sprintf(`refused E_SANDBOX_\w+ by clone\w*: %d`, unix.EPERM), text)
			t.Logf("%s", text)
		}
	})
}
