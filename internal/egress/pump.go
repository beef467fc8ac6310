package egress

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Bytes are moved by reading and writing, and not by splice(2). Between two connections of one machine splice hands pages
// over 64 KB at a time, and the wake-ups in between cost more than copying does: 100 MB took 77 ms of processor time with
// it, 54 ms with buffers of half a megabyte, and 27 ms directly. Counting what is read before it is written is what makes
// the limit of bytes exact, too.
const (
	smallBytes = 16 << 10  // what each direction of a tunnel holds while it waits
	bulkBytes  = 512 << 10 // what a direction has while more comes than fits the small one
	// bulkBuffers at once of one child: 4 MB. Who comes after has the small one, and the other children have theirs.
	bulkBuffers = 8

	lookAgain = time.Second // how often it is looked whether a wait for a host still makes sense
)

var (
	errIdle  = errors.New("nothing went over the connection for too long")
	errLeft  = errors.New("the client has left")
	errBytes = errors.New("over the limit of bytes")

	smallPool = sync.Pool{New: func() any { return new([smallBytes]byte) }}
	bulkPool  = sync.Pool{New: func() any { return new([bulkBytes]byte) }}
)

// buffer is the small one, and a large one besides while it is of use.
type buffer struct {
	small *[smallBytes]byte
	bulk  *[bulkBytes]byte
	taken *atomic.Int64 // large ones of the child
}

func newBuffer(taken *atomic.Int64) *buffer {
	return &buffer{small: smallPool.Get().(*[smallBytes]byte), taken: taken}
}

func (b *buffer) bytes() []byte {
	if b.bulk != nil {
		return b.bulk[:]
	}
	return b.small[:]
}

// fit takes a large buffer when the small one was full, if there is one to be had, and gives it back when it is not needed.
func (b *buffer) fit(n int) {
	switch {
	case b.bulk == nil && n == smallBytes:
		if b.taken.Add(1) > bulkBuffers {
			b.taken.Add(-1)
			return
		}
		b.bulk = bulkPool.Get().(*[bulkBytes]byte)
	case b.bulk != nil && n < smallBytes:
		b.giveBack()
	}
}

func (b *buffer) giveBack() {
	if b.bulk != nil {
		bulkPool.Put(b.bulk)
		b.bulk = nil
		b.taken.Add(-1)
	}
}

func (b *buffer) free() {
	b.giveBack()
	smallPool.Put(b.small)
}

// flow is one tunnel's two directions.
type flow struct {
	g    *Gateway
	last atomic.Int64 // when something moved, in either direction
	// still says, while nothing comes, why nobody wants it any more; nil asks nobody.
	still func() error
	ended atomic.Bool // the exchange is over, and waiting for more of it
}

func (g *Gateway) newFlow() *flow {
	f := &flow{g: g}
	f.moved()
	return f
}

func (f *flow) moved() {
	if f.g.limits.Idle > 0 {
		f.last.Store(time.Now().UnixNano())
	}
}

func (f *flow) idle() bool {
	idle := f.g.limits.Idle
	return idle > 0 && time.Since(time.Unix(0, f.last.Load())) >= idle
}

// patience is how long to wait before it is asked whether to go on; zero is for ever.
func (f *flow) patience() time.Duration {
	switch idle := f.g.limits.Idle; {
	case f.still == nil:
		return idle
	case idle > 0:
		return min(idle, lookAgain)
	}
	return lookAgain
}

// goOn says why not to wait again after a wait that began then timed out. One that ended early was ended by somebody.
func (f *flow) goOn(begun time.Time) error {
	switch {
	case f.idle() || f.ended.Load() || time.Since(begun) < f.patience():
		return errIdle
	case f.still != nil:
		return f.still()
	}
	return nil
}

// pump moves n bytes from src to dst, or all until its end when n is negative.
func (f *flow) pump(dst, src net.Conn, n int64, count *atomic.Int64) error {
	b := newBuffer(&f.g.bulk)
	defer b.free()
	for n != 0 {
		piece := f.g.piece(b.bytes())
		if n > 0 {
			piece = piece[:min(int64(len(piece)), n)]
		}
		got, err := f.read(src, piece)
		if got > 0 {
			if f.g.over(count, int64(got)) {
				return errBytes
			}
			if err := f.write(dst, piece[:got]); err != nil {
				return err
			}
			if n > 0 {
				n -= int64(got)
			}
		}
		switch {
		case err == io.EOF && n < 0:
			return nil
		case err != nil && n != 0:
			return orEarly(err)
		}
		b.fit(got)
	}
	return nil
}

// piece is as much of a buffer as the child may have yet, and a byte when it has had all: one more is seen to be more.
func (g *Gateway) piece(b []byte) []byte {
	if limit := g.limits.Bytes; limit > 0 {
		left := max(limit-g.sent.Load()-g.received.Load(), 1)
		return b[:min(int64(len(b)), left)]
	}
	return b
}

// read waits for bytes. While the other direction moves, the connection is not idle.
func (f *flow) read(src net.Conn, b []byte) (int, error) {
	patience := f.patience()
	for {
		begun := time.Now()
		if patience > 0 {
			src.SetReadDeadline(begun.Add(patience))
		}
		n, err := src.Read(b)
		switch {
		case n > 0:
			f.moved()
			return n, err
		case patience == 0 || err == nil || !isTimeout(err):
			return n, err
		}
		if err := f.goOn(begun); err != nil {
			return 0, err
		}
	}
}

// write writes all. Who takes some of it now and then is not idle.
func (f *flow) write(dst net.Conn, b []byte) error {
	idle := f.g.limits.Idle
	for {
		if idle > 0 { // soon enough to tell the other direction
			dst.SetWriteDeadline(time.Now().Add(idle / 2))
		}
		n, err := dst.Write(b)
		if n > 0 {
			f.moved()
		}
		switch {
		case idle == 0 || err != nil && !isTimeout(err):
			return err
		case err == nil:
			dst.SetWriteDeadline(time.Time{})
			return nil
		case n == 0 && f.idle():
			return errIdle
		}
		b = b[n:]
	}
}

// steady is a connection that is written to as write does.
type steady struct {
	flow *flow
	conn net.Conn
}

func (s steady) Write(b []byte) (int, error) {
	if err := s.flow.write(s.conn, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// over counts bytes and says whether the child has had more than its limit.
func (g *Gateway) over(count *atomic.Int64, n int64) bool {
	count.Add(n)
	return g.limits.Bytes > 0 && g.sent.Load()+g.received.Load() > g.limits.Bytes
}
