package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"sallyport/evaljs"
	"sallyport/internal/terminal"
)

// What a person is asked with, for a new source and for the rest of one.
const (
	promptNew  = "> "
	promptMore = "... "
)

// readLines reads sources from standard input: each line is one, unless a bracket, a template or a comment is open at its end; then it goes
// on with the next line. A person is prompted. What is still open at the end of the input is evaluated as it is.
func (p *program) readLines() sourceReader {
	in := bufio.NewReader(io.LimitReader(p.in, maxSession))
	asked := terminal.IsTerminal(p.in) && terminal.IsTerminal(p.err)
	prompt := func(text string) {
		if asked {
			fmt.Fprint(p.err, text)
		}
	}
	return func() (string, bool, error) {
		var source strings.Builder
		for {
			if source.Len() == 0 {
				prompt(promptNew)
			} else {
				prompt(promptMore)
			}
			line, err := in.ReadString('\n')
			source.WriteString(line)
			if err != nil && !errors.Is(err, io.EOF) {
				return "", false, fmt.Errorf("read standard input: %w", err)
			}
			text := source.String()
			switch {
			case err != nil: // the end
				prompt("\n")
				return text, strings.TrimSpace(text) != "", nil
			case strings.TrimSpace(text) == "":
				source.Reset()
			case len(text) > maxSource || !evaljs.Incomplete(text):
				return text, true, nil
			}
		}
	}
}

// maxSession bounds what is read of a session's input: far more than anybody types, and an end for what has none.
const maxSession = 1 << 30
