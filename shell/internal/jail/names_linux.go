package jail

import (
	"encoding/json"
	"errors"
	iofs "io/fs"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell/internal/broker"
)

// namesLayer is the second seccomp program with the broker that answers it.
type namesLayer struct {
	plan     *Plan
	rules    *policy.Rules
	umask    int
	records  *recorder
	told     []Row // rows of the table whose refusals are recorded
	killable bool
	status   int // the open state of the thread that forks
	on       bool
	path     *byte // that the probe names
	outside  outside
}

// prepareNames compiles the policy again, from what the host saw.
func prepareNames(plan *Plan) (*namesLayer, error) {
	n := &namesLayer{plan: plan, records: newRecorder(sendDenied)}
	var err error
	if n.status, err = unix.Open("/proc/thread-self/status", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil, fail("report", "open", err, "read the state of the first process")
	}
	if !plan.Layers.Has(LayerNames) || plan.Names == nil {
		return n, nil
	}
	n.on = true
	if n.rules, err = plan.Names.Rules(); err != nil {
		return nil, &Failure{Layer: "names", Detail: "compile the policy: " + err.Error()}
	}
	n.umask = unix.Umask(0) // there is no other way to ask; nothing is made meanwhile
	unix.Umask(n.umask)
	if n.path, err = unix.BytePtrFromString(string(plan.Names.Probe)); err != nil {
		return nil, fail("names", "", err, "read the plan")
	}
	return n, nil
}

// Rules are those that the host has. Nothing is looked up here: what a path leads to was settled there.
func (n *Names) Rules() (*policy.Rules, error) {
	p, err := policy.Parse(n.Policy)
	if err != nil {
		return nil, err
	}
	known := make(map[string]*Resolved, len(n.Resolved))
	for i := range n.Resolved {
		known[string(n.Resolved[i].Path)] = &n.Resolved[i]
	}
	return p.Compile(policy.CompileOptions{Private: n.Private, Resolve: func(path string) (string, error) {
		r, ok := known[path]
		switch {
		case !ok:
			return "", errors.New("not looked at when the sandbox was opened")
		case r.Absent:
			return "", iofs.ErrNotExist
		case r.Unknown != "":
			return "", errors.New(r.Unknown)
		}
		return string(r.Real), nil
	}})
}

// Flags of seccomp(2).
const (
	newListener  = 1 << 3
	waitKillable = 1 << 5
)

// start installs the program on this thread, and has the broker answer on others.
func (n *namesLayer) start() error {
	if !n.on {
		return nil
	}
	_, n.told = splitRecorded(fullTable(n.plan), n.plan.records() && n.plan.Layers.Has(LayerSeccomp))
	prog, err := compileNotified(n.plan.Names.notifiedCalls(), n.told, runtime.GOARCH)
	if err != nil {
		return &Failure{Layer: "names", Detail: err.Error()}
	}
	// While the broker answers, a signal that does not kill must wait: the call would be made a second time otherwise.
	listener, errno := setFilter(prog, newListener|waitKillable)
	n.killable = errno == 0
	if errno == unix.EINVAL { // before Linux 5.19
		listener, errno = setFilter(prog, newListener)
	}
	if errno != 0 {
		return fail("names", "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)", errno, "install the program that hands calls over")
	}
	thread := unix.Gettid()
	elsewhere(func() { err = n.answer(listener, thread) })
	return err
}

// answer makes and starts the broker.
func (n *namesLayer) answer(listener, thread int) error {
	config := broker.Config{
		Listener: listener, Rules: n.rules, DecideReads: n.plan.Names.DecideReads, Refused: n.refused, Main: thread,
		Threads: -1,
	}
	if n.plan.namesThreads() {
		config.Threads = ThreadsFD
	}
	config.NoNetwork, config.Sockets = n.plan.Names.NoNetwork, n.plan.Names.Sockets
	if n.plan.Names.Capture {
		config.Outside, config.CapturePort = n.outside.connect, CapturePort
	}
	for _, g := range n.plan.Names.Guarded {
		config.Guarded = append(config.Guarded, broker.Guard{Path: string(g.Path), Why: g.Why})
	}
	if n.plan.Names.Record {
		config.Record = n.records.add
		n.records.start()
	}
	b, err := broker.New(config, n.umask)
	if err == broker.ErrPtraceScope {
		return fail("names", "ptrace_scope", unix.EPERM, "read the arguments of calls")
	}
	if err != nil {
		return fail("names", "open", err, "start to answer calls")
	}
	b.Start()
	return nil
}

// refused finds the row that refuses a call.
func (n *namesLayer) refused(nr int, args [6]uint64) (broker.Refusal, bool) {
	for i := range n.told {
		row := &n.told[i]
		if number, ok := numbers[runtime.GOARCH][row.Name]; !ok || int(number) != nr || !row.matches(args) {
			continue
		}
		r := broker.Refusal{Operation: recorded[row.Name], Target: row.Name, Errno: unix.Errno(row.Errno), Why: row.Why}
		if row.Name == "socket" {
			r.Target = "socket of family " + strconv.Itoa(int(int32(args[0])))
			if uint32(args[0]) == afUNIX {
				r.Operation, r.Target = "unix", "socket of the family AF_UNIX"
			}
		}
		return r, true
	}
	return broker.Refusal{}, false
}

// probe makes a call that the broker judges and does not make. Without the program in force the kernel refuses its flags:
// nothing happens either way.
func (n *namesLayer) probe() unix.Errno {
	if !n.on || !n.plan.judges() {
		return 0
	}
	p := uintptr(unsafe.Pointer(n.path))
	cwd := ^uintptr(99)
	_, _, errno := unix.Syscall6(unix.SYS_RENAMEAT2, cwd, p, cwd, p, 0xdead0000, 0)
	return errno
}

// sendDenied tells the host one record.
func sendDenied(d *Denied) bool {
	if len(d.Target) > maxDetail {
		d.Target = d.Target[:maxDetail]
	}
	_, err := json.Marshal(d)
	return err == nil && send(Message{Denied: d}) == nil
}
