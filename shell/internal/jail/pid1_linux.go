package jail

import (
	"encoding/json"
	"time"

	"golang.org/x/sys/unix"
)

// confinedLife is PID 1 of the jail. It returns only when something failed before a command was started.
func confinedLife() error {
	// Nobody in the jail may look into PID 1 or trace it, with the same uid or as uid 0.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fail("dumpable", "prctl(PR_SET_DUMPABLE)", err, "make the first process undumpable")
	}
	plan, err := readPlan()
	if err != nil {
		return err
	}
	unix.CloseOnExec(SocketFD)
	unix.CloseOnExec(PlanFD)
	if plan.namesThreads() {
		unix.CloseOnExec(ThreadsFD)
	}
	if err := defaultSignals(); err != nil {
		return err
	}
	// Compiled before any filter: from then on this thread opens nothing.
	names, err := prepareNames(plan)
	if err != nil {
		return err
	}
	// The program with the listener comes first: the static one refuses to make another.
	if err := names.start(); err != nil {
		return err
	}
	if plan.Layers.Has(LayerSeccomp) {
		if err := installFilter(plan); err != nil {
			return err
		}
	}
	ready, err := readBack(plan, names)
	if err != nil {
		return err
	}
	if err := send(Message{Ready: ready}); err != nil {
		return err
	}
	return serve(plan, names)
}

// serve waits for the command, starts it, and reaps until it ends. It ends the process itself.
func serve(plan *Plan, names *namesLayer) error {
	rehearse(plan)
	request, files, err := receive()
	if err != nil || request.Spawn == nil {
		unix.Exit(0) // the host closed its end without a command: nothing ran
	}
	pid, err := spawn(plan, request.Spawn, files)
	if err != nil {
		return err
	}
	if err := send(Message{Started: &Started{PID: pid}}); err != nil {
		unix.Exit(0)
	}
	groups := request.Spawn.cgroups(files[1:])
	watch := startWatches(plan)
	go followHost(pid, len(groups) > 0, &names.outside)
	exited := reap(pid)
	exited.Alone = nobodyLeft()
	exited.Limit, exited.LimitSeen = watch.breach()
	names.records.finish()
	if send(Message{Exited: exited}) != nil { // the host is gone
		_ = unix.Kill(-1, unix.SIGKILL)
		elsewhere(func() { removeCgroups(groups) })
	}
	unix.Exit(0)
	return nil
}

// rehearse does what starting a command needs without starting one. Code that runs for the first time is brought in page
// by page, and the encoder builds its tables: of a command that comes to a jail that waits, that would be a fifth of the
// time. What fails here fails again when it matters.
func rehearse(plan *Plan) {
	command, err := json.Marshal(Command{Name: []byte("true"), Dir: []byte("/"), Argv: [][]byte{[]byte("true")}, Env: [][]byte{[]byte("PATH=/")}})
	if err != nil {
		return
	}
	request, err := json.Marshal(Message{Spawn: &Spawn{N: 3}, Started: &Started{}, Exited: &Exited{}})
	if err != nil {
		return
	}
	var m Message
	var c Command
	if json.Unmarshal(request, &m) != nil || json.Unmarshal(command, &c) != nil {
		return
	}
	elsewhere(func() { _, _ = newCommandSetup(plan, "/true", &c, nil, []int{0, 1, 2}) })
	_, _ = lookPath("true", "/", []string{"PATH=/"})
}

// followHost passes signals and answers on, and ends the jail when the host closes its end or dies. With cgroups to remove, the
// tree is killed first and serve, which reaps it, removes them; it gets a second for that.
func followHost(pid int, cgroups bool, o *outside) {
	for {
		m, _, err := receive()
		if err != nil && cgroups {
			_ = unix.Kill(-1, unix.SIGKILL) // everything but PID 1
			time.Sleep(time.Second)
		}
		if err != nil {
			unix.Exit(0)
		}
		switch {
		case m.Signal != nil:
			// The command leads a session and a process group of its own; as from a terminal, all of the group gets it.
			_ = unix.Kill(-pid, unix.Signal(m.Signal.Number)) // ESRCH: it just ended
		case m.Connected != nil:
			o.answered(m.Connected)
		case m.Dial != nil:
			go dialOwn(m.Dial)
		}
	}
}

// reap waits for every child that ends, adopted ones too, until the command's first process does.
func reap(pid int) *Exited {
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		got, err := unix.Wait4(-1, &status, 0, &usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &Exited{Status: uint32(unix.SIGKILL)} // ECHILD: cannot happen while pid is ours
		}
		if got == pid {
			return &Exited{
				Status:   uint32(status),
				UserUS:   usage.Utime.Nano() / 1000,
				SystemUS: usage.Stime.Nano() / 1000,
				MaxRSSKB: int64(usage.Maxrss),
			}
		}
	}
}

// nobodyLeft says whether PID 1 is the only process of the jail. What outlives its parent becomes a child of PID 1, so
// where there is no child there is nobody.
func nobodyLeft() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.EINTR || pid > 0 {
			continue
		}
		return err == unix.ECHILD
	}
}

// elsewhere runs f on a thread that no filter is on.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}
