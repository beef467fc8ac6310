package goja

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"sallyport/compartment"
)

// There is no memory limit here, since nobody can tell whose a value of Go is. But a guest that allocates in a loop would take the whole process
// with it. So the heap of the process is watched while a guest runs, and when what is alive in it has grown by more than any program of a guest needs,
// whoever runs then is stopped. What one built-in takes at once is bounded by the guards.

// maxGrowth is how much more may be alive in the heap of the process than when the guest had begun. It counts what the rest of the process
// makes meanwhile, and the collector notices it late: the heap may be twice that by then. It is also what keeps chains of objects short enough to be gone through on the stack of the host, which may be 1 GB.
const maxGrowth = 512 << 20

// watchEvery is how often the heap is looked at, which takes a microsecond. A guest needs tens of milliseconds for maxGrowth.
const watchEvery = 10 * time.Millisecond

// takenAtOnce is how many bytes may be asked for by buffers and long texts before the heap is looked at in between. Such memory is had at once: gigabytes of
// it within watchEvery.
const takenAtOnce = 256 << 20

// memoryWatch watches the heap during one evaluation. It is safe for concurrent use.
type memoryWatch struct {
	*time.Ticker
	ev *compartment.Evaluation

	mu    sync.Mutex
	live  [1]metrics.Sample
	first uint64 // what was alive when it was first looked at; 0 before that
}

func newMemoryWatch(ev *compartment.Evaluation) *memoryWatch {
	return &memoryWatch{Ticker: time.NewTicker(watchEvery), ev: ev, live: [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
}

// look stops the evaluation when the heap has grown too much.
func (w *memoryWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	metrics.Read(w.live[:])
	live := w.live[0].Value.Uint64()
	if w.first == 0 {
		w.first = live
	}
	if live > w.first+maxGrowth {
		w.ev.Stop(compartment.KindMemory)
	}
}

// take counts bytes that the guest asks for at once. Now and then it has the garbage collected, to see what of all that is still in use.
func (r *realm) take(bytes float64) {
	if r.watch == nil || !(bytes > 0) {
		return
	}
	if r.taken += int64(min(bytes, takenAtOnce)); r.taken < takenAtOnce {
		return
	}
	r.taken = 0
	runtime.GC()
	r.watch.look()
	r.evaluation() // ends the guest here when that was a stop
}
