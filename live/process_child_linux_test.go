package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["look-at-host-process"] = lookAtProcess
	attackers["signal-host-process"] = signalProcess
	attackers["trace-host-process"] = traceProcess
	attackers["look-into-first-process"] = lookIntoFirst
	attackers["end-first-process"] = endFirst
	attackers["limit-first-process"] = limitFirst
	attackers["write-sysctl"] = writeSysctl
	attackers["write-sysfs"] = writeSysfs
	attackers["read-kernel-files"] = readKernelFiles
	attackers["inspect-first-process-threads"] = inspectThreads
	attackers["inspect-self"] = inspectSelf
	attackers["share-memory"] = shareMemory
}

// opens tries to open a file and closes it at once.
func opens(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// lookAtProcess looks at a process of the same user by way of /proc.
func lookAtProcess(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	dir := "/proc/" + args[0]
	return every([]attempt{
		{"environ", func() error { return opens(dir+"/environ", unix.O_RDONLY) }},
		{"fd", func() error { _, err := os.ReadDir(dir + "/fd"); return err }},
		{"root", func() error { return opens(dir+"/root/etc/passwd", unix.O_RDONLY) }},
		{"cwd", func() error { return opens(dir+"/cwd", unix.O_RDONLY) }},
		{"maps", func() error { return opens(dir+"/maps", unix.O_RDONLY) }},
		{"mem", func() error { return opens(dir+"/mem", unix.O_RDWR) }},
		{"status", func() error { return opens(dir+"/status", unix.O_RDONLY) }},
	}, unix.ENOENT, unix.EACCES)
}

// signalProcess ends a process of the same user and waits until that has happened.
func signalProcess(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	pid := atoi(args[0])
	f, err := every([]attempt{
		{"pidfd_send_signal", func() error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
		}},
		{"tgkill", func() error { return unix.Tgkill(pid, pid, unix.SIGCONT) }},
		{"kill", func() error { return unix.Kill(pid, unix.SIGTERM) }},
	}, unix.ESRCH, unix.EPERM)
	for f.verdict == through && !strings.HasPrefix(f.detail, "in part") && !ended(pid) {
		time.Sleep(time.Millisecond) // between two looks at the condition
	}
	return f, err
}

// ended says whether a process is gone or waits for its parent only.
func ended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// traceProcess reads the memory of a process of the same user in two ways.
func traceProcess(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	pid := atoi(args[0])
	buf := make([]byte, 1)
	return every([]attempt{
		{"ptrace", func() error {
			if err := unix.PtraceSeize(pid); err != nil {
				return err
			}
			return nil // it is let go when this process ends
		}},
		{"process_vm_readv", func() error {
			local := []unix.Iovec{{Base: &buf[0], Len: 1}}
			_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
			if err == unix.EFAULT {
				return nil // nothing is mapped there: the question itself was allowed
			}
			return err
		}},
	}, unix.ESRCH, unix.EPERM)
}

// lookIntoFirst looks into the process that started this one: the first process of the jail.
func lookIntoFirst([]string) (finding, error) {
	dir := fmt.Sprintf("/proc/%d", os.Getppid())
	return every([]attempt{
		{"mem", func() error { return opens(dir+"/mem", unix.O_RDONLY) }},
		{"mem for writing", func() error { return opens(dir+"/mem", unix.O_RDWR) }},
		{"environ", func() error { return opens(dir+"/environ", unix.O_RDONLY) }},
		{"maps", func() error { return opens(dir+"/maps", unix.O_RDONLY) }},
		// uid 0 may list the numbers; what is behind them stays closed.
		{"fd", func() error { return opens(dir+"/fd/2", unix.O_RDONLY) }},
		{"fd/2", func() error { _, err := os.Readlink(dir + "/fd/2"); return err }},
		{"map_files", func() error { _, err := os.ReadDir(dir + "/map_files"); return err }},
		{"exe", func() error { return opens(dir+"/exe", unix.O_RDONLY) }},
		{"root", func() error { return opens(dir+"/root/etc", unix.O_RDONLY) }},
		{"cwd", func() error { return opens(dir+"/cwd", unix.O_RDONLY) }},
		{"ns", func() error { _, err := os.Readlink(dir + "/ns/mnt"); return err }},
	}, unix.EACCES, unix.EPERM, unix.EROFS)
}

// endFirst sends every signal there is to the first process and to each of its threads. That this process is still here to tell shows that the
// first one is too: it would have taken the whole jail with it.
func endFirst([]string) (finding, error) {
	if os.Getppid() != 1 {
		return finding{}, fmt.Errorf("the first process has the number %d here", os.Getppid())
	}
	threads, err := threadStates(1)
	if err != nil {
		return finding{}, err
	}
	for s := 1; s <= 64; s++ {
		for range 3 {
			if err := unix.Kill(1, unix.Signal(s)); err != nil {
				return finding{}, fmt.Errorf("signal %d: %w", s, err)
			}
		}
		for tid := range threads {
			if err := unix.Tgkill(1, atoi(tid), unix.Signal(s)); err != nil && err != unix.ESRCH {
				return finding{}, fmt.Errorf("signal %d to thread %s: %w", s, tid, err)
			}
		}
	}
	// It must also still do its work: reap an orphan.
	if out, err := exec.Command("sh", "-c", "(exit 0 & ) ; echo alive").CombinedOutput(); err != nil || string(out) != "alive\n" {
		return finding{}, fmt.Errorf("start a process afterwards: %w: %s", err, out)
	}
	if os.Getppid() != 1 {
		return got("this process has another parent now: %d", os.Getppid())
	}
	return finding{refused, "64 signals, to the process and to each thread"}, nil
}

// openEach opens every regular file below the directories for writing, and never writes.
func openEach(dirs []string, skip ...string) (finding, error) {
	var opened []string
	tried := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return filepath.SkipDir // covered or gone
			}
			for _, s := range skip {
				if path == s {
					return filepath.SkipDir
				}
			}
			if !d.Type().IsRegular() || tried > 20_000 {
				return nil
			}
			tried++
			if opens(path, unix.O_WRONLY|unix.O_NONBLOCK) == nil {
				opened = append(opened, path)
			}
			return nil
		})
		if err != nil {
			return finding{}, err
		}
	}
	if tried < 50 {
		return finding{}, fmt.Errorf("only %d files in %v", tried, dirs)
	}
	if len(opened) > 0 {
		return got("%d of %d open for writing, such as %s", len(opened), tried, opened[0])
	}
	return finding{refused, fmt.Sprintf("none of %d files opens for writing", tried)}, nil
}

// writeSysctl: binfmt_misc is mounted when it is looked at, so the open arm leaves it alone.
func writeSysctl([]string) (finding, error) {
	return openEach([]string{"/proc/sys"}, "/proc/sys/fs/binfmt_misc")
}

func writeSysfs([]string) (finding, error) {
	return openEach([]string{"/sys/kernel", "/sys/module", "/sys/class"}, "/sys/kernel/debug", "/sys/kernel/tracing")
}

// kernelFiles tell about the kernel or the whole machine.
var kernelFiles = []string{
	"acpi", "scsi", "kcore", "kmsg", "keys", "key-users", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
	"sched_debug", "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo",
}

// readKernelFiles opens those that exist for reading.
func readKernelFiles([]string) (finding, error) {
	var all []attempt
	for _, name := range kernelFiles {
		path := "/proc/" + name
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		all = append(all, attempt{name, func() error { return opens(path, unix.O_RDONLY|unix.O_NONBLOCK) }})
	}
	if len(all) < 3 {
		return finding{}, errors.New("too few of the files exist")
	}
	return every(all, unix.EACCES)
}

// threadStates reads what each thread of the first process may.
func threadStates(pid int) (map[string]map[string]string, error) {
	dirs, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return nil, err
	}
	states := map[string]map[string]string{}
	for _, dir := range dirs {
		fields, err := statusOf(dir)
		if err != nil {
			return nil, err
		}
		states[filepath.Base(dir)] = fields
	}
	return states, nil
}

// statusOf reads the fields of a status file.
func statusOf(dir string) (map[string]string, error) {
	b, err := os.ReadFile(dir + "/status")
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for _, line := range lines(b) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields, nil
}

// capabilitySets are the names of the sets in a status file.
var capabilitySets = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

// unrestricted names what a thread still may, or "".
func unrestricted(fields map[string]string) string {
	for _, set := range capabilitySets {
		if n, err := strconv.ParseUint(fields[set], 16, 64); err != nil || n != 0 {
			return set + " " + fields[set]
		}
	}
	if fields["NoNewPrivs"] != "1" {
		return "NoNewPrivs " + fields["NoNewPrivs"]
	}
	return ""
}

// inspectThreads reads the state of every thread of the first process.
func inspectThreads([]string) (finding, error) {
	states, err := threadStates(os.Getppid())
	if err != nil {
		return finding{}, err
	}
	filtered := 0
	for tid, fields := range states {
		if left := unrestricted(fields); left != "" {
			return got("thread %s of the first process has %s", tid, left)
		}
		if fields["Seccomp"] == "2" {
			filtered++
		}
	}
	if len(states) < 2 {
		return finding{}, fmt.Errorf("%d threads: the runtime alone has more", len(states))
	}
	return finding{refused, fmt.Sprintf("%d threads without a capability and with no_new_privs, %d filtered", len(states), filtered)}, nil
}

// inspectSelf reads what this process itself may.
func inspectSelf([]string) (finding, error) {
	fields, err := statusOf("/proc/self")
	if err != nil {
		return finding{}, err
	}
	if left := unrestricted(fields); left != "" {
		return got("%s", left)
	}
	if fields["Seccomp"] != "2" {
		return got("Seccomp %s", fields["Seccomp"])
	}
	return finding{refused, "no capability, NoNewPrivs 1, Seccomp 2"}, nil
}

// shareMemory looks for a shared memory segment of the host by its key (conformance 55).
func shareMemory(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	_, err := unix.SysvShmGet(atoi(args[0]), 4096, 0)
	return judge("shmget", err, unix.ENOENT)
}

// limitFirst lowers the limits of the jail's first process: it has the same user, and the kernel asks no more than that.
func limitFirst([]string) (finding, error) {
	var all []attempt
	for name, resource := range map[string]int{"NOFILE": unix.RLIMIT_NOFILE, "CPU": unix.RLIMIT_CPU, "AS": unix.RLIMIT_AS, "NPROC": unix.RLIMIT_NPROC} {
		all = append(all, attempt{name, func() error {
			// What it has is asked for and set again: harmless, and the same right as lowering it.
			var has unix.Rlimit
			if err := unix.Prlimit(os.Getppid(), resource, nil, &has); err != nil {
				return err
			}
			return unix.Prlimit(os.Getppid(), resource, &has, nil)
		}})
	}
	return every(all, unix.EPERM)
}
