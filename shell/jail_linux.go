package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// jailProcess is the host's side of one jail: the process, and the socket to it.
type jailProcess struct {
	pid     int
	plan    *jailPlan
	process *os.Process
	sock    *os.File
	trace   *os.File // what the first process wrote to its standard error: a crash, if anything
	report  Report
	cgroup  *cgroup // of its command, when limits need one

	numbers map[int]int     // number of a record → its place in records, from 1
	told    func(Violation) // takes each record as it comes
	network *network        // nil without a list of hosts
	notes   notes           // records of the host's own
	exposed exposed         // servers of the command that the host can reach

	handle       int // a pidfd, when the plan has a keeper
	mu           sync.Mutex
	coveredAgain []string // what the host replaced meanwhile
	broken       error    // why the host ended it

	over atomic.Bool // its command has ended
	gone atomic.Bool // the socket is closed, or about to be
	oom  atomic.Bool // the host killed it, because the kernel had begun to kill for memory

	// Set by wait:
	reaped   bool           // the first process has been waited for
	breaches map[string]int // limits that the command ran into
	records  []Violation    // what was denied, in the order in which it came up
	killed   bool           // PID 1 was killed before the command had ended
}

// commandSpec is what a jail is asked to run.
type commandSpec struct {
	name, dir string
	argv, env []string
}

// setupPatience is how long a jail may take to be ready. It takes milliseconds; a busy machine may need seconds.
const setupPatience = time.Minute

// start makes one jail, waits until it is ready, and checks that everything required is in force.
func (p *jailPlan) start(ctx context.Context) (*jailProcess, error) {
	before := p.keeper.before()
	j, err := p.launch()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, j.kill)
	defer stop()
	late := time.AfterFunc(setupPatience, j.kill)
	m, err := j.receive()
	if !late.Stop() {
		err = &Error{Code: CodeFailed, Detail: fmt.Sprintf("set up a jail: its first process did not report within %v", setupPatience),
			Hints: []string{"the program, or Options.Helper, must import this package, and must not block in an init function"}}
	}
	if err == nil && m.Ready == nil {
		err = p.setupError(m.Failure)
	}
	if err == nil && p.wire.Listens() && j.network == nil {
		err = &Error{Code: CodeFailed, Layer: "network", Detail: "set up a jail: its listeners did not arrive"}
	}
	if err == nil {
		j.report, err = p.makeReport(m.Ready)
	}
	if err == nil {
		err = p.keeper.add(j, before)
	}
	if err != nil {
		j.discard()
		if ctx.Err() != nil {
			err = &Error{Code: CodeFailed, Detail: "set up a jail", Err: ctx.Err()}
		}
		return nil, err
	}
	return j, nil
}

// launch starts the first process in its namespaces.
func (p *jailPlan) launch() (*jailProcess, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	trace, err := memfd("sallyport-trace", nil)
	if err != nil {
		ours.Close()
		return nil, err
	}
	j := &jailProcess{plan: p, sock: ours, trace: trace, numbers: map[int]int{}}
	j.pid, err = jail.Launch(p.setup, p.namespaces(), jail.Files{
		Socket: int(theirs.Fd()), Plan: int(p.file.Fd()), Trace: int(trace.Fd()), Null: int(p.null.Fd()),
	})
	if err != nil {
		j.release()
		return nil, p.launchError(err)
	}
	if j.process, err = os.FindProcess(j.pid); err != nil { // cannot happen: it is our child, and not waited for
		j.release()
		return nil, &Error{Code: CodeFailed, Detail: "watch the jail's first process", Err: err}
	}
	return j, nil
}

// namespaces are the flags of clone for the layers of the plan.
func (p *jailPlan) namespaces() uintptr {
	if p.wire.Layers == 0 {
		return 0
	}
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	if p.wire.Layers.Has(jail.LayerNamespaces) {
		flags |= unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	}
	if p.wire.Layers.Has(jail.LayerNetwork) && p.wire.Network != jail.NetworkHost {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// run has the jail start the command, and returns when its execve is done.
func (j *jailProcess) run(ctx context.Context, spec commandSpec, files []*os.File) error {
	stop := context.AfterFunc(ctx, j.kill)
	defer stop()
	var err error
	if p := j.plan; len(p.controllers) > 0 {
		if j.cgroup, err = makeCgroup(p.controllers, p.limits); err != nil {
			return err
		}
	}
	if j.network != nil {
		j.startNotes()
	}
	err = j.sendCommand(spec, files)
	var m jail.Message
	if err == nil {
		m, err = j.receive()
	}
	if ctx.Err() != nil {
		return &Error{Code: CodeFailed, Detail: "start " + spec.name, Err: ctx.Err()}
	}
	if err != nil {
		return err
	}
	if m.Started == nil {
		return startError(spec, m.Failure)
	}
	if slices.ContainsFunc(j.plan.controllers, func(c controller) bool { return c.name == "memory" && c.version == 1 }) {
		go j.killAllForMemory()
	}
	return nil
}

// killAllForMemory kills the whole tree when the kernel has killed one process of it for its memory: version 2 of the
// cgroups does that by itself (memory.oom.group), version 1 lets the others go on.
func (j *jailProcess) killAllForMemory() {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if j.gone.Load() {
			return
		}
		if j.cgroup.breaches()["memory"] > 0 {
			j.oom.Store(true)
			j.kill()
			return
		}
	}
}

func (j *jailProcess) sendCommand(spec commandSpec, files []*os.File) error {
	body, err := json.Marshal(jail.Command{
		Name: []byte(spec.name), Dir: []byte(spec.dir), Argv: toBytes(spec.argv), Env: toBytes(spec.env),
	})
	if err != nil {
		return &Error{Code: CodeFailed, Detail: "start " + spec.name, Err: err}
	}
	file, err := memfd("sallyport-command", body)
	if err != nil {
		return err
	}
	defer file.Close()
	spawn := &jail.Spawn{N: len(files)}
	all := []*os.File{file}
	if j.cgroup != nil {
		control, err := j.cgroup.files()
		if err != nil {
			return err
		}
		defer closeAll(control)
		for range j.cgroup.controllers {
			spawn.Cgroups = append(spawn.Cgroups, j.cgroup.name)
		}
		all = append(all, control...)
	}
	var fds []int
	for i, f := range append(all, files...) {
		if f == nil {
			return invalid("start "+spec.name, fmt.Errorf("descriptor %d is a nil file", i-len(all)))
		}
		fds = append(fds, int(f.Fd()))
	}
	return j.send(jail.Message{Spawn: spawn}, unix.UnixRights(fds...))
}

// wait waits until the command and everything that it started has ended. The first process may still be there, on its
// way out: end waits for that.
func (j *jailProcess) wait() (Completion, error) {
	m, err := j.receive()
	var state *os.ProcessState
	var waitErr error
	// Taking a jail's mounts apart takes the kernel a millisecond, which nobody needs to wait for. A control group is
	// removed by a process that is in a jail, and what a tree killed by a limit leaves is counted when it has ended.
	if err != nil || m.Exited == nil || !m.Exited.Alone || j.cgroup != nil {
		state, waitErr = j.process.Wait()
		j.reaped = true
	}
	defer j.finishNotes()
	j.network.close()
	j.exposed.close()
	j.breaches = j.cgroup.breaches()
	j.mu.Lock()
	broken := j.broken
	j.mu.Unlock()
	if broken != nil {
		err = broken
	}
	if m.Exited == nil && j.oom.Load() {
		done := Completion{ExitCode: -1, Failed: true, Limit: "memory"}
		done.setSignal(unix.SIGKILL)
		return done, nil
	}
	if err != nil || m.Exited == nil {
		done := Completion{ExitCode: -1, Failed: true}
		done.setSignal(unix.SIGKILL)
		j.killed = true
		if waitErr == nil && state.Sys().(syscall.WaitStatus).Signaled() {
			done.setSignal(state.Sys().(syscall.WaitStatus).Signal())
		}
		return done, errors.Join(err, waitErr)
	}
	done := completion(m.Exited)
	if done.Limit != "" {
		j.breaches[done.Limit] = 1
	}
	if done.Signal == "SIGKILL" && j.breaches["memory"] > 0 {
		done.Limit = "memory"
	}
	if limit := j.plan.processLimit(done); limit != "" {
		done.Limit = limit
		j.breaches[limit] = 1
	}
	return done, nil
}

// record keeps one record, or the final count of one that is known.
func (j *jailProcess) record(d *jail.Denied) {
	v := violation(d)
	j.notes.mu.Lock()
	defer j.notes.mu.Unlock()
	if known := j.numbers[d.Number]; known > 0 {
		j.records[known-1].Count = v.Count
	} else {
		j.records = append(j.records, v)
		j.numbers[d.Number] = len(j.records)
	}
	j.notes.tell(j.told, v)
}

func violation(d *jail.Denied) Violation {
	v := Violation{
		Time: time.Unix(0, d.UnixNano), PID: d.PID, Program: string(d.Program), Operation: d.Operation, Target: string(d.Target),
		Rule: d.RuleText, Remedy: d.Remedy, Count: d.Count,
		Decision: policy.Decision{
			Axis: policy.Axis(d.Axis), Path: string(d.Path), Reason: d.Reason, Remedy: d.Remedy,
			Rule: policy.Rule{List: d.List, Entry: d.Entry, Index: d.Index, Why: d.Why},
		},
	}
	if d.Errno != 0 {
		v.Errno = unix.ErrnoName(d.Errno)
	}
	return v
}

// end waits until nothing of the jail is left, and gives back what the host holds of it.
func (j *jailProcess) end() {
	if !j.reaped {
		_, _ = j.process.Wait() // it has told all there is to tell
	}
	j.release()
}

// release gives back what the host holds of a jail that is gone.
func (j *jailProcess) release() {
	j.gone.Store(true)
	j.network.close()
	j.plan.keeper.remove(j)
	j.sock.Close()
	j.trace.Close()
	j.cgroup.remove()
}

// processLimit is the limit of a single process by which the kernel ended the first one, told by the signal and the time.
// A signal alone tells nothing: a command can send itself SIGXFSZ.
func (p *jailPlan) processLimit(done Completion) string {
	cpu := time.Duration(p.wire.Limits.CPUSeconds) * time.Second
	killed := done.Signal == "SIGKILL" || done.Signal == "SIGXCPU"
	// The kernel enforces the limit by counting ticks, and tells the time in microseconds: the two differ a little.
	if cpu > 0 && killed && done.Limit == "" && done.UserTime+done.SystemTime >= cpu-min(cpu/4, 500*time.Millisecond) {
		return "cpu"
	}
	return ""
}

func completion(e *jail.Exited) Completion {
	status := syscall.WaitStatus(e.Status)
	done := Completion{
		ExitCode:    status.ExitStatus(),
		Limit:       e.Limit,
		UserTime:    time.Duration(e.UserUS) * time.Microsecond,
		SystemTime:  time.Duration(e.SystemUS) * time.Microsecond,
		MaxRSSBytes: e.MaxRSSKB << 10,
	}
	if status.Signaled() {
		done.setSignal(status.Signal())
	}
	done.Failed = done.ExitCode != 0
	return done
}

func (c *Completion) setSignal(s syscall.Signal) {
	c.signal = int(s)
	c.Signal = unix.SignalName(s)
	if c.Signal == "" {
		c.Signal = fmt.Sprintf("signal %d", c.signal) // real-time signals have no name
	}
}

// sound says whether a jail that waits is still there: somebody, or the kernel for want of memory, may have killed it.
func (j *jailProcess) sound() bool {
	poll := []unix.PollFd{{Fd: int32(j.sock.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n == 0
}

// kill ends the jail: the kernel kills the whole PID namespace with its first process.
func (j *jailProcess) kill() {
	_ = j.process.Kill() // it may have ended already
	j.mu.Lock()          // it may come at any time, also while the jail is being set up
	n := j.network
	j.mu.Unlock()
	n.cut()
}

// discard ends a jail whose command never ran, and waits until it is gone.
func (j *jailProcess) discard() {
	j.kill()
	_, _ = j.process.Wait() // killed, as wanted
	j.network.close()
	j.exposed.close()
	j.finishNotes()
	j.release()
}

func (j *jailProcess) signal(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok || number < 1 || number > 64 {
		return invalid("signal a command", fmt.Errorf("unknown kind of signal %v", sig))
	}
	err := j.send(jail.Message{Signal: &jail.Signal{Number: int(number)}}, nil)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || j.gone.Load() {
		return nil // it has ended
	}
	return err
}
