// Package shell is the process boundary: it runs a command so that the kernel decides what the command can reach.
//
//	box, err := shell.Open(ctx, policy.Policy{Filesystem: policy.Filesystem{
//		AllowWrite: policy.Paths("/srv/work"),
//	}}, shell.Options{})
//	...
//	defer box.Close()
//	cmd := box.Command(ctx, "sh", "-c", "make test")
//	cmd.Dir = "/srv/work"
//	cmd.Stdout = os.Stdout
//	err = cmd.Run() // cmd.Completion has the exit code; a non-zero exit is no error
//
// Every command gets a jail of its own: new user, mount, pid, network, IPC, UTS and cgroup namespaces, a mount tree
// that is read-only but for the writable paths of the policy, a private /proc, /dev and /tmp, no capabilities,
// no_new_privs, a Landlock ruleset, resource limits and a seccomp filter. A layer that cannot be put up is an *[Error]
// that names the layer, the system call and the errno, and nothing runs. What is in force is read back from the kernel
// into [Report].
//
// # Sessions
//
// A [Manager] opens sessions that belong together. Its first [Session] sets the baseline, a later one may be no wider, and each
// command can have a policy of its own:
//
//	m := shell.NewManager(shell.ManagerOptions{OnEvent: shell.LogEvents(slog.Default())})
//	s, err := m.Open(ctx, shell.SessionOptions{Policy: p, ProbeSpawn: true})
//	...
//	defer s.Dispose()
//	cmd := s.Command(ctx, "make", "test")
//	cmd.Policy = &own // for this command alone
//
// Before every command what is in force is compared with what was admitted. Detection is not prevention: where an [Enforcer] of
// somebody else's lets its rules be widened, a command that runs already keeps what it has, and it is the next one that is
// refused. With this package's own nothing can widen them.
//
// # How a jail starts
//
// The host forks with new namespaces, a list of system calls puts the layers up in the new process, and the program that
// imports this package is executed again in it, as the first process of the jail (PID 1): its argv[0] is a fixed marker
// and descriptor 3 is a socket. A package init function takes over there and never returns, so importing the package is
// enough, in programs and in test binaries. The init functions of packages that are initialised earlier do run in every
// jail, confined and with an empty environment; [Options.Helper] names a smaller program to start instead, which is
// faster when the host's is large.
//
// # What it does not stop
//
// Reading whatever the policy lets be read (reads are allowed unless denied); covert channels and resource use inside
// the limits; kernel faults; another hard link of a protected file; a denied file that the host replaces, in the moment
// until it is covered again ([Options.StrictReads] leaves none).
//
// # Writing is decided by name
//
// Every call that changes a file is handed to the first process of the jail, which judges the real path by the policy and
// makes the call itself: so a name that does not exist yet (.git/hooks of a new repository) is as protected as one that
// does, at any depth, and no placeholder is ever needed. What is denied is recorded: [Cmd.Violations] and
// [Options.OnViolation]. Each such call costs some tens of microseconds.
//
// # Platforms
//
// Linux 5.13 or newer (Landlock, mount_setattr), amd64 and arm64, as root and as an ordinary user with unprivileged
// user namespaces. Everywhere else [Open] refuses with [CodeUnsupportedEnv]; on Windows the message names WSL2. A
// build for a browser (GOOS=js) does not compile, on purpose.
package shell
