package shell

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// As root neither RLIMIT_NPROC nor anything else of setrlimit bounds a tree of processes: a cgroup does. One directory
// is made for each command and removed when it has ended, by the host or, when the host was killed, by PID 1.

// controller is one cgroup hierarchy that can hold a limit.
type controller struct {
	name    string // "pids" or "memory"
	version int    // 1 or 2
	parent  string // directory in which a command's own one is made
}

// setting is one file of a cgroup with what is to be written.
type setting struct {
	file, value string
	optional    bool
}

// settings are the files that bind a limit.
func (c controller) settings(l Limits) []setting {
	processes, memory := strconv.Itoa(l.Processes), strconv.FormatInt(l.MemoryBytes, 10)
	switch {
	case c.name == "pids":
		return []setting{{file: "pids.max", value: processes}}
	case c.version == 2:
		return []setting{
			{file: "memory.max", value: memory},
			{file: "memory.swap.max", value: "0", optional: true}, // absent without swap accounting
			{file: "memory.oom.group", value: "1"},
		}
	}
	return []setting{
		{file: "memory.limit_in_bytes", value: memory},
		{file: "memory.memsw.limit_in_bytes", value: memory, optional: true},
	}
}

// cgroupPrefix begins the name of every directory we make: "sallyport-<host's pid>-<random>".
const cgroupPrefix = "sallyport-"

// cgroup is the directories of one command.
type cgroup struct {
	controllers []controller
	name        string
}

// makeCgroup makes one directory in each hierarchy and sets the limits.
func makeCgroup(controllers []controller, l Limits) (*cgroup, error) {
	g := &cgroup{controllers: controllers, name: fmt.Sprintf("%s%d-%s", cgroupPrefix, os.Getpid(), rand.Text()[:10])}
	for _, c := range controllers {
		if err := g.make(c, l); err != nil {
			g.remove()
			return nil, err
		}
	}
	return g, nil
}

func (g *cgroup) make(c controller, l Limits) error {
	dir := g.dir(c)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return cgroupError("mkdir", err, "make the cgroup "+dir)
	}
	for _, s := range c.settings(l) {
		err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0)
		if err != nil && !(s.optional && errors.Is(err, os.ErrNotExist)) {
			return cgroupError("write", err, "set "+s.file+" of the cgroup "+dir)
		}
	}
	return nil
}

func cgroupError(call string, err error, detail string) *Error {
	e := systemError(call, err, detail)
	e.Layer = "limits"
	return e
}

func (g *cgroup) dir(c controller) string { return filepath.Join(c.parent, g.name) }

// files are what the jail needs of each hierarchy: to enter the cgroup, and to remove it.
func (g *cgroup) files() ([]*os.File, error) {
	var out []*os.File
	for _, c := range g.controllers {
		for _, f := range []struct {
			path string
			flag int
		}{
			{filepath.Join(g.dir(c), "cgroup.procs"), os.O_WRONLY},
			{c.parent, unix.O_PATH | unix.O_DIRECTORY},
		} {
			file, err := os.OpenFile(f.path, f.flag, 0)
			if err != nil {
				closeAll(out)
				return nil, cgroupError("open", err, "open the cgroup file "+f.path)
			}
			out = append(out, file)
		}
	}
	return out, nil
}

// remove removes the directories. The kernel lets them go once the last process is buried.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	for _, c := range g.controllers {
		removeCgroup(g.dir(c))
	}
}

func removeCgroup(dir string) {
	for wait := time.Millisecond; ; wait *= 2 {
		if err := unix.Rmdir(dir); err != unix.EBUSY || wait > time.Second {
			return // gone, or PID 1 was faster, or swept by the next Open
		}
		time.Sleep(wait)
	}
}

// breaches are the limits that the kernel enforced in this cgroup, with how often.
func (g *cgroup) breaches() map[string]int {
	out := map[string]int{}
	if g == nil {
		return out
	}
	for _, c := range g.controllers {
		file, key, limit := "pids.events", "max", "processes"
		switch {
		case c.name == "memory" && c.version == 2:
			file, key, limit = "memory.events", "oom_kill", "memory"
		case c.name == "memory":
			file, key, limit = "memory.oom_control", "oom_kill", "memory"
		}
		b, err := os.ReadFile(filepath.Join(g.dir(c), file))
		if err != nil {
			continue // an old kernel has no such file: the limit binds, the record is missing
		}
		for _, line := range strings.Split(string(b), "\n") {
			if k, v, ok := strings.Cut(line, " "); ok && k == key {
				if n, err := strconv.Atoi(v); err == nil && n > 0 {
					out[limit] = n
				}
			}
		}
	}
	return out
}

// sweepCgroups removes directories whose host process is gone: it was killed together with PID 1.
func sweepCgroups(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), cgroupPrefix)
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if ours && err == nil && unix.Kill(pid, 0) == syscall.ESRCH {
			_ = unix.Rmdir(filepath.Join(parent, e.Name())) // EBUSY: somebody is in it after all
		}
	}
}
