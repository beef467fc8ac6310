package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	attackers["use-memory"] = useMemory
	attackers["use-memfd"] = useMemfd
	attackers["use-detached-segments"] = useSegments
	attackers["blind-memory-watch"] = blindWatch
	attackers["start-processes"] = startProcesses
	attackers["write-large-file"] = writeLarge
	attackers["write-in-steps"] = writeInSteps
	attackers["open-descriptors"] = openDescriptors
	attackers["raise-limit"] = raiseLimit
	attackers["use-cpu"] = useCPU
	attackers["forge-records"] = forgeRecords
	modes["hold"] = func([]string) int { time.Sleep(time.Hour); return 0 } // ended by whoever started it
}

// useMemory takes and touches memory in steps, up to the given number of MiB.
func useMemory(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	for n := range atoi(args[0]) {
		b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return judge(fmt.Sprintf("mmap after %d MiB", n), err, unix.ENOMEM)
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		// About 1 GB a second: a watch that looks now and then has its chance, as with a program that uses what it takes.
		time.Sleep(time.Millisecond)
	}
	return got("%s MiB", args[0])
}

// useMemfd fills memory that no process has mapped, up to the given number of MiB.
func useMemfd(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	fd, err := unix.MemfdCreate("unmapped", unix.MFD_CLOEXEC)
	if err != nil {
		return judge("memfd_create", err, unix.ENOSYS)
	}
	block := make([]byte, 1<<20)
	for n := range atoi(args[0]) {
		if _, err := unix.Write(fd, block); err != nil {
			return judge(fmt.Sprintf("write after %d MiB", n), err, unix.ENOMEM, unix.EFBIG)
		}
		time.Sleep(time.Millisecond) // as in useMemory
	}
	return got("%s MiB", args[0])
}

// useSegments fills shared memory segments and detaches each, up to the given number of MiB.
func useSegments(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	const size = 4 << 20
	var ids []int
	defer func() {
		for _, id := range ids {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // they end with the namespace; without one, here
		}
	}()
	for range atoi(args[0]) / (size >> 20) {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, size, unix.IPC_CREAT|0o600)
		if err != nil {
			return judge("shmget", err, unix.ENOSYS, unix.EPERM, unix.ENOSPC)
		}
		ids = append(ids, id)
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return finding{}, err
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		if err := unix.SysvShmDetach(b); err != nil {
			return finding{}, err
		}
		time.Sleep(4 * time.Millisecond) // as in useMemory
	}
	return got("%s MiB", args[0])
}

// blindWatch takes the first process every descriptor and then uses memory.
func blindWatch(args []string) (finding, error) {
	err := unix.Prlimit(os.Getppid(), unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
	f, more := useMemory(args)
	f.detail = fmt.Sprintf("prlimit: %v; %s", err, f.detail)
	return f, more
}

// writeInSteps writes a file up to the given number of MiB, at about half a GB a second.
func writeInSteps(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	file, err := os.Create(args[0])
	if err != nil {
		return finding{}, err
	}
	block := make([]byte, 1<<20)
	for range atoi(args[1]) {
		if _, err := file.Write(block); err != nil {
			return finding{}, err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return got("written")
}

// openDescriptors raises the limit as far as that is allowed, and opens the given number.
func openDescriptors(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	want := uint64(atoi(args[0]))
	raised := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: want * 2, Max: want * 2})
	for n := range want {
		if _, err := unix.Dup(2); err != nil {
			return judge(fmt.Sprintf("dup after %d (raising the limit: %v)", n, raised), err, unix.EMFILE)
		}
	}
	return got("%d descriptors", want)
}

// startProcesses starts at most the given number of processes that stay, and ends those that it started.
func startProcesses(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	var running []*exec.Cmd
	defer func() {
		for _, c := range running {
			_ = c.Process.Kill() // it may have ended
			_ = c.Wait()
		}
	}()
	for range atoi(args[0]) {
		c := exec.Command("sleep", "300")
		if err := c.Start(); err != nil {
			return judge(fmt.Sprintf("fork after %d", len(running)), err, unix.EAGAIN)
		}
		running = append(running, c)
	}
	return got("%d processes", len(running))
}

// writeLarge writes a file of the given number of MiB.
func writeLarge(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	return writeUpTo(args[0], atoi(args[1]))
}

func writeUpTo(path string, mib int) (finding, error) {
	f, err := os.Create(path)
	if err != nil {
		return finding{}, err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for range mib {
		if _, err := f.Write(block); err != nil {
			return judge("write", err, unix.EFBIG)
		}
	}
	return got("wrote %d MiB", mib)
}

// raiseLimit raises its own file size limit in every way, and then writes past it.
func raiseLimit(args []string) (finding, error) {
	if err := need(args, 2); err != nil {
		return finding{}, err
	}
	want := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	// The standard library's setrlimit would be the C library's; both end in these two calls.
	first := unix.Prlimit(0, unix.RLIMIT_FSIZE, &want, nil)
	second := syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: want.Cur, Max: want.Max})
	f, err := writeUpTo(args[0], atoi(args[1]))
	if err == nil && f.verdict == refused && (first == nil || second == nil) {
		return got("the limit was raised, and yet the write was refused")
	}
	f.detail = fmt.Sprintf("prlimit: %v, setrlimit: %v, %s", first, second, f.detail)
	return f, err
}

// useCPU burns processor time for at most the given number of seconds in a child and tells how that ended.
func useCPU(args []string) (finding, error) {
	if err := need(args, 1); err != nil {
		return finding{}, err
	}
	err := exec.Command(attacker2(), "burn", args[0]).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status := exit.Sys().(syscall.WaitStatus)
		if status.Signaled() && (status.Signal() == unix.SIGXCPU || status.Signal() == unix.SIGKILL) {
			return finding{refused, status.Signal().String()}, nil
		}
	}
	if err != nil {
		return finding{}, err
	}
	return got("%s s of processor time", args[0])
}

func init() { modes["burn"] = burn }

func burn(args []string) int {
	limit := time.Duration(atoi(args[0])) * time.Second
	for {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			return 1
		}
		if time.Duration(u.Utime.Nano()+u.Stime.Nano()) > limit {
			return 0
		}
	}
}

// attacker2 is the path of the running program.
func attacker2() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
}

// forgeRecords prints what a refusal looks like, and writes records to every descriptor that takes them.
func forgeRecords([]string) (finding, error) {
	forged := "Operation not permitted: /etc/shadow (sandbox)\n" +
		`{"time":"2026-01-01T00:00:00Z","id":"x","operation":"write","target":"/etc/shadow","rule":"forged"}` + "\n"
	taken := 0
	for fd := 1; fd < 64; fd++ {
		if _, err := unix.Write(fd, []byte(forged)); err == nil {
			taken++
		}
	}
	fmt.Fprintln(os.Stderr, "sallyport: denied: read /etc/shadow")
	return got("%s descriptors took it", strconv.Itoa(taken))
}
