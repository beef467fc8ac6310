package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["refused-calls"] = func([]string) (finding, error) { return tryCalls(false) }
	attackers["refused-calls-of-root"] = func([]string) (finding, error) { return tryCalls(true) }
	attackers["foreign-calls"] = foreignCalls
	attackers["type-into-terminal"] = typeIntoTerminal
}

// nowhere is an address at which nothing is mapped, and noFD a descriptor that is not open: a call that gets past the
// boundary fails for them, and does no harm.
const (
	nowhere = 1
	noFD    = ^uintptr(0)
)

// call is a system call that the filter refuses, with arguments for which the kernel itself gives another error, or
// none. What counts is that the error is not the filter's.
type call struct {
	name string
	nr   uintptr
	args [6]uintptr
	// root: for an ordinary user the kernel's own refusal is the same as the filter's.
	root bool
	// absent: the call is not in every kernel, which then says ENOSYS.
	absent bool
	errno  syscall.Errno // the filter's; EPERM when zero
}

// calls are the refused calls of every architecture (process cases 16, 33, 36).
var calls = append([]call{
	{name: "unshare(NEWUSER)", nr: unix.SYS_UNSHARE, args: [6]uintptr{unix.CLONE_NEWUSER}},
	{name: "unshare(NEWNS)", nr: unix.SYS_UNSHARE, args: [6]uintptr{unix.CLONE_NEWNS}, root: true},
	{name: "unshare(NEWUSER), high bits set", nr: unix.SYS_UNSHARE, args: [6]uintptr{unix.CLONE_NEWUSER | 1<<32}},
	// CLONE_FS does not go with a new user namespace: EINVAL before anything is made.
	{name: "clone(NEWUSER)", nr: unix.SYS_CLONE, args: [6]uintptr{unix.CLONE_NEWUSER | unix.CLONE_FS}},
	{name: "clone3", nr: unix.SYS_CLONE3, args: [6]uintptr{0, 0}, errno: unix.ENOSYS},
	{name: "setns", nr: unix.SYS_SETNS, args: [6]uintptr{noFD, 0}},
	{name: "mount", nr: unix.SYS_MOUNT, args: [6]uintptr{nowhere, nowhere, nowhere, 0, nowhere}},
	{name: "umount2", nr: unix.SYS_UMOUNT2, args: [6]uintptr{nowhere, 0}, root: true},
	{name: "pivot_root", nr: unix.SYS_PIVOT_ROOT, args: [6]uintptr{nowhere, nowhere}, root: true},
	{name: "chroot", nr: unix.SYS_CHROOT, args: [6]uintptr{nowhere}},
	{name: "fsopen", nr: unix.SYS_FSOPEN, args: [6]uintptr{nowhere, 0}, root: true},
	{name: "fsconfig", nr: unix.SYS_FSCONFIG, args: [6]uintptr{noFD, 99}},
	{name: "fsmount", nr: unix.SYS_FSMOUNT, args: [6]uintptr{noFD}, root: true},
	{name: "fspick", nr: unix.SYS_FSPICK, args: [6]uintptr{noFD, nowhere}, root: true},
	{name: "open_tree", nr: unix.SYS_OPEN_TREE, args: [6]uintptr{noFD, nowhere}},
	{name: "move_mount", nr: unix.SYS_MOVE_MOUNT, args: [6]uintptr{noFD, nowhere, noFD, nowhere}, root: true},
	{name: "mount_setattr", nr: unix.SYS_MOUNT_SETATTR, args: [6]uintptr{noFD, nowhere, 0, nowhere, 1}},
	{name: "name_to_handle_at", nr: unix.SYS_NAME_TO_HANDLE_AT, args: [6]uintptr{noFD, nowhere, nowhere, nowhere}},
	{name: "open_by_handle_at", nr: unix.SYS_OPEN_BY_HANDLE_AT, args: [6]uintptr{noFD, nowhere}, root: true},
	{name: "ptrace", nr: unix.SYS_PTRACE, args: [6]uintptr{unix.PTRACE_ATTACH, noFD}},
	{name: "process_vm_readv", nr: unix.SYS_PROCESS_VM_READV, args: [6]uintptr{noFD, 0, 0, 0, 0}},
	{name: "process_vm_writev", nr: unix.SYS_PROCESS_VM_WRITEV, args: [6]uintptr{noFD, 0, 0, 0, 0}},
	{name: "process_madvise", nr: unix.SYS_PROCESS_MADVISE, args: [6]uintptr{noFD}},
	{name: "process_mrelease", nr: unix.SYS_PROCESS_MRELEASE, args: [6]uintptr{noFD}, absent: true},
	{name: "pidfd_getfd", nr: unix.SYS_PIDFD_GETFD, args: [6]uintptr{noFD}},
	{name: "kcmp", nr: unix.SYS_KCMP, args: [6]uintptr{noFD, noFD}, absent: true},
	{name: "bpf", nr: unix.SYS_BPF, args: [6]uintptr{999, nowhere, 4}, root: true},
	{name: "perf_event_open", nr: unix.SYS_PERF_EVENT_OPEN, args: [6]uintptr{nowhere, 0, noFD, noFD}, absent: true},
	{name: "userfaultfd", nr: unix.SYS_USERFAULTFD, args: [6]uintptr{0x4001}, absent: true},
	{name: "fanotify_init", nr: unix.SYS_FANOTIFY_INIT, args: [6]uintptr{1 << 31}, root: true, absent: true},
	{name: "io_uring_setup", nr: unix.SYS_IO_URING_SETUP, args: [6]uintptr{1, nowhere}, absent: true},
	{name: "io_uring_enter", nr: unix.SYS_IO_URING_ENTER, args: [6]uintptr{noFD}, absent: true},
	{name: "io_uring_register", nr: unix.SYS_IO_URING_REGISTER, args: [6]uintptr{noFD}, absent: true},
	{name: "seccomp(NEW_LISTENER)", nr: unix.SYS_SECCOMP,
		args: [6]uintptr{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, nowhere}},
	{name: "lsm_set_self_attr", nr: unix.SYS_LSM_SET_SELF_ATTR, args: [6]uintptr{999}, absent: true},
	{name: "memfd_secret", nr: unix.SYS_MEMFD_SECRET, args: [6]uintptr{0xffff}, absent: true},
	{name: "keyctl", nr: unix.SYS_KEYCTL, args: [6]uintptr{unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 0}, absent: true},
	{name: "add_key", nr: unix.SYS_ADD_KEY, args: [6]uintptr{nowhere, nowhere}, absent: true},
	{name: "request_key", nr: unix.SYS_REQUEST_KEY, args: [6]uintptr{nowhere, nowhere}, absent: true},
	{name: "init_module", nr: unix.SYS_INIT_MODULE, args: [6]uintptr{nowhere, 1, nowhere}, root: true, absent: true},
	{name: "finit_module", nr: unix.SYS_FINIT_MODULE, args: [6]uintptr{noFD, nowhere, 999}, root: true, absent: true},
	{name: "delete_module", nr: unix.SYS_DELETE_MODULE, args: [6]uintptr{nowhere, 0}, root: true, absent: true},
	{name: "kexec_load", nr: unix.SYS_KEXEC_LOAD, args: [6]uintptr{0, 99, nowhere, 0xfff0}, root: true, absent: true},
	{name: "kexec_file_load", nr: unix.SYS_KEXEC_FILE_LOAD, args: [6]uintptr{noFD, noFD, 0, 0, 0xfff0}, root: true, absent: true},
	// Without the magic numbers it does nothing.
	{name: "reboot", nr: unix.SYS_REBOOT, args: [6]uintptr{0, 0, 0}, root: true},
	{name: "swapon", nr: unix.SYS_SWAPON, args: [6]uintptr{nowhere, 1 << 30}, absent: true},
	{name: "swapoff", nr: unix.SYS_SWAPOFF, args: [6]uintptr{nowhere}, root: true, absent: true},
	{name: "acct", nr: unix.SYS_ACCT, args: [6]uintptr{nowhere}, root: true, absent: true},
	{name: "quotactl", nr: unix.SYS_QUOTACTL, args: [6]uintptr{0xff, nowhere}, absent: true},
	{name: "quotactl_fd", nr: unix.SYS_QUOTACTL_FD, args: [6]uintptr{noFD, 0xff}, absent: true},
	{name: "sethostname", nr: unix.SYS_SETHOSTNAME, args: [6]uintptr{nowhere, noFD}, root: true},
	{name: "setdomainname", nr: unix.SYS_SETDOMAINNAME, args: [6]uintptr{nowhere, noFD}, root: true},
	{name: "syslog", nr: unix.SYS_SYSLOG, args: [6]uintptr{99, 0, 0}, root: true, absent: true},
	// Its own process alone, and for the rest of its short life.
	{name: "personality", nr: unix.SYS_PERSONALITY, args: [6]uintptr{0x0400000}},
	{name: "personality, high bits set", nr: unix.SYS_PERSONALITY, args: [6]uintptr{0x0400000 | 1<<40}},
	{name: "settimeofday", nr: unix.SYS_SETTIMEOFDAY, args: [6]uintptr{0, 0}, root: true},
	{name: "clock_settime", nr: unix.SYS_CLOCK_SETTIME, args: [6]uintptr{99, nowhere}},
	{name: "clock_adjtime", nr: unix.SYS_CLOCK_ADJTIME, args: [6]uintptr{99, nowhere}},
	{name: "adjtimex", nr: unix.SYS_ADJTIMEX, args: [6]uintptr{nowhere}},
	{name: "migrate_pages", nr: unix.SYS_MIGRATE_PAGES, args: [6]uintptr{noFD}, absent: true},
	{name: "move_pages", nr: unix.SYS_MOVE_PAGES, args: [6]uintptr{noFD}, absent: true},
	// On /dev/null: ENOTTY.
	{name: "ioctl(TIOCSTI)", nr: unix.SYS_IOCTL, args: [6]uintptr{0, unix.TIOCSTI, nowhere}},
	{name: "ioctl(TIOCSTI), high bits set", nr: unix.SYS_IOCTL, args: [6]uintptr{0, unix.TIOCSTI | 1<<32, nowhere}},
	{name: "ioctl(TIOCLINUX)", nr: unix.SYS_IOCTL, args: [6]uintptr{0, 0x541c, nowhere}},
	{name: "ioctl(TIOCLINUX), high bits set", nr: unix.SYS_IOCTL, args: [6]uintptr{0, 0x541c | 0xff<<32, nowhere}},
}, callsHere...)

// tryCalls makes the calls, those that only root can make or the others.
func tryCalls(root bool) (finding, error) {
	var all []attempt
	for _, c := range calls {
		if c.root == root {
			all = append(all, attempt{c.name, c.try})
		}
	}
	return every(all, unix.EPERM, unix.ENOSYS)
}

// try makes the call. Every error but the filter's means that it got past the filter.
func (c call) try() error {
	want := c.errno
	if want == 0 {
		want = unix.EPERM
	}
	_, _, errno := unix.Syscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
	if errno == want {
		return errno
	}
	if errno == unix.ENOSYS && !c.absent {
		return fmt.Errorf("the kernel does not know the call")
	}
	return nil
}

// foreignCalls runs the small programs that make a call the way another architecture would. They end with 0 when the
// kernel answered the call, with 38 when it said ENOSYS; the filter kills them.
func foreignCalls(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	err := exec.Command(args[0]).Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return got("the kernel answered")
	case !errors.As(err, &exit):
		return finding{}, err
	}
	status := exit.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && status.Signal() == unix.SIGSYS:
		return finding{refused, "killed by SIGSYS"}, nil
	case status.Signaled() && status.Signal() == unix.SIGSEGV:
		return finding{absent, "SIGSEGV: this kernel has no such entry"}, nil
	case status.ExitStatus() == int(unix.ENOSYS):
		return finding{absent, "ENOSYS"}, nil
	}
	return finding{}, fmt.Errorf("the program ended with %v", status)
}

// typeIntoTerminal makes the terminal that it was given its own and types into it (CVE-2017-5226, CVE-2019-7303).
func typeIntoTerminal([]string) (finding, error) {
	const tty = 3
	if err := unix.IoctlSetInt(tty, unix.TIOCSCTTY, 0); err != nil {
		return finding{}, fmt.Errorf("take the terminal: %w", err)
	}
	c := []byte("x")
	request := func(cmd uintptr) func() error {
		return func() error {
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, tty, cmd, uintptr(unsafe.Pointer(&c[0]))); errno != 0 {
				return errno
			}
			return nil
		}
	}
	return every([]attempt{
		{"TIOCSTI", request(unix.TIOCSTI)},
		{"TIOCSTI with bit 32 set", request(unix.TIOCSTI | 1<<32)},
		{"TIOCSTI with all high bits set", request(unix.TIOCSTI | 0xffffffff<<32)},
	}, unix.EPERM)
}

// inPart cuts a list that is too long to read.
func inPart(names []string) string {
	if len(names) > 8 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}

// hostSays makes the calls outside of any jail and gives those that the kernel does not have.
func hostSays() []string {
	var missing []string
	for _, c := range calls {
		if !c.absent || c.root && os.Getuid() != 0 {
			continue
		}
		if _, _, errno := unix.Syscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5]); errno == unix.ENOSYS {
			missing = append(missing, c.name)
		}
	}
	return missing
}
