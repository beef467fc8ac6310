package jail

import (
	"encoding/json"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// init takes the process over when it is the first process of a jail, and does nothing otherwise.
func init() {
	if len(os.Args) == 0 || os.Args[0] != Marker {
		return
	}
	if kind, err := unix.GetsockoptInt(SocketFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_SEQPACKET {
		return
	}
	// The seccomp filter is for one thread: everything is done on this one, for life.
	runtime.LockOSThread()
	if err := confinedLife(); err != nil {
		_ = send(Message{Failure: asFailure(err)}) // the host may be gone: then nobody is left to tell
	}
	unix.Exit(1) // not os.Exit: under the race detector that sleeps for a second first
}

func asFailure(err error) *Failure {
	if f, ok := err.(*Failure); ok {
		return f
	}
	return &Failure{Detail: err.Error()}
}

// fail makes a Failure of a layer's system call.
func fail(layer, call string, err error, detail string) error {
	if err == nil {
		return nil
	}
	f := &Failure{Layer: layer, Syscall: call, Detail: clip(detail)}
	if errno, ok := err.(syscall.Errno); ok {
		f.Errno = errno
	} else {
		f.Detail += ": " + err.Error()
	}
	return f
}

// maxDetail bounds what a failure says: a path of 100 KB must still fit into one packet.
const maxDetail = 1024

func clip(s string) string {
	if len(s) > maxDetail {
		return s[:maxDetail] + "…"
	}
	return s
}

// send writes one message to the host.
func send(m Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	for {
		if err = unix.Sendmsg(SocketFD, b, nil, nil, unix.MSG_NOSIGNAL); err != unix.EINTR {
			return err
		}
	}
}

// readPlan reads the plan from its descriptor. The offset is shared with other jails of the same sandbox: pread.
func readPlan() (*Plan, error) {
	var st unix.Stat_t
	if err := unix.Fstat(PlanFD, &st); err != nil {
		return nil, fail("plan", "fstat", err, "read the plan")
	}
	b, err := preadAll(PlanFD, st.Size)
	if err != nil {
		return nil, fail("plan", "pread", err, "read the plan")
	}
	var p Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, &Failure{Layer: "plan", Detail: "read the plan: " + err.Error()}
	}
	if !Allowed(p.Layers) {
		return nil, &Failure{Layer: "plan", Detail: "a release build puts up every layer or none starts"}
	}
	return &p, nil
}

func preadAll(fd int, size int64) ([]byte, error) {
	b := make([]byte, size)
	for n := 0; n < len(b); {
		m, err := unix.Pread(fd, b[n:], int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if m == 0 {
			return nil, unix.ENODATA
		}
		n += m
	}
	return b, nil
}
