package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// side is one direction of an exchange: from src, of which br has read ahead, to dst.
type side struct {
	dst, src net.Conn
	br       *bufio.Reader
	count    *atomic.Int64
}

// body sends a head, if there is one to send, and passes the body after it on. What is buffered already goes in one write
// with the head; the rest of a body of known length is moved by pump.
func (f *forwarder) body(s side, head []byte, frame framing, encode, strict bool) error {
	if frame.chunked {
		return f.chunks(s, head, encode, strict)
	}
	n := frame.length
	ahead := int64(s.br.Buffered())
	if n >= 0 {
		ahead = min(ahead, n)
	}
	if ahead > 0 {
		b, _ := s.br.Peek(int(ahead))
		head = append(head, b...)
		s.br.Discard(int(ahead))
	}
	if f.g.over(s.count, ahead) {
		return errBytes
	}
	if len(head) > 0 {
		if err := f.flow.write(s.dst, head); err != nil {
			return err
		}
	}
	if n >= 0 {
		n -= ahead
	}
	return f.flow.pump(s.dst, s.src, n, s.count)
}

const maxChunkLine = 4 << 10 // a chunk's size with its extensions, and all trailers together

// chunks passes a chunked body on, its chunks written anew without extensions and trailers, or as the plain bytes.
func (f *forwarder) chunks(s side, head []byte, encode, strict bool) error {
	w := bufio.NewWriterSize(steady{f.flow, s.dst}, bufferBytes)
	w.Write(head) // the first error stays with the writer until Flush
	for {
		n, err := f.chunkSize(s, w, strict)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if encode {
			fmt.Fprintf(w, "%x\r\n", n)
		}
		if err := f.copyChunk(s, w, n); err != nil {
			return err
		}
		if line, err := f.line(s, w, strict); err != nil || line != "" {
			return orFault(err, "a chunk that is longer than it says")
		}
		if encode {
			w.WriteString("\r\n")
		}
	}
	for total := 0; ; { // trailers are not passed on
		line, err := f.line(s, w, strict)
		if total += len(line) + 2; err != nil || total > maxChunkLine {
			return orFault(err, "trailers that are too long")
		}
		if line == "" {
			break
		}
	}
	if encode {
		w.WriteString("0\r\n\r\n")
	}
	return w.Flush()
}

func (f *forwarder) chunkSize(s side, w *bufio.Writer, strict bool) (int64, error) {
	line, err := f.line(s, w, strict)
	if err != nil {
		return 0, err
	}
	digits, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.TrimRight(digits, " \t"), 16, 63)
	if err != nil {
		return 0, headFault("a chunk without a size")
	}
	return int64(n), nil
}

// line reads a line. Before anything is waited for, what is written already is sent: the other side may wait for it.
func (f *forwarder) line(s side, w *bufio.Writer, strict bool) (string, error) {
	if err := f.fill(s, w); err != nil {
		return "", err
	}
	line, err := readLine(s.br, maxChunkLine, strict)
	switch {
	case err != nil:
		return line, orEarly(err)
	case f.g.over(s.count, int64(len(line))+2): // extensions may be thousands of times as long as the chunks
		return line, errBytes
	}
	return line, nil
}

func (f *forwarder) fill(s side, w *bufio.Writer) error {
	if s.br.Buffered() > 0 {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return orEarly(f.await(s.src, s.br))
}

// await waits for bytes from a side for as long as somebody wants them. The line that the first one begins has the time
// of a client that rests.
func (f *forwarder) await(src net.Conn, br *bufio.Reader) error {
	if br.Buffered() > 0 {
		return nil
	}
	for {
		begun := time.Now()
		src.SetReadDeadline(begun.Add(f.flow.patience()))
		_, err := br.Peek(1)
		switch {
		case err == nil:
			f.flow.moved()
			src.SetReadDeadline(begun.Add(f.g.limits.KeepAlive))
			return nil
		case !isTimeout(err):
			return err
		}
		if stop := f.flow.goOn(begun); errors.Is(stop, errIdle) {
			return err
		} else if stop != nil {
			return stop
		}
	}
}

func (f *forwarder) copyChunk(s side, w *bufio.Writer, n int64) error {
	for n > 0 {
		if n > smallBytes && s.br.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
			return f.flow.pump(s.dst, s.src, n, s.count)
		}
		if err := f.fill(s, w); err != nil {
			return err
		}
		b, _ := s.br.Peek(int(min(n, int64(s.br.Buffered()))))
		w.Write(b)
		s.br.Discard(len(b))
		n -= int64(len(b))
		if f.g.over(s.count, int64(len(b))) {
			return errBytes
		}
	}
	return nil
}

func orFault(err error, text string) error {
	if err != nil {
		return err
	}
	return headFault("%s", text)
}

func orEarly(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
