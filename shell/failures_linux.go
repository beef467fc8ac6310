package shell

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sallyport/shell/internal/jail"
)

// launchError explains why the first process could not be started.
func (p *jailPlan) launchError(err error) *Error {
	e := systemError("clone", err, "start the jail's first process")
	e.Layer = "namespaces"
	e.Err = nil
	if e.Errno == 0 {
		e.Err = err
	}
	switch {
	case e.Errno == unix.EPERM, e.Errno == unix.EACCES, e.Errno == unix.ENOSPC, e.Errno == unix.EUSERS, e.Errno == unix.EINVAL:
		e.Hints = namespaceHints()
	case e.Errno == unix.EAGAIN:
		e.Hints = []string{"this user is at its limit of processes (ulimit -u)"}
	}
	return e
}

// setupError explains which layer could not be put up.
func (p *jailPlan) setupError(f *jail.Failure) *Error {
	if f == nil {
		return &Error{Code: CodeFailed, Detail: "set up a jail", Err: errors.New("the jail's first process spoke out of turn")}
	}
	e := &Error{Code: CodeFailed, Layer: f.Layer, Syscall: f.Syscall, Errno: f.Errno, Detail: f.Detail}
	switch {
	case f.Syscall == "execveat" && f.Errno == unix.ENOENT:
		e.Layer = ""
		e.Hints = []string{"the program is linked dynamically, and the policy denies reading its interpreter or libraries: build it with CGO_ENABLED=0, or allow them"}
	case p.program != selfProgram && (f.Detail == "open "+p.program || f.Syscall == "execveat"):
		e.Layer = ""
		if f.Errno == unix.ENOENT {
			e.Code = CodeDependencyMissing
		}
		e.Hints = []string{"Options.Helper must name a program that can be executed and imports this package"}
	case f.Layer == "landlock" && (f.Errno == unix.ENOSYS || f.Errno == unix.EOPNOTSUPP):
		e.Code = CodeDependencyMissing
		e.Hints = []string{"this kernel has no Landlock, or it is not in the lsm= list of the boot parameters"}
	case f.Layer == "proc" && f.Errno == unix.EPERM:
		e.Hints = append([]string{"a container that hides parts of /proc forbids mounting another one; in Docker, " +
			"--security-opt systempaths=unconfined shows it whole"}, namespaceHints()...)
	case f.Errno == unix.EMFILE || f.Syscall == "fcntl(F_DUPFD)":
		e.Hints = []string{descriptorHint}
	case f.Layer == "names" && f.Errno == unix.EBUSY:
		e.Hints = []string{"a program around this one answers system calls already (a seccomp listener), and there can be one only"}
	case f.Layer == "names" && f.Syscall == "ptrace_scope":
		e.Hints = []string{"sysctl kernel.yama.ptrace_scope is 2 or more, so that no process may read another's arguments: set it to 1"}
	case f.Errno == unix.EPERM || f.Errno == unix.EACCES:
		e.Hints = namespaceHints()
	case f.Errno == unix.ENOENT:
		e.Hints = []string{"it is gone since the sandbox was opened: open a new one"}
	case f.Errno == unix.ELOOP:
		e.Hints = []string{"a symbolic link stands where there was none when the sandbox was opened"}
	case f.Errno == unix.ENOSYS:
		e.Code = CodeDependencyMissing
		e.Hints = []string{"this kernel is too old (5.13 is needed), or a container's seccomp profile hides the call"}
	}
	return e
}

const descriptorHint = "the limit of open descriptors is too low: raise it (ulimit -n 256)"

// switches are the kernel settings that forbid unprivileged user namespaces.
var switches = []struct{ file, bad, hint string }{
	{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces is 0: set it to a few thousand"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone is 0: set it to 1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor restricts unprivileged user namespaces: give this program a profile with \"userns,\", or set sysctl kernel.apparmor_restrict_unprivileged_userns to 0"},
}

// namespaceHints say what on this machine may forbid user namespaces, most likely first.
func namespaceHints() []string {
	var hints []string
	for _, s := range switches {
		b, err := os.ReadFile(s.file)
		if err == nil && strings.TrimSpace(string(b)) == s.bad {
			hints = append(hints, s.hint)
		}
	}
	if _, err := os.Stat("/proc/self/ns/user"); err != nil {
		hints = append(hints, "there is no /proc here, or one that hides this process: mount it")
	}
	return append(hints, "a process that has changed its root (chroot) may not make user namespaces", "inside a container its seccomp profile may forbid user namespaces or mounts: allow clone, unshare, mount, pivot_root and the calls of the new mount API, or run outside of it")
}

// startError explains why the command could not be started in a jail that is sound.
func startError(spec commandSpec, f *jail.Failure) *Error {
	if f == nil {
		return &Error{Code: CodeFailed, Detail: "start " + spec.name, Err: errors.New("the jail's first process spoke out of turn")}
	}
	e := &Error{Code: CodeFailed, Layer: f.Layer, Syscall: f.Syscall, Errno: f.Errno, Detail: f.Detail}
	if !f.Command {
		return e
	}
	if f.Syscall == "chdir" {
		e.Code = CodeInvalidConfig
		if f.Errno == syscall.ENOENT {
			e.Hints = []string{dirHint(spec.dir)}
		}
		return e
	}
	switch f.Errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		e.Err = ErrNotFound
		if strings.Contains(spec.name, "/") {
			e.Hints = []string{"it must be visible inside the jail, and so must the interpreter that it names: /tmp, /var/tmp and what denyRead names are not"}
		}
	case syscall.EACCES, syscall.ENOEXEC, syscall.EPERM, syscall.ELOOP, syscall.ETXTBSY:
		e.Err = ErrNotExecutable
	case syscall.E2BIG:
		e.Hints = []string{"the arguments and the environment together are too long for this system"}
	}
	return e
}

func dirHint(dir string) string {
	for _, p := range privateDirs() {
		if dir == p.Path || strings.HasPrefix(dir, p.Path+"/") {
			return fmt.Sprintf("%s; name %s in allowRead or allowWrite to see the host's", p.Why, dir)
		}
	}
	return "the working directory must exist and be readable inside the jail"
}
