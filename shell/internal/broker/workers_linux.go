package broker

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxWorkers bounds the calls that are made at the same moment. Only calls that wait, for a slow file system or for the
// other end of a FIFO, need more than a few; past the bound the next one waits for an earlier one.
const maxWorkers = 64

// slow is how long a call may take before somebody else takes the next one.
const slow = 5 * time.Millisecond

// turns decides which worker waits for the next notification. It is one at a time: the kernel wakes everyone who waits for
// every notification (seen on 6.18), and the one that has just answered has everything at hand. A worker goes on having
// the turn while it makes a call, unless another notification waits already, or the call takes long.
type turns struct {
	turn atomic.Int64 // the worker that has it, or 0
	busy atomic.Int64 // when that worker began the call that it makes, or 0

	mu      sync.Mutex
	free    sync.Cond // signalled when nobody has the turn
	workers int
	waiting int

	asleep atomic.Bool // the one that looks for slow calls sleeps
	wake   chan struct{}
}

// take waits until it is this worker's turn.
func (t *turns) take(id int64) {
	if t.turn.Load() == id {
		return
	}
	t.mu.Lock()
	t.waiting++
	for !t.turn.CompareAndSwap(0, id) {
		t.free.Wait()
	}
	t.waiting--
	t.mu.Unlock()
}

// pass takes the turn from a worker, if it has it, and gives it to another one.
func (b *Broker) pass(id int64) {
	if !b.turn.CompareAndSwap(id, 0) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == 0 && b.workers < maxWorkers {
		b.startWorker()
	}
	b.free.Signal()
}

// startWorker is called with mu held.
func (b *Broker) startWorker() {
	b.workers++
	go b.work(int64(b.workers))
}

// watch passes the turn on when a call takes long. While nothing is asked, it sleeps.
func (b *Broker) watch() {
	for idle := 0; ; {
		time.Sleep(slow)
		id, since := b.turn.Load(), b.busy.Load()
		if since == 0 {
			if idle++; idle > 20 {
				b.asleep.Store(true)
				if b.busy.Load() == 0 {
					<-b.wake
				}
				b.asleep.Store(false)
				idle = 0
			}
			continue
		}
		idle = 0
		if time.Since(b.started) > time.Duration(since)+slow {
			b.pass(id)
		}
	}
}

// begin notes that the worker with the turn makes a call from now on.
func (b *Broker) begin() {
	b.busy.Store(int64(time.Since(b.started)))
	if b.asleep.Load() {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// worker is one thread that answers. It has a working directory and a umask of its own.
type worker struct {
	*Broker
	number   int64
	umaskNow int
	memory   [unix.PathMax]byte
	link     [unix.PathMax]byte
}

// work answers until the listener is gone, which is when the jail is.
func (b *Broker) work(id int64) {
	runtime.LockOSThread() // for good: the thread ends with this function
	w := &worker{Broker: b, number: id, umaskNow: -1}
	blockSignals()
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		// The umask would be everybody's. Nothing answers then, and every call waits: fail by ending the jail.
		unix.Exit(1)
	}
	// Larger than the structure of any kernel known: a longer one must not be written past the end.
	var room [512]byte
	n := (*notification)(unsafe.Pointer(&room[0]))
	for {
		b.take(id)
		clear(room[:])
		// Syscall and not RawSyscall: the runtime must know that this thread waits.
		_, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(b.Listener), ioctlReceive, uintptr(unsafe.Pointer(&room[0])))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT, unix.EAGAIN: // ENOENT: the caller died before it was read
			continue
		default:
			return
		}
		b.begin()
		if b.backlog() {
			b.pass(id)
		}
		w.answer(n)
		if b.turn.Load() == id {
			b.busy.Store(0)
		}
	}
}

// backlog says whether another notification waits already.
func (b *Broker) backlog() bool {
	fd := unix.PollFd{Fd: int32(b.Listener), Events: unix.POLLIN}
	var none unix.Timespec
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return errno == 0 && n > 0 && fd.Revents&unix.POLLIN != 0
}

// blockSignals keeps every signal from this thread, above all the one with which the runtime preempts: a descriptor is
// handed over and the call answered in one ioctl, and when a signal interrupts that one, the kernel (seen on 6.18) takes
// the descriptor back and leaves the answer, 0.
func blockSignals() {
	all := ^uint64(0)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), 0, 8, 0, 0)
}
