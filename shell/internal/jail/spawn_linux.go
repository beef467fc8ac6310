package jail

import (
	"encoding/json"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// spawn starts the command. files are the memfd with the Command, those of the cgroups, and the command's own.
func spawn(plan *Plan, req *Spawn, files []int) (pid int, err error) {
	own := 1 + cgroupFiles*len(req.Cgroups)
	if len(files) != own+req.N || req.N < 3 {
		return 0, &Failure{Detail: "the host announced other descriptors than it sent"}
	}
	cmd, err := readCommand(files[0])
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, fd := range append(files[own:], files[0]) {
			unix.Close(fd)
		}
	}()
	env := toStrings(cmd.Env)
	if err := checkDir(string(cmd.Dir)); err != nil {
		return 0, err
	}
	name, err := lookPath(string(cmd.Name), string(cmd.Dir), env)
	if err != nil {
		return 0, err
	}
	return forkExec(plan, name, cmd, req.cgroups(files[1:]), files[own:])
}

// forkExec makes a new process from this thread, with its filter, and has it execute the command.
func forkExec(plan *Plan, name string, cmd *Command, groups []cgroupDir, files []int) (int, error) {
	var setup *Setup
	var err error
	elsewhere(func() { setup, err = newCommandSetup(plan, name, cmd, groups, files) }) // it opens files
	if err != nil {
		return 0, &Failure{Detail: err.Error()}
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, fail("", "pipe2", err, "start the command")
	}
	defer unix.Close(pipe[0])
	// The new process borrows the memory of this one: a copy of the page tables, and their end at the exec, cost as much as
	// the rest of starting it. Nothing that it does until then is notified, so this thread cannot wait for itself.
	pid, err := begin(setup, unix.CLONE_VM|unix.CLONE_VFORK, map[reg]int{regSocket: pipe[1]})
	unix.Close(pipe[1])
	if err != nil {
		return 0, commandFailure("clone", err, "start the command")
	}
	// The pipe closes with the exec, or brings the call that failed.
	var packet failurePacket
	n, err := readPacket(pipe[0], &packet)
	if err == nil && n == 0 {
		return pid, nil
	}
	if err == nil && n != len(packet)*4 {
		err = unix.EPIPE
	}
	_, _ = unix.Wait4(pid, nil, 0, nil) // it has ended, or is about to
	if err != nil {
		return 0, fail("", "read", err, "start the command")
	}
	f := setup.failure(packet)
	f.Command = f.Layer == ""
	return 0, f
}

// newCommandSetup is what the new process does before it is the command.
func newCommandSetup(plan *Plan, name string, cmd *Command, groups []cgroupDir, files []int) (*Setup, error) {
	b := newBuilder()
	b.enterCgroups(groups)
	b.layer = "descriptors"
	above := max(aside, len(files))
	b.do("move a descriptor", "fcntl(F_DUPFD)", unix.SYS_FCNTL, regSocket, unix.F_DUPFD_CLOEXEC, above)
	b.calls[len(b.calls)-1].save = uint8(regSocket)
	var order []placed
	for i, fd := range files {
		order = append(order, placed{fd, i})
	}
	b.place(order, above) // the copies close at the exec
	b.do("start a session", "setsid", unix.SYS_SETSID)
	b.defaultSignals()
	b.limits(plan)
	b.descriptorLimit(plan)
	b.layer = ""
	b.do("enter the working directory "+string(cmd.Dir), "chdir", unix.SYS_CHDIR, string(cmd.Dir))
	b.do("execute "+name, "execve", unix.SYS_EXECVE, name, b.strings(toStrings(cmd.Argv)...), b.strings(toStrings(cmd.Env)...))
	return &b.Setup, b.err
}

func readCommand(fd int) (*Command, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fail("", "fstat", err, "read the command")
	}
	b, err := preadAll(fd, st.Size)
	if err != nil {
		return nil, fail("", "pread", err, "read the command")
	}
	var cmd Command
	if err := json.Unmarshal(b, &cmd); err != nil {
		return nil, &Failure{Detail: "read the command: " + err.Error()}
	}
	return &cmd, nil
}

func toStrings(in [][]byte) []string {
	out := make([]string, len(in))
	for i, b := range in {
		out[i] = string(b)
	}
	return out
}

// commandFailure is a Failure that says the jail is sound and the command could not be started.
func commandFailure(call string, err error, detail string) error {
	f := fail("", call, err, detail).(*Failure)
	f.Command = true
	return f
}

func checkDir(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return commandFailure("chdir", err, "enter the working directory "+dir)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return commandFailure("chdir", unix.ENOTDIR, "enter the working directory "+dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, 0); err != nil {
		return commandFailure("chdir", err, "enter the working directory "+dir)
	}
	return nil
}

// lookPath finds the command as a shell would, inside the jail, with the PATH that the command will have. A name with
// a slash is taken as it is, relative to the working directory. When nothing can be executed, EACCES wins over ENOENT.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if path.IsAbs(name) {
			return name, executable(name)
		}
		return name, executable(path.Join(dir, name))
	}
	result := commandFailure("execve", unix.ENOENT, "find "+name+" in PATH")
	if name == "" {
		return "", result
	}
	for _, d := range strings.Split(lookEnv(env, "PATH"), ":") {
		if d == "" {
			d = "."
		}
		candidate := path.Join(d, name)
		full := candidate
		if !path.IsAbs(full) {
			candidate = "./" + candidate
			full = path.Join(dir, full)
		}
		err := executable(full)
		if err == nil {
			return candidate, nil
		}
		var st unix.Stat_t
		if err.(*Failure).Errno == unix.EACCES && unix.Stat(full, &st) == nil {
			result = err // it is there; a directory that cannot be searched tells nothing
		}
	}
	return "", result
}

func executable(name string) error {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return commandFailure("execve", err, "execute "+name)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return commandFailure("execve", unix.EACCES, "execute "+name+", which is a directory")
	}
	if err := unix.Faccessat(unix.AT_FDCWD, name, unix.X_OK, 0); err != nil {
		return commandFailure("execve", err, "execute "+name)
	}
	return nil
}

func lookEnv(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == key {
			return v
		}
	}
	return ""
}
