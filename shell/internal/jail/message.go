package jail

import "syscall"

// Message is what travels over the socket, one JSON object a packet. Exactly one field is set.
type Message struct {
	// From PID 1 to the host.
	Failure *Failure `json:",omitempty"`
	Ready   *Ready   `json:",omitempty"`
	Started *Started `json:",omitempty"`
	Exited  *Exited  `json:",omitempty"`
	Denied  *Denied  `json:",omitempty"`
	// From the host to PID 1. A Spawn message carries descriptors: a memfd with the Command as JSON, then the
	// command's own descriptors 0, 1, 2, ….
	Spawn  *Spawn  `json:",omitempty"`
	Signal *Signal `json:",omitempty"`
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
