package egress

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// forwarder serves the requests of one client connection. It keeps the connection to the host of the last one, for the
// next that goes to the same host; each request is judged.
type forwarder struct {
	g    *Gateway
	c    client
	br   *bufio.Reader
	flow *flow

	up   *Upstream
	upbr *bufio.Reader
	used time.Time // when the last exchange over up ended

	out   []byte // where heads are put together
	begun bool   // the answer to the present request is on its way to the client

	sending atomic.Bool // the body of the request is under way, and its reader alone reads from the client
	left    time.Time   // when the client was seen to have ended its side
}

func (f *forwarder) hangUp() {
	if f.up != nil {
		f.up.Close()
		f.up = nil
	}
}

// fresh is how long a connection to a host may have rested before a request that cannot be sent twice goes over it: the
// host may be closing it just now.
const fresh = time.Second

// forward serves one request in absolute form.
func (f *forwarder) forward(r *request) bool {
	reused, err := f.reach(r)
	if err != nil {
		return f.answer(r, err, false)
	}
	keep, err := f.exchange(r)
	if errors.Is(err, errStale) && reused && r.repeatable() {
		f.hangUp()
		if _, err = f.reach(r); err != nil {
			return f.answer(r, err, false)
		}
		keep, err = f.exchange(r)
	}
	var broken *Failure
	var refusal *Refusal
	switch {
	case errors.As(err, &broken), errors.As(err, &refusal):
		return f.answer(r, err, true)
	case errors.Is(err, io.ErrUnexpectedEOF) && r.minor == 1:
		return false // the framing shows that the answer is not whole
	case err != nil:
		reset(f.c.Conn) // what was cut must not look whole
	}
	return keep && err == nil
}

// repeatable says whether a request may be sent again when nothing came back.
func (r *request) repeatable() bool {
	return r.framing.empty() && slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}, r.method)
}

// reach judges a request, and sees that there is a connection to its host.
func (f *forwarder) reach(r *request) (reused bool, err error) {
	t, refusal := f.g.decide(f.g.rules.Load(), r.host, r.port)
	if refusal != nil {
		return false, refusal
	}
	if f.up != nil && f.up.target.host == t.host && f.up.target.port == t.port && (r.repeatable() || time.Since(f.used) < fresh) {
		return true, nil
	}
	f.hangUp()
	if f.up, err = f.g.dial(f.g.ctx, r.host, r.port); err != nil {
		f.up = nil // not a nil *Upstream beside an error by luck
		return false, err
	}
	f.up.serves(f.c)
	f.upbr = bufio.NewReaderSize(f.up.Conn, bufferBytes)
	return false, nil
}

// errStale says that the host closed the connection before it answered anything.
var errStale = errors.New("closed before an answer")

// exchange sends a request and passes the answer on. keep says that both connections can take another request.
func (f *forwarder) exchange(r *request) (keep bool, err error) {
	f.up.SetDeadline(time.Time{})
	f.flow.moved()
	f.out = r.outgoing(f.out[:0], f.up.target)
	if f.g.over(&f.g.sent, int64(len(f.out))) {
		return false, bytesReached(f.up.target)
	}
	if err := f.flow.write(f.up.Conn, f.out); err != nil {
		return false, f.broken(err)
	}
	f.begun = false
	t := f.up.target // which settle may take away
	sent := make(chan error, 1)
	if r.framing.empty() {
		sent <- nil
	} else {
		up := f.up
		f.sending.Store(true)
		go func() {
			err := f.sendBody(r, up)
			f.sending.Store(false)
			sent <- err
		}()
	}
	keep, err = f.receive(r)
	f.used = time.Now()
	unsent := f.settle(sent, keep && err == nil)
	var fault headError
	switch {
	case f.begun && err != nil: // what has begun to be answered is not answered once more
	case errors.As(unsent, &fault) && err != nil:
		err = protocolFault(shown(r.host), r.port, "%s", string(fault))
	case errors.Is(unsent, errBytes) && err != nil:
		err = bytesReached(t)
	case errors.Is(unsent, errUnsent) && err == nil:
		linger(f.c.Conn)
	}
	return keep && unsent == nil, err
}

// errUnsent says that the host answered before it had read all of the request.
var errUnsent = errors.New("the body was not wanted")

// settle waits for the body of the request to end, if it may, or ends it. After errUnsent neither connection can be used
// again.
func (f *forwarder) settle(sent chan error, patient bool) error {
	select {
	case err := <-sent:
		return err
	default:
	}
	if patient {
		select {
		case err := <-sent:
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
	f.hangUp()
	f.flow.ended.Store(true)
	f.c.SetReadDeadline(time.Now())
	err := <-sent
	f.c.SetReadDeadline(time.Time{})
	if fault := headError(""); errors.As(err, &fault) || errors.Is(err, errBytes) {
		return err
	}
	return errUnsent
}

// outgoing appends the head as it goes to the host: the target in origin form, Host and framing written anew, nothing that
// belongs to the client's connection.
func (r *request) outgoing(b []byte, t target) []byte {
	b = append(b, r.method...)
	b = append(b, ' ')
	b = append(b, r.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, hostField(t)...)
	b = append(b, "\r\n"...)
	b = r.endToEnd(b, false)
	switch {
	case r.framing.chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case len(r.values("Content-Length")) > 0:
		b = appendLength(b, r.framing.length)
	}
	if r.upgrade {
		b = append(b, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	}
	return append(b, "\r\n"...)
}

func hostField(t target) string {
	if t.port == 80 {
		return strings.TrimSuffix(joinHostPort(t.host, 80), ":80")
	}
	return joinHostPort(t.host, t.port)
}

func appendLength(b []byte, n int64) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, "\r\n"...)
}

// sendBody passes the body of the request on. When the client breaks it, the host must not take it for whole.
func (f *forwarder) sendBody(r *request, up *Upstream) error {
	err := f.body(side{up.Conn, f.c.Conn, f.br, &f.g.sent}, nil, r.framing, true, true)
	if err != nil {
		up.Conn.Close()
	}
	return err
}

// receive passes the answer on, and the interim ones before it.
func (f *forwarder) receive(r *request) (keep bool, err error) {
	for n := 0; ; n++ {
		if err := f.await(f.up.Conn, f.upbr); err != nil {
			return false, f.broken(err)
		}
		h, err := readHead(f.upbr, f.g.limits.HeadBytes, false)
		if err != nil {
			return false, f.broken(err)
		}
		if f.g.over(&f.g.received, int64(h.size)) {
			return false, bytesReached(f.up.target)
		}
		a, err := parseResponse(h, r)
		if err != nil {
			return false, f.broken(err)
		}
		switch {
		case a.status == 101 && r.upgrade:
			return false, f.switchOver(a)
		case a.status == 101 || n > 16:
			return false, f.broken(errors.New("an answer nobody asked for"))
		case a.status >= 200:
			return f.pass(r, a)
		case r.minor == 1:
			if _, err := f.c.Write(a.outgoing(nil, false, true)); err != nil {
				return false, err
			}
		}
	}
}

// broken says what went wrong with the host, before anything of its answer was passed on.
func (f *forwarder) broken(err error) error {
	failed := failure(f.up.target, err)
	if failed.Errno == "EHOSTUNREACH" {
		failed.Reason = "the host gave no answer that is HTTP"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		failed.Reason = "the host closed the connection without an answer"
		return errors.Join(errStale, failed)
	}
	return failed
}

// switchOver turns the exchange into a tunnel: the host has agreed to speak web sockets.
func (f *forwarder) switchOver(a *response) error {
	b := append(a.outgoing(nil, false, false), buffered(f.upbr)...)
	if _, err := f.c.Write(b); err != nil {
		return err
	}
	f.g.join(f.c, f.up, func() ([]byte, error) { return buffered(f.br), nil })
	return nil
}

// pass passes the final answer on.
func (f *forwarder) pass(r *request, a *response) (keep bool, err error) {
	decode := a.framing.chunked && r.minor == 0
	last := r.close || a.framing.length < 0 || decode
	f.begun = true
	f.out = a.outgoing(f.out[:0], last, decode)
	err = f.body(side{f.c.Conn, f.up.Conn, f.upbr, &f.g.received}, f.out, a.framing, !decode, false)
	if errors.Is(err, errBytes) {
		f.g.refuse(bytesReached(f.up.target), "cut")
	}
	// What came after the answer answers nothing. Kept, it would be taken for the answer to the next request.
	if err != nil || a.close || f.upbr.Buffered() > 0 {
		f.hangUp()
	}
	return !last && err == nil, err
}

// wanted says whether the client is still there, when it has nothing to do but wait. One that ended its side may be waiting
// for the answer or be gone, which cannot be told apart: it is given the time of a client that rests.
func (f *forwarder) wanted() error {
	if f.sending.Load() {
		return nil // who reads its body sees its end
	}
	if f.left.IsZero() {
		f.c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := f.br.Peek(1)
		f.c.SetReadDeadline(time.Time{})
		switch {
		case err == nil || isTimeout(err):
			return nil
		case err != io.EOF:
			return errLeft
		}
		f.left = time.Now()
	}
	if time.Since(f.left) >= f.g.limits.KeepAlive {
		return errLeft
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }
