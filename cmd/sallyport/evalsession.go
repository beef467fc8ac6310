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
	return func() (source, bool, error) {
		var text strings.Builder
		var lines evaljs.Completeness
		for {
			if text.Len() == 0 {
				prompt(promptNew)
			} else {
				prompt(promptMore)
			}
			line, err := in.ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return source{}, false, fmt.Errorf("read standard input: %w", err)
			}
			if text.Len() == 0 && strings.TrimSpace(line) == "" {
				if err != nil { // the end
					prompt("\n")
					return source{}, false, nil
				}
				continue
			}
			text.WriteString(line)
			if err != nil {
				prompt("\n")
			}
			if lines.Add(line) || err != nil || text.Len() > maxSource {
				return source{text.String(), evaljs.Auto}, true, nil
			}
		}
	}
}

// maxSession bounds what is read of a session's input: far more than anybody types, and an end for what has none.
const maxSession = 1 << 30
