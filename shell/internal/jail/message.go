package jail

import (
	"net/netip"
	"syscall"
)

// Message is what travels over the socket, one JSON object a packet. Exactly one field is set.
type Message struct {
	// From PID 1 to the host.
	Failure *Failure `json:",omitempty"`
	Ready   *Ready   `json:",omitempty"`
	Started *Started `json:",omitempty"`
	Exited  *Exited  `json:",omitempty"`
	Denied  *Denied  `json:",omitempty"`
	// Listeners comes from the set-up, with the descriptors of the listeners in the order of the constants.
	Listeners *Listeners `json:",omitempty"`
	Connect   *Connect   `json:",omitempty"`
	Dialled   *Dialled   `json:",omitempty"`
	// From the host to PID 1. A Spawn message carries descriptors: a memfd with the Command as JSON, then the
	// command's own descriptors 0, 1, 2, ….
	Spawn  *Spawn  `json:",omitempty"`
	Signal *Signal `json:",omitempty"`
	// Connected answers Connect. Dial asks for a connection to a server of the command's own, and Dialled answers.
	Connected *Connected `json:",omitempty"`
	Dial      *Dial      `json:",omitempty"`
}

// Listeners says that descriptors come along: those of the proxy, the name server over TCP and over UDP, and the one of
// captured connections.
type Listeners struct{}

// The order of the descriptors of Listeners.
const (
	ProxyListener = iota
	NameListener
	NamePackets
	CaptureListener
	ListenerCount
)

// Connect asks for a connection to a host. When the answer is 0, one from Source to CapturePort is that connection.
type Connect struct {
	Number int
	Host   string // an address
	Port   int
	Source netip.AddrPort
	// Wait says that the caller waits as long as it takes.
	Wait bool
	// Own says that a server of the command's own would have been meant first, and that there is none.
	Own     bool
	PID     int
	Program []byte
}

// Connected answers Connect with the errno for connect(2).
type Connected struct {
	Number int
	Errno  syscall.Errno
}

// Dial asks for a connection to a port of the command's loopback.
type Dial struct{ Number, Port int }

// Dialled answers Dial, with the connected socket when Errno is 0.
type Dialled struct {
	Number int
	Errno  syscall.Errno
}

// Failure says which step of the set-up, or of starting the command, failed.
type Failure struct {
	Layer   string
	Syscall string
	Errno   syscall.Errno
	Detail  string // the noun in hand
	// Command is set when the jail is sound and only the command could not be started.
	Command bool
}

func (f *Failure) Error() string {
	s := f.Detail
	if f.Syscall != "" {
		s += ": " + f.Syscall
	}
	if f.Errno != 0 {
		s += ": " + f.Errno.Error()
	}
	return s
}

// Ready is what stage two read back from the kernel.
type Ready struct {
	// Status are lines of /proc/self/status of the thread that forks: CapEff, CapBnd, NoNewPrivs, Seccomp, ….
	Status map[string]string
	// Namespaces are the targets of /proc/self/ns/*.
	Namespaces map[string]string
	// Landlock is the ABI of the running kernel; LandlockRefused says that a probe was refused by it.
	Landlock        int
	LandlockRefused bool
	// SeccompErrno is what a probe call that the filter refuses returned.
	SeccompErrno syscall.Errno
	// Names is what the answer to a probe said: broker.Judged when calls are judged by the policy. Killable says that a call
	// that is being answered cannot be interrupted by a signal that does not kill.
	Names    syscall.Errno
	Killable bool
	// RootReadOnly and ProcReadOnly are the mount flags of "/" and "/proc" as statfs tells them.
	RootReadOnly bool
	ProcReadOnly bool
	// Alone says that no other root lies behind "/".
	Alone bool
	// Writable, Covered and ReadOnly count the Ops whose effect was confirmed.
	Writable, Covered, ReadOnly int
	// CoreLimit is the hard limit on core files.
	CoreLimit uint64
	// Inherited are descriptors above 2 that would reach the command: those without FD_CLOEXEC.
	Inherited []int
}

// Spawn asks for the command. Behind the memfd come two descriptors for each of Cgroups, then the N of the command.
type Spawn struct {
	N       int
	Cgroups []string
}

// Command is what to run. Strings travel as bytes: arguments need not be UTF-8.
type Command struct {
	Name []byte
	Argv [][]byte
	Env  [][]byte
	Dir  []byte
}

// Started says that the command's execve was done.
type Started struct{ PID int }

// Denied is the record of something that was denied. It comes when that happens first, and again with the final Count
// when it was repeated, before Exited.
type Denied struct {
	Number    int // the same for the same record
	UnixNano  int64
	PID       int
	Program   []byte
	Operation string
	Target    []byte
	Errno     syscall.Errno
	Count     int

	// The decision, as far as there was one.
	Axis                     int
	Path                     []byte
	List, Entry, Why         string
	Index                    int
	Reason, Remedy, RuleText string
}

// Exited says how the command ended.
type Exited struct {
	Status    uint32 // as wait4 gives it
	UserUS    int64
	SystemUS  int64
	MaxRSSKB  int64
	Limit     string // the limit that made PID 1 kill the tree, if one did
	LimitSeen int64  // what was measured when it did
	Alone     bool   // nothing else is left in the jail: there is nothing to wait for
}

// Signal asks PID 1 to pass a signal to the command's process group.
type Signal struct{ Number int }
