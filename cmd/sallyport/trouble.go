package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/compartment"
	"sallyport/internal/terminal"
	"sallyport/policy"
	"sallyport/shell"
)

// The exit statuses that are not the command's own. Scripts depend on them; they are those of timeout(1) and env(1).
const (
	statusTimedOut      = 124
	statusTrouble       = 125
	statusNotExecutable = 126
	statusNotFound      = 127
)

// trouble is an error of this program's own, with what to do about it.
type trouble struct {
	text string
	hint string
	err  error
}

func (t *trouble) Error() string {
	if t.err == nil {
		return t.text
	}
	return t.text + ": " + t.err.Error()
}

func (t *trouble) Unwrap() error { return t.err }

// usage is a fault in the arguments of a command; the hint is where they are explained.
func usage(command, text string) error {
	words := []string{"sallyport", command, "--help"}
	if command == "" {
		words = []string{"sallyport", "--help"}
	}
	return &trouble{text: text, hint: strings.Join(words, " ")}
}

// fail prints an error and gives the exit status.
func (p *program) fail(err error) int {
	p.say(err)
	return statusOf(err)
}

// say prints an error as one line and each of its hints as one more.
func (p *program) say(err error) {
	fmt.Fprintf(p.err, "%s %s\n", p.mark(), compartment.Escape(err.Error()))
	for _, hint := range hints(err) {
		fmt.Fprintf(p.err, "hint: %s\n", compartment.Escape(hint))
	}
}

// mark begins each of our messages: it tells them from what a command or script prints.
func (p *program) mark() string {
	if terminal.Colour(p.err) {
		return "\x1b[1;31msallyport:\x1b[0m"
	}
	return "sallyport:"
}

// statusOf is the exit status that says what kind of error it was.
func statusOf(err error) int {
	switch {
	case errors.Is(err, shell.ErrNotFound):
		return statusNotFound
	case errors.Is(err, shell.ErrNotExecutable):
		return statusNotExecutable
	}
	return statusTrouble
}

// hints collects what each room has to say about its error.
func hints(err error) []string {
	var all []string
	var own *trouble
	if errors.As(err, &own) && own.hint != "" {
		all = append(all, own.hint)
	}
	var process *shell.Error
	if errors.As(err, &process) {
		all = append(all, process.Hints...)
	}
	var code *compartment.Error
	if errors.As(err, &code) && code.Hint != "" {
		all = append(all, code.Hint)
	}
	var config *policy.Error
	if errors.As(err, &config) && config.Hint != "" {
		all = append(all, config.Hint)
	}
	return all
}

// print writes a text for people.
func (p *program) print(text string) error {
	if _, err := io.WriteString(p.out, text); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
