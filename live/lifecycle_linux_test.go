package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell"
)

// children lists the processes that this one started and that have not ended.
func children(t *testing.T) []string {
	t.Helper()
	list, err := childrenOf(os.Getpid())
	require.NoError(t, err)
	return list
}

// childrenOf lists a process's children by what /proc says of them. One that only waits to be collected counts too.
func childrenOf(parent int) ([]string, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var list []string
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended meanwhile
		}
		head, rest, _ := strings.Cut(string(b), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			list = append(list, head+") "+fields[0])
		}
	}
	return list, nil
}

// leftovers is everything that a jail could leave in this process and on the host.
type leftovers struct {
	children, mounts, files, cgroups []string
	descriptors, goroutines          int
}

func takeStock(t *testing.T, dir string) leftovers {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return leftovers{
		children: children(t), mounts: lines(mounts), files: tree(t, dir), cgroups: cgroupsOf(os.Getpid()),
		descriptors: len(fds), goroutines: runtime.NumGoroutine(),
	}
}

// cgroupsOf lists the control groups that a host with the given number made.
func cgroupsOf(pid int) []string {
	var found []string
	prefix := fmt.Sprintf("sallyport-%d-", pid)
	// What cannot be listed is nobody's here: a control group that ends meanwhile, or no control groups at all.
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), prefix) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// TestTwoHundredAtOnce: 200 concurrent commands with the same names get their own output, directory and environment,
// each is filtered, and nothing is left: no process, descriptor, goroutine, mount, file or control group (process case
// 44; R164).
func TestTwoHundredAtOnce(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		const n = 200
		for i := range n {
			require.NoError(t, os.Mkdir(fmt.Sprintf("%s/d%d", f.ws, i), 0o755))
		}
		before := takeStock(t, f.dir)
		box := open(t, f.writable(), shell.Options{})
		stopGC := loopGC()
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { errs[i] = oneOfMany(box, f.ws, i) })
		}
		all.Wait()
		stopGC()
		require.NoError(t, errors.Join(errs...))
		require.NoError(t, box.Close())
		// The runtime lets finished goroutines and their timers go when it gets to it.
		eventually(t, func() bool { return runtime.NumGoroutine() <= before.goroutines }, "goroutines are left")
		after := takeStock(t, f.dir)
		after.goroutines = before.goroutines
		require.Equal(t, before, after)
	})
}

// loopGC collects garbage until it is told to stop.
func loopGC() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
				runtime.GC()
			}
		}
	}()
	return func() { close(quit); <-done }
}

// oneOfMany runs one command that says who it is in every way, and compares.
func oneOfMany(box *shell.Sandbox, ws string, i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	cmd := box.Command(ctx, "sh", "-c", `echo "$0 $WHO $(pwd)"; cat; echo "$WHO" >&2; echo "$0" >/tmp/same; cat /tmp/same
		grep -E '^(Seccomp|NoNewPrivs|CapBnd):' /proc/self/status; exit $(($0 % 100))`, strconv.Itoa(i))
	cmd.Dir = fmt.Sprintf("%s/d%d", ws, i)
	cmd.Env = []string{fmt.Sprintf("WHO=w%d", i)}
	cmd.Stdin = strings.NewReader(fmt.Sprintf("in %d\n", i))
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("command %d: %w", i, explain(err))
	}
	want := fmt.Sprintf("%d w%d %s\nin %d\n%d\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n", i, i, cmd.Dir, i, i)
	if out.String() != want || errOut.String() != fmt.Sprintf("w%d\n", i) || cmd.Completion.ExitCode != i%100 {
		return fmt.Errorf("command %d: exit %d, stdout %q, stderr %q", i, cmd.Completion.ExitCode, out.String(), errOut.String())
	}
	return nil
}

// TestFilterIsInEveryImage: in 200 of 200 commands the filter is in the executed image, while garbage is collected all
// the time (process case 34).
func TestFilterIsInEveryImage(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		box := open(t, f.writable(), shell.Options{})
		defer loopGC()()
		for i := range 200 {
			code, out := runIn(t, box, f.ws, "grep", "-E", "^(Seccomp|NoNewPrivs|CapEff|CapBnd):", "/proc/self/status")
			require.Equal(t, 0, code)
			require.Equal(t, "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n", out, "command %d", i)
		}
	})
}

// TestStartedByAThreadThatEnds: a command goes on when the thread that started it ends (process case 40).
func TestStartedByAThreadThatEnds(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		box := open(t, f.writable(), shell.Options{})
		cmd := command(t, box, f.ws, "cat")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		var out strings.Builder
		cmd.Stdout = &out
		var startErr error
		tid := onThreadThatEnds(func() { startErr = cmd.Start() })
		require.NoError(t, startErr)
		eventually(t, func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
			return os.IsNotExist(err)
		}, "the thread is still there")
		_, err = in.Write([]byte("still here\n"))
		require.NoError(t, err)
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
		require.Equal(t, "still here\n", out.String())
	})
}

// onThreadThatEnds runs f on a thread that ends with its goroutine, and gives the thread's number. The main thread never
// ends: when the goroutine happens to be on that one, it keeps it busy and leaves f to another.
func onThreadThatEnds(f func()) int {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			tid <- onThreadThatEnds(f)
			return
		}
		f()
		tid <- unix.Gettid() // not unlocked: the thread ends with the goroutine
	}()
	return <-tid
}

// TestCloseEndsWhatRuns: closing the sandbox ends running commands with everything they started (R82).
func TestCloseEndsWhatRuns(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		box := open(t, f.writable(), shell.Options{})
		cmd := command(t, box, f.ws, "sh", "-c", "setsid sleep 300 & echo ready; sleep 300")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 16))
		require.NoError(t, err)
		waited := make(chan error, 1)
		go func() { waited <- cmd.Wait() }()
		require.NoError(t, box.Close())
		require.ErrorIs(t, <-waited, shell.ErrClosed)
		require.Equal(t, "SIGKILL", cmd.Completion.Signal)
		require.Empty(t, children(t))
		require.ErrorIs(t, box.Command(context.Background(), "true").Start(), shell.ErrClosed)
	})
}

func init() {
	modes["host"] = hostLoop
	modes["kill-hosts"] = killHosts
}

// hostLoop is a host that opens sandboxes and runs short commands in them, beside one that would run for long, until it
// is killed.
func hostLoop(args []string) int {
	for {
		box, err := shell.Open(context.Background(), hostPolicy(args[0]), shell.Options{Limits: hostLimits})
		if err != nil {
			fmt.Println(explain(err))
			return 1
		}
		long := box.Command(context.Background(), "sh", "-c", "setsid sleep 300 & sleep 300")
		long.Dir = args[0]
		if err := long.Start(); err != nil {
			fmt.Println(explain(err))
			return 1
		}
		for range 2 {
			cmd := box.Command(context.Background(), "sh", "-c", "setsid sleep 300 & sleep 0.002")
			cmd.Dir = args[0]
			if err := cmd.Run(); err != nil {
				fmt.Println(explain(err))
				return 1
			}
		}
		_ = box.Close() // it is about to be killed anyway
	}
}

// kills is how many hosts are killed.
const kills = 50

// killHosts starts hosts and kills each at a random moment. It adopts what they leave behind, so that nothing can hide,
// and fails when something is still there after a while.
func killHosts(args []string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	var hosts []int
	for i := range kills {
		host := exec.Command(attacker2(), "host", args[0])
		host.Stdout = os.Stdout
		if err := host.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		// Set-up takes some 5 to 20 ms and goes on all the time.
		time.Sleep(time.Duration(rand.Int64N(int64(60 * time.Millisecond))))
		if err := host.Process.Kill(); err != nil {
			fmt.Println("the host ended by itself:", err)
			return 1
		}
		if err := collect(); err != nil {
			fmt.Printf("host %d: %v\n", i, err)
			return 1
		}
		hosts = append(hosts, host.Process.Pid)
	}
	fmt.Printf("killed %d hosts\n", kills)
	return swept(args[0], hosts)
}

// hostLimits need control groups where there are any.
var hostLimits = shell.Limits{Processes: 50, MemoryBytes: 512 << 20}

// swept checks the control groups of killed hosts. One that is killed in the moment between making a group and handing it
// to the first process leaves an empty one behind; whoever opens a sandbox next removes it.
func swept(ws string, hosts []int) int {
	left := 0
	for _, pid := range hosts {
		left += len(cgroupsOf(pid))
	}
	fmt.Printf("%d empty control groups left to the next host\n", left)
	box, err := shell.Open(context.Background(), hostPolicy(ws), shell.Options{Limits: hostLimits})
	if err == nil {
		err = box.Close()
	}
	if err != nil {
		fmt.Println(explain(err))
		return 1
	}
	for _, pid := range hosts {
		if left := cgroupsOf(pid); len(left) > 0 {
			fmt.Println("left behind by a killed host, and by the next one too:", left)
			return 1
		}
	}
	return 0
}

func hostPolicy(ws string) policy.Policy {
	return policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths(ws)}}
}

// collect reaps until no child is left.
func collect() error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case err == unix.ECHILD:
			return nil
		case err != nil && err != unix.EINTR:
			return err
		case pid > 0:
			continue
		case time.Now().After(deadline):
			return endLeft()
		}
		time.Sleep(time.Millisecond) // between two looks at the condition
	}
}

// endLeft ends what a killed host left behind, and says what it was.
func endLeft() error {
	left, err := childrenOf(os.Getpid())
	for _, c := range left {
		number, _, _ := strings.Cut(c, " ")
		err = errors.Join(err, unix.Kill(atoi(number), unix.SIGKILL))
	}
	return errors.Join(fmt.Errorf("left behind: %v", left), err)
}

// TestKilledHostLeavesNothing: the host is killed at 50 random moments, most of them during set-up, and nothing is
// left: no process, mount, file or control group (process cases 40, 43; conformance 48).
func TestKilledHostLeavesNothing(t *testing.T) {
	bothUsers(t, func(t *testing.T) {
		f := newField(t)
		f.write(f.ws+"/.git/hooks/pre-commit", "")
		require.NoError(t, os.Mkdir(f.dir+"/tmp", 0o755))
		before := takeStock(t, f.dir)
		cmd := again("kill-hosts", f.ws)
		cmd.Env = append(cmd.Env, "TMPDIR="+f.dir+"/tmp")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), fmt.Sprintf("killed %d hosts", kills))
		record(entry{Kind: "note", Test: t.Name(), Detail: lines(out)[len(lines(out))-1]})
		after := takeStock(t, f.dir)
		before.goroutines, after.goroutines = 0, 0
		require.Equal(t, before, after)
	})
}
