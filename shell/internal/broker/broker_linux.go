package broker

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sallyport/policy"
)

// Config is what a Broker works with.
type Config struct {
	// Listener is the descriptor of the seccomp program's notifications.
	Listener int
	// Rules decide. They were compiled on the host, where links could be followed.
	Rules *policy.Rules
	// Guarded are real paths that stay as they are besides what the rules say, with what is below them.
	Guarded []Guard
	// DecideReads makes every open for reading a decision too. Otherwise reads are only looked at, for the record.
	DecideReads bool
	// Outside makes connections to other hosts, and answers as connect(2) should. Nil where the caller's network
	// namespace leads nowhere, or is the host's.
	Outside func(Wanted) unix.Errno
	// NoNetwork says that a connection that leads nowhere is to be told.
	NoNetwork bool
	// CapturePort is the port of loopback where a connection that Outside has made is picked up.
	CapturePort int
	// Sockets says that the command can make path sockets: every connection is made here then, by the path.
	Sockets bool
	// Record takes what was denied. It must not block. Nil when nobody wants to know.
	Record func(Denial, Who)
	// Refused names a call that the jail refuses whatever its target, and how.
	Refused func(nr int, args [6]uint64) (Refusal, bool)
	// Threads is a /proc that can be written, for the names of threads; -1 for none.
	Threads int
	// Main is the thread that forks the command. Its own calls are probes: they are judged and never made.
	Main int
}

// Guard is a path that is protected for a reason of the jail's own.
type Guard struct {
	Path string
	Why  string
}

// Refusal is a call that is refused for what it is.
type Refusal struct {
	Operation string // as in a record: "syscall", "unix", "connect"
	Target    string
	Errno     unix.Errno
	Why       string
}

// Denial is one call that was denied.
type Denial struct {
	Operation string
	Target    string
	Errno     unix.Errno
	Decision  policy.Decision
}

// Who tells the process that a denial befell. It may be asked only while the call waits for its answer.
type Who func() (pid int, program string)

// Broker answers notifications.
type Broker struct {
	Config
	proc     int // "/proc"
	self     int // "/proc/self/fd"
	pid      int
	memfdDev uint64
	// hasThreadHandles says that this kernel gives handles of single threads (Linux 6.9).
	hasThreadHandles bool

	umask      int         // that every process of the jail begins with
	umaskMoved atomic.Bool // some process has called umask

	readers atomic.Int32 // threads that wait for the writer of a FIFO
	later   atomic.Int32 // calls that are answered later

	// moves is held while a call is judged and made, so that no name changes between the two: read-locked, but by what moves, links or completes
	// a repository.
	moves sync.RWMutex

	started time.Time
	turns
}

// ErrPtraceScope says that this kernel's Yama lets no process look into another, not even into its own children.
var ErrPtraceScope = errors.New("kernel.yama.ptrace_scope forbids to read the arguments of calls")

// yamaForbids reads the setting; without Yama there is none.
func yamaForbids() bool {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	return err == nil && len(b) > 0 && b[0] >= '2'
}

// New makes a Broker. umask is that of the thread that will start the command.
func New(c Config, umask int) (*Broker, error) {
	if yamaForbids() {
		return nil, ErrPtraceScope
	}
	b := &Broker{Config: c, umask: umask, pid: os.Getpid(), started: time.Now()}
	b.free.L, b.wake = &b.mu, make(chan struct{})
	var err error
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	if b.proc, err = unix.Open("/proc", flags, 0); err != nil {
		return nil, err
	}
	if b.self, err = unix.Open("/proc/self/fd", flags, 0); err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("which file system holds these", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	b.memfdDev = st.Dev
	if handle, err := unix.PidfdOpen(c.Main, pidfdThread); err == nil {
		unix.Close(handle)
		b.hasThreadHandles = true
	}
	// A wake-up on the same CPU is several times faster. Kernels before 6.6 do not have it: slower, not weaker.
	_, _, _ = syscall.Syscall(unix.SYS_IOCTL, uintptr(c.Listener), ioctlSetFlags, flagSyncWakeUp)
	return b, nil
}

// Start begins to answer, on threads of its own.
func (b *Broker) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startWorker()
	go b.watch()
}

// ioctls of the listener.
const (
	ioctlReceive  = 0xc0502100
	ioctlSend     = 0xc0182101
	ioctlValid    = 0x40082102
	ioctlAddFD    = 0x40182103
	ioctlSetFlags = 0x40082104

	flagSyncWakeUp = 1
	flagContinue   = 1
	addFDSend      = 2
)

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// handOver is struct seccomp_notif_addfd.
type handOver struct {
	id                         uint64
	flags, from, to, openFlags uint32
}

// answer is what a call comes to: an error, a value, a descriptor to hand over, or "make it yourself".
type answer struct {
	errno  unix.Errno
	value  int64
	fd     int // when hand is set
	hand   bool
	writes bool // the file can be written through it
	// truncate: the file is cut to nothing once the caller has the descriptor.
	truncate bool
	cloexec  bool
	goOn     bool
	// later: somebody else answers.
	later bool
}

func failed(errno unix.Errno) answer { return answer{errno: errno} }

// result is the answer for an error of package unix.
func result(err error) answer { return answer{errno: errnoOf(err)} }

func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EACCES // no error of the kernel's: cannot happen, and is no success
}

func (w *worker) answer(n *notification) {
	t := &task{worker: w, id: n.id, tid: int(n.pid), nr: int(n.nr), args: n.args}
	a := t.handle()
	if !a.later {
		t.reply(a)
	}
	t.release()
}

// reply sends an answer. A caller that is gone meanwhile needs none.
func (t *task) reply(a answer) {
	if a.hand && !a.writes {
		errno := t.handOver(a)
		switch errno {
		case 0:
			return
		case unix.EINPROGRESS:
			// This thread was stopped or frozen in the middle, and the kernel has answered with 0 and no descriptor. A
			// program that goes on with descriptor 0 in its place does anything.
			_ = unix.Kill(t.threadGroup(), unix.SIGKILL)
			return
		}
		a = failed(errno) // a full table: EMFILE is the kernel's own answer too
	}
	if a.writes && a.errno == 0 {
		var errno unix.Errno
		if a, errno = t.install(a); errno != 0 {
			a = failed(errno)
		}
		t.release() // a file that is open for writing here could not be executed yet
	}
	r := response{id: t.id, value: a.value, errno: -int32(a.errno)}
	if a.goOn {
		r = response{id: t.id, flags: flagContinue}
	}
	t.respond(&r)
}

// respond sends it. A caller that is gone meanwhile needs none.
func (b *Broker) respond(r *response) {
	_, _, _ = syscall.Syscall(unix.SYS_IOCTL, uintptr(b.Listener), ioctlSend, uintptr(unsafe.Pointer(r)))
}

// handOver gives the caller the descriptor and the answer in one call.
func (t *task) handOver(a answer) unix.Errno {
	_, errno := t.addFD(a, addFDSend)
	return errno
}

// install gives the caller the descriptor and keeps it waiting for its number.
func (t *task) install(a answer) (answer, unix.Errno) {
	fd, errno := t.addFD(a, 0)
	if errno == 0 && a.truncate {
		if err := unix.Ftruncate(a.fd, 0); err != nil && err != unix.EINVAL { // a device has nothing to cut
			return answer{}, errnoOf(err)
		}
	}
	return answer{value: int64(fd)}, errno
}

func (t *task) addFD(a answer, flags uint32) (int, unix.Errno) {
	h := handOver{id: t.id, flags: flags, from: uint32(a.fd)}
	if a.cloexec {
		h.openFlags = unix.O_CLOEXEC
	}
	fd, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(t.Listener), ioctlAddFD, uintptr(unsafe.Pointer(&h)))
	return int(fd), errno
}
