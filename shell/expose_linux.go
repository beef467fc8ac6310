package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/shell/internal/jail"
)

// exposed are ports of the host that lead to servers of one command. Each connection is made inside by the first process
// of the jail, which hands the socket over: nobody of the host enters the command's network. The zero value is ready.
type exposed struct {
	mu      sync.Mutex
	number  int
	dialing map[int]chan reached
	open    map[io.Closer]struct{} // listeners and connections
	clients int
	closed  bool
	running sync.WaitGroup
}

// reached is a connection to a server of the command's own.
type reached struct {
	conn net.Conn
	err  error
}

const (
	// maxExposed bounds the connections of one command's exposed ports at one moment. More are not answered.
	maxExposed = 256
	// patienceForServer is how long a server of a command may take to accept.
	patienceForServer = 10 * time.Second
)

// expose opens a port of the host that leads to a port of the command's loopback.
func (j *jailProcess) expose(address string, port int) (net.Addr, error) {
	if j.plan.wire.Network == jail.NetworkHost {
		return nil, invalid("expose a port", errors.New("the command has the host's network, and its servers are there already"))
	}
	if j.plan.listens() && slices.Contains([]int{jail.ProxyPort, jail.NamePort, jail.CapturePort}, port) {
		return nil, invalid("expose a port", fmt.Errorf("on port %d the host answers the command, and takes whoever connects for it", port))
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &Error{Code: CodeFailed, Detail: "expose a port", Err: err}
	}
	if !j.exposed.begin(l, func() { j.acceptFor(l, port) }) {
		return nil, invalid("expose a port", errors.New("the command has ended"))
	}
	return l.Addr(), nil
}

// begin runs f, with c closed when f returns or everything ends. It closes c at once when that has happened already.
func (e *exposed) begin(c io.Closer, f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		c.Close()
		return false
	}
	if e.open == nil {
		e.open = map[io.Closer]struct{}{}
	}
	e.open[c] = struct{}{}
	e.running.Go(func() {
		f()
		c.Close()
		e.mu.Lock()
		delete(e.open, c)
		e.mu.Unlock()
	})
	return true
}

// close ends everything, and waits until it has ended.
func (e *exposed) close() {
	e.mu.Lock()
	e.closed = true
	for number, waiting := range e.dialing {
		delete(e.dialing, number)
		waiting <- reached{err: net.ErrClosed}
	}
	for c := range e.open {
		c.Close() // its other side may have closed it already
	}
	e.mu.Unlock()
	e.running.Wait()
}

func (j *jailProcess) acceptFor(l net.Listener, port int) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors: a state that passes
			time.Sleep(10 * time.Millisecond)
			continue
		case !j.exposed.enter():
			conn.Close()
			continue
		}
		if !j.exposed.begin(conn, func() { j.carry(conn, port) }) {
			return
		}
	}
}

func (e *exposed) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clients >= maxExposed {
		return false
	}
	e.clients++
	return true
}

// carry connects one client with the server, until both sides have ended.
func (j *jailProcess) carry(client net.Conn, port int) {
	defer func() {
		j.exposed.mu.Lock()
		j.exposed.clients--
		j.exposed.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patienceForServer)
	server, err := j.dialInside(ctx, port)
	cancel()
	if err != nil {
		if t, ok := client.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // refused, as it would be inside
		}
		return
	}
	done := make(chan struct{})
	if !j.exposed.begin(server, func() { defer close(done); oneWay(client, server) }) {
		return
	}
	oneWay(server, client)
	<-done
}

// oneWay copies until an end, and passes the end on.
func oneWay(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	half, ok := dst.(interface{ CloseWrite() error })
	if err == nil && ok && half.CloseWrite() == nil {
		return
	}
	dst.Close()
	src.Close()
}

// dialInside connects to a server of the command's own, by way of the first process.
func (j *jailProcess) dialInside(ctx context.Context, port int) (net.Conn, error) {
	e := &j.exposed
	waiting := make(chan reached, 1)
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, net.ErrClosed
	}
	if e.dialing == nil {
		e.dialing = map[int]chan reached{}
	}
	e.number++
	number := e.number
	e.dialing[number] = waiting
	e.mu.Unlock()
	if err := j.send(jail.Message{Dial: &jail.Dial{Number: number, Port: port}}, nil); err != nil {
		e.forget(number)
		return nil, err
	}
	select {
	case r := <-waiting:
		return r.conn, r.err
	case <-ctx.Done():
	}
	if !e.forget(number) { // it has come in this moment
		if r := <-waiting; r.conn != nil {
			r.conn.Close()
		}
	}
	return nil, ctx.Err()
}

func (e *exposed) forget(number int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.dialing[number]
	delete(e.dialing, number)
	return ok
}

// dialled hands a connection to who asked for it. It gives back the files that are still to be closed.
func (e *exposed) dialled(d *jail.Dialled, files []*os.File) []*os.File {
	e.mu.Lock()
	waiting, ok := e.dialing[d.Number]
	delete(e.dialing, d.Number)
	e.mu.Unlock()
	switch {
	case !ok:
	case d.Errno != 0:
		waiting <- reached{err: d.Errno}
	case len(files) != 1:
		waiting <- reached{err: unix.EBADMSG}
	default:
		conn, err := net.FileConn(files[0]) // a copy
		waiting <- reached{conn, err}
	}
	return files
}
