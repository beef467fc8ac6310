// Package terminal is what the programs of this module need of a terminal: whether it wants colour, and a person at it
// who can be asked.
//
//	person, err := terminal.OpenPerson()
//	if err != nil {
//		return err // nobody to ask: decide otherwise, or refuse
//	}
//	defer person.Close()
//	err = gate.Ask(ctx, person.Gate, call)
//
// A person approves by typing y or yes. Everything else refuses: another word, an empty line, the end of input.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"sallyport/compartment"
	"sallyport/gate"
)

// Colour says whether w is a terminal that wants colour. NO_COLOR and a dumb terminal do not.
func Colour(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal says whether a stream is a terminal at all: an io.Reader or an io.Writer.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Wrap breaks a text at spaces into lines of at most so many columns, and a word that is longer than a line where the
// line ends. Every line keeps the spaces that the text begins with.
func Wrap(text string, columns int) []string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	columns = max(1, columns-len(indent))
	var lines []string
	var line []rune
	for _, field := range strings.Fields(text) {
		word := []rune(field)
		if len(line) > 0 && len(line)+1+len(word) > columns {
			lines = append(lines, indent+string(line))
			line = nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, word...)
		for len(line) > columns {
			lines = append(lines, indent+string(line[:columns]))
			line = line[columns:]
		}
	}
	return append(lines, indent+string(line))
}

// Person is somebody who is asked on a terminal. It is safe for concurrent use: questions are put one at a time.
type Person struct {
	mu     sync.Mutex
	in     *bufio.Reader
	out    io.Writer
	closer io.Closer
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
	return &Person{in: bufio.NewReader(c), out: c, closer: c}
}

// Close gives the terminal back.
func (p *Person) Close() error { return p.closer.Close() }

// longestAnswer is far more than "yes" needs. A paste of megabytes is no answer.
const longestAnswer = 1024

// longestQuestion bounds what is shown of the arguments: a screenful. What cannot be seen whole cannot be approved.
const longestQuestion = 2000

// Gate asks the person about one call; it is a gate.Func. The arguments are shown escaped, so that they cannot draw a
// question of their own. A call too long to be shown whole is refused without asking.
func (p *Person) Gate(ctx context.Context, c gate.Call) (gate.Verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return gate.Verdict{}, err
	}
	args := compartment.Escape(string(c.Args))
	if len(args) > longestQuestion {
		return gate.Verdict{Note: "the arguments are too long to be shown to a person"}, nil
	}
	if _, err := fmt.Fprintf(p.out, "gate: %s %s\napprove? [y/N] ", compartment.Escape(c.Tool), args); err != nil {
		return gate.Verdict{}, fmt.Errorf("ask on the terminal: %w", err)
	}
	line, err := p.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return gate.Verdict{}, fmt.Errorf("read the answer: %w", err)
	}
	if err == nil && (strings.EqualFold(line, "y") || strings.EqualFold(line, "yes")) {
		return gate.Verdict{Approved: true}, nil
	}
	return gate.Verdict{Note: "a person said no"}, nil
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
