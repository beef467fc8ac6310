package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"sallyport/compartment"
	"sallyport/gate"
)

// Person is somebody who is asked on a terminal. It is safe for concurrent use: questions are put one at a time.
type Person struct {
	turn   chan struct{} // held by the question that is put
	in     *bufio.Reader
	out    io.Writer
	closer io.Closer
	tty    *os.File      // the terminal, when it is one
	stale  chan struct{} // closed when the line of a question that was withdrawn has come in; nil when there is none
}

// OpenPerson opens the controlling terminal of this process, which is there also when standard input and output are
// pipes. It is an error when there is none.
func OpenPerson() (*Person, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("a terminal to ask on: %w", err)
	}
	return NewPerson(tty), nil
}

// NewPerson makes a person of any connection to one: what is written is read, and the other way round.
func NewPerson(c io.ReadWriteCloser) *Person {
	p := &Person{turn: make(chan struct{}, 1), in: bufio.NewReader(c), out: c, closer: c}
	if f, ok := c.(*os.File); ok && isTerminal(f) {
		p.tty = f
	}
	return p
}

// isTerminal asks without taking the file away from the runtime's poller, as Fd would: a read could not be interrupted then.
func isTerminal(f *os.File) (is bool) {
	control(f, func(fd int) { is = term.IsTerminal(fd) })
	return is
}

// control runs do with the descriptor of a file. A file that is closed has none, and then nothing is done.
func control(f *os.File, do func(fd int)) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// Close gives the terminal back.
func (p *Person) Close() error { return p.closer.Close() }

// longestAnswer is far more than "yes", or a note, needs. A paste of megabytes is no answer.
const longestAnswer = 1024

// longestQuestion bounds what Gate shows of the arguments: a screenful. What cannot be seen whole cannot be approved.
const longestQuestion = 2000

// Gate asks the person about one call; it is a gate.Func. The arguments are shown escaped, so that they cannot draw a
// question of their own. A call too long to be shown whole is refused without asking.
func (p *Person) Gate(ctx context.Context, c gate.Call) (gate.Verdict, error) {
	args := compartment.Escape(string(c.Args))
	if len(args) > longestQuestion {
		return gate.Verdict{Note: tooLong}, nil
	}
	line, err := p.put(ctx, fmt.Sprintf("gate: %s %s\napprove? [y/N] ", compartment.Escape(c.Tool), args))
	if err != nil {
		return gate.Verdict{}, err
	}
	if isYes(line) {
		return gate.Verdict{Approved: true}, nil
	}
	return gate.Verdict{Note: saidNo}, nil
}

const (
	tooLong = "the call is too long to be shown to a person"
	saidNo  = "a person said no"
)

func isYes(line string) bool { return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes") }

// put puts a question and waits for a line. The end of input is an empty line, which is no approval of anything. What was typed
// before the question was there is no answer to it.
func (p *Person) put(ctx context.Context, question string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := p.settle(ctx); err != nil {
		return "", err
	}
	p.flush()
	if _, err := io.WriteString(p.out, question); err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	return p.wait(ctx)
}

// settle waits until the line that was meant for a question withdrawn has come in and is gone. Only a terminal whose reads cannot be
// interrupted gets here.
func (p *Person) settle(ctx context.Context) error {
	if p.stale == nil {
		return nil
	}
	if _, err := io.WriteString(p.out, "press Enter for the next question\n"); err != nil {
		return fmt.Errorf("ask on the terminal: %w", err)
	}
	select {
	case <-p.stale:
		p.stale = nil
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flushTime is how long flush waits for what is there already: it only has to be read.
const flushTime = 2 * time.Millisecond

// flush drops what was typed ahead, a line that is not finished too: in raw mode the terminal gives it out.
func (p *Person) flush() {
	if p.tty == nil || p.tty.SetReadDeadline(time.Now().Add(flushTime)) != nil {
		return
	}
	var before *term.State
	control(p.tty, func(fd int) {
		if state, err := term.MakeRaw(fd); err == nil {
			before = state
		}
	})
	_, _ = io.Copy(io.Discard, p.in) // until the deadline
	if before != nil {
		control(p.tty, func(fd int) { _ = term.Restore(fd, before) })
	}
	_ = p.tty.SetReadDeadline(time.Time{})
}

// wait reads the answer. When ctx ends first, the reading is ended too, or, where a read cannot be, its line is for
// nobody.
func (p *Person) wait(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers, read := make(chan answer, 1), make(chan struct{})
	go func() {
		defer close(read)
		line, err := p.readLine()
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", a.err)
		}
		return a.line, nil
	case <-ctx.Done():
	}
	_, _ = io.WriteString(p.out, "\n(the question was withdrawn)\n")
	if p.tty != nil && p.tty.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-read
		_ = p.tty.SetReadDeadline(time.Time{})
		return "", ctx.Err()
	}
	p.stale = read
	return "", ctx.Err()
}

// readLine reads an answer up to its end of line. An answer that ends without one was not sent.
func (p *Person) readLine() (string, error) {
	var line []byte
	for {
		b, err := p.in.ReadByte()
		if err != nil {
			return "", err
		}
		if b == '\n' {
			return strings.TrimSpace(string(line)), nil
		}
		if len(line) < longestAnswer {
			line = append(line, b)
		}
	}
}
