package jail

import (
	"encoding/json"
	"sync"

	"golang.org/x/sys/unix"

	"sallyport/shell/internal/broker"
)

// outside asks the host for connections. The zero value is ready.
type outside struct {
	mu      sync.Mutex
	number  int
	waiting map[int]chan unix.Errno
}

// connect asks for one, and waits for the answer. A host that is gone ends this process.
func (o *outside) connect(w broker.Wanted) unix.Errno {
	answer := make(chan unix.Errno, 1)
	o.mu.Lock()
	o.number++
	number := o.number
	if o.waiting == nil {
		o.waiting = map[int]chan unix.Errno{}
	}
	o.waiting[number] = answer
	o.mu.Unlock()
	err := send(Message{Connect: &Connect{
		Number: number, Host: w.To.Addr().String(), Port: int(w.To.Port()), Source: w.Source, Wait: w.Wait, Own: w.Own,
		PID: w.PID, Program: []byte(w.Program),
	}})
	if err != nil {
		return unix.ENETDOWN
	}
	return <-answer
}

func (o *outside) answered(c *Connected) {
	o.mu.Lock()
	answer := o.waiting[c.Number]
	delete(o.waiting, c.Number)
	o.mu.Unlock()
	if answer != nil {
		answer <- c.Errno
	}
}

// dialOwn connects to a server of the command's own, on either loopback address, and hands the connection over.
func dialOwn(d *Dial) {
	socket, errno := -1, unix.ECONNREFUSED
	for _, a := range []unix.Sockaddr{&unix.SockaddrInet4{Port: d.Port, Addr: [4]byte{127, 0, 0, 1}}, &unix.SockaddrInet6{Port: d.Port, Addr: [16]byte{15: 1}}} {
		if socket, errno = dialAt(a); errno == 0 {
			break
		}
	}
	b, err := json.Marshal(Message{Dialled: &Dialled{Number: d.Number, Errno: errno}})
	if err != nil {
		return
	}
	var rights []byte
	if errno == 0 {
		rights = unix.UnixRights(socket)
		defer unix.Close(socket)
	}
	for unix.Sendmsg(SocketFD, b, rights, nil, unix.MSG_NOSIGNAL) == unix.EINTR {
	}
}

// patienceForAccept is how long a server of the command's own is tried. The call holds a thread of this process, and a
// server that accepts nothing would hold it for minutes, one for each client of the host.
var patienceForAccept = unix.Timeval{Sec: 10}

func dialAt(a unix.Sockaddr) (int, unix.Errno) {
	family := unix.AF_INET
	if _, six := a.(*unix.SockaddrInet6); six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		if err = connectInTime(fd, a); err == nil {
			return fd, 0
		}
		unix.Close(fd)
	}
	if errno, ok := err.(unix.Errno); ok {
		return -1, errno
	}
	return -1, unix.ECONNREFUSED
}

// connectInTime bounds the call alone: the socket that is handed over waits as it would have.
func connectInTime(fd int, a unix.Sockaddr) error {
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &patienceForAccept); err != nil {
		return err
	}
	if err := unix.Connect(fd, a); err != nil {
		return err
	}
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{})
}
