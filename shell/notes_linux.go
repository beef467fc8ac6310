package shell

import (
	"fmt"
	"sync"
	"time"
)

// notes are the records that the host itself makes of one command: what its gateway refused. They come from many
// goroutines at once, and a decision must not wait for who listens: they are told by a goroutine of their own, and so are
// those of the first process then, so that one goroutine tells all.
type notes struct {
	mu      sync.Mutex // of the records of the jail too
	changed sync.Cond
	known   map[noteKey]int // place in the records
	queue   []Violation
	dropped int
	telling chan struct{} // closed when everything is told; nil when nobody tells
	closed  bool
}

// noteKey is what makes two records the same.
type noteKey struct{ operation, target, rule, errno string }

// maxNotes bounds how many different records the host makes of one command.
const maxNotes = 1000

// note keeps a record of the host's own, or counts it.
func (j *jailProcess) note(v Violation) {
	n := &j.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	key := noteKey{v.Operation, v.Target, v.Rule, v.Errno}
	if at, ok := n.known[key]; ok {
		j.records[at].Count++
		return
	}
	if len(n.known) >= maxNotes || n.closed || n.telling == nil {
		n.dropped++
		return
	}
	n.known[key] = len(j.records)
	j.records = append(j.records, v)
	n.queue = append(n.queue, v)
	n.changed.Signal()
}

// tell hands a record on. It is called with mu held.
func (n *notes) tell(told func(Violation), v Violation) {
	if n.telling == nil {
		told(v)
		return
	}
	n.queue = append(n.queue, v)
	n.changed.Signal()
}

// startNotes begins to tell; nothing is refused before.
func (j *jailProcess) startNotes() {
	n := &j.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed.L, n.known, n.telling = &n.mu, map[noteKey]int{}, make(chan struct{})
	go n.run(j.told)
}

func (n *notes) run(told func(Violation)) {
	defer close(n.telling)
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		for len(n.queue) == 0 && !n.closed {
			n.changed.Wait()
		}
		if len(n.queue) == 0 {
			return
		}
		next := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		told(next)
		n.mu.Lock()
	}
}

// finishNotes tells the final counts, and returns when everything is told.
func (j *jailProcess) finishNotes() {
	n := &j.notes
	n.mu.Lock()
	if n.telling == nil || n.closed {
		n.mu.Unlock()
		return
	}
	for _, at := range n.known {
		if j.records[at].Count > 1 {
			n.queue = append(n.queue, j.records[at])
		}
	}
	if n.dropped > 0 {
		v := Violation{Time: time.Now(), PID: 1, Operation: "limit", Target: "records", Count: n.dropped,
			Rule: fmt.Sprintf("at most %d different records of the network are kept of one command", maxNotes)}
		j.records = append(j.records, v)
		n.queue = append(n.queue, v)
	}
	n.closed = true
	n.changed.Signal()
	telling := n.telling
	n.mu.Unlock()
	<-telling
}
