package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/compartment"
	"sallyport/internal/terminal"
	"sallyport/shell"
)

// The screen is 80 columns wide, whatever the terminal has: lines of text are harder to read when they are longer.
const (
	columns    = 80
	labelWidth = 14 // "explain says: "
	maxOutput  = 6  // lines shown of what a command prints
)

// screen prints the tour. What comes from a command or a script is escaped.
type screen struct {
	out    io.Writer
	colour bool
}

func newScreen(out io.Writer) *screen { return &screen{out: out, colour: terminal.Colour(out)} }

// colours are few: a colour that means something must not drown among others.
const (
	bold   = "1"
	dim    = "2"
	red    = "1;31"
	green  = "32"
	yellow = "33"
)

func (s *screen) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) print(line string) { fmt.Fprintln(s.out, line) }

// heading starts a step: its number and title, and which boundary answers.
func (s *screen) heading(number int, title, boundary string) {
	left := fmt.Sprintf("%2d. %s", number, title)
	gap := strings.Repeat(" ", max(1, columns-len(left)-len(boundary)))
	s.print("")
	s.print(s.paint(bold, left) + gap + s.paint(dim, boundary))
}

// row prints a label and a text, wrapped under itself.
func (s *screen) row(label, code, text string) {
	for _, line := range terminal.Wrap(compartment.Escape(text), columns-labelWidth-4) {
		s.print("    " + s.paint(dim, fmt.Sprintf("%-*s", labelWidth, label)) + s.paint(code, line))
		label = ""
	}
}

// output prints the first lines of what a command printed.
func (s *screen) output(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	label := "printed"
	for i, line := range lines {
		if i == maxOutput {
			s.row("", dim, fmt.Sprintf("… and %d more lines", len(lines)-i))
			return
		}
		shown := []rune(compartment.Escape(strings.ReplaceAll(line, "\t", "  ")))
		if room := columns - labelWidth - 4; len(shown) > room {
			shown = append(shown[:room-1], '…')
		}
		s.print("    " + s.paint(dim, fmt.Sprintf("%-*s", labelWidth, label)) + string(shown))
		label = ""
	}
}

// report prints what the kernel said is in force.
func (s *screen) report(r shell.Report) {
	s.print("")
	s.print(s.paint(bold, "What was enforced for the last command"))
	s.row("read back", "0", "from the kernel, "+r.Kernel)
	for _, l := range r.Layers {
		code := green
		if l.State != shell.Enforced {
			code = yellow
		}
		head := fmt.Sprintf("    %-18s ", compartment.Escape(l.Name))
		indent := strings.Repeat(" ", 23)
		if len(head) > len(indent) {
			s.print(strings.TrimRight(head, " "))
			head = indent
		}
		state := fmt.Sprintf("%-11s ", l.State)
		for _, line := range terminal.Wrap(compartment.Escape(l.Evidence), columns-len(indent)-len(state)) {
			s.print(head + s.paint(code, state) + line)
			head, state = indent, strings.Repeat(" ", len(state))
		}
	}
}

// promises prints what the engine of the scripts holds them to.
func (s *screen) promises(e compartment.Engine) {
	p := e.Promises()
	s.print("")
	s.print(s.paint(bold, "What the engine "+e.Name()+" promises about the scripts"))
	for _, row := range []struct {
		name       string
		kept       bool
		with, less string
	}{
		{"capabilities", p.Capabilities, "a script reaches its own realm and the powers it was given", "nothing"},
		{"time", p.Time, "a script is stopped wherever it is", "a script is stopped in its own code, and not inside one built-in"},
		{"memory", p.Memory, "a script stays inside its memory", "a script can take this process down by asking for memory"},
	} {
		if row.kept {
			s.row(row.name, green, "promised: "+row.with)
			continue
		}
		s.row(row.name, yellow, "not promised: "+row.less)
	}
}

// trouble prints why the tour could not go on, and what to do about it.
func (s *screen) trouble(err error) {
	s.print("")
	s.row("trouble", red, err.Error())
	var e *shell.Error
	if errors.As(err, &e) {
		for _, h := range e.Hints {
			s.row("hint", "0", h)
		}
	}
}
