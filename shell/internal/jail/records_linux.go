package jail

import (
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/policy"
	"sallyport/shell/internal/broker"
)

// maxRecords bounds how many different records are kept of one command. A command that is refused a thousand different
// things is trying names, and the rest is a number.
const maxRecords = 1000

// recorder keeps what was denied and tells the host. Adding to it never waits for the host: whoever is denied something
// waits for the answer, and a decision must not depend on who listens.
type recorder struct {
	tell func(*Denied) bool

	mu      sync.Mutex
	changed sync.Cond
	known   map[recordKey]*Denied
	queue   []*Denied // to be told, each once until it was
	dropped int
	closed  bool
	done    chan struct{} // closed when everything is told after closed; nil when nobody tells
}

// recordKey is what makes two denials the same.
type recordKey struct {
	operation, target, list, entry string
	errno                          unix.Errno
}

func newRecorder(tell func(*Denied) bool) *recorder {
	r := &recorder{tell: tell, known: map[recordKey]*Denied{}}
	r.changed.L = &r.mu
	return r
}

// add takes one denial. Who it befell is asked once a record.
func (r *recorder) add(d broker.Denial, who broker.Who) {
	key := recordKey{d.Operation, d.Target, d.Decision.Rule.List, d.Decision.Rule.Entry, d.Errno}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known[key]; known != nil {
		known.Count++
		return
	}
	if len(r.known) >= maxRecords || r.closed {
		r.dropped++
		return
	}
	rec := newDenied(d)
	rec.Number = len(r.known)
	pid, program := who()
	rec.PID, rec.Program = pid, []byte(program)
	r.known[key] = rec
	first := *rec
	r.queue = append(r.queue, &first)
	r.changed.Signal()
}

func newDenied(d broker.Denial) *Denied {
	rule := d.Decision.Rule
	return &Denied{
		UnixNano: time.Now().UnixNano(), Operation: d.Operation, Target: []byte(d.Target), Errno: d.Errno, Count: 1,
		Axis: int(d.Decision.Axis), Path: []byte(d.Decision.Path), List: rule.List, Entry: rule.Entry, Why: rule.Why, Index: rule.Index,
		Reason: d.Decision.Reason, Remedy: d.Decision.Remedy, RuleText: ruleText(rule),
	}
}

// ruleText names a rule in a few words.
func ruleText(rule policy.Rule) string {
	switch {
	case rule.List == policy.ListDefault && rule.Entry == "":
		return rule.Why
	case rule.Entry == "":
		return rule.List + ": " + rule.Why
	}
	text := rule.List + " " + strconv.Quote(rule.Entry)
	if rule.Why != "" {
		text += ": " + rule.Why
	}
	return text
}

// start begins to tell.
func (r *recorder) start() {
	r.done = make(chan struct{})
	go r.send()
}

// send tells the host until everything is told. When the host is gone, nobody listens any more.
func (r *recorder) send() {
	defer close(r.done)
	r.mu.Lock()
	for {
		for len(r.queue) == 0 && !r.closed {
			r.changed.Wait()
		}
		if len(r.queue) == 0 {
			r.mu.Unlock()
			return
		}
		next := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		if !r.tell(next) {
			return
		}
		r.mu.Lock()
	}
}

// finish tells the final counts, and waits until the host has been told everything.
func (r *recorder) finish() {
	r.mu.Lock()
	r.closed = true
	for _, d := range r.known {
		if d.Count > 1 {
			r.queue = append(r.queue, d)
		}
	}
	if r.dropped > 0 {
		r.queue = append(r.queue, &Denied{
			Number: -1, UnixNano: time.Now().UnixNano(), PID: 1, Operation: "limit", Target: []byte("records"), Count: r.dropped,
			RuleText: "at most " + strconv.Itoa(maxRecords) + " different records are kept of one command",
		})
	}
	r.changed.Signal()
	r.mu.Unlock()
	if r.done != nil {
		<-r.done
	}
}
