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
// A person approves by typing y or yes. Everything else refuses: another word, an empty line, the end of input. An Asker
// asks the same with everything that a decision needs, takes a note with a no, and can be told "always".
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
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
