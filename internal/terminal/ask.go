package terminal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"sallyport/compartment"
	"sallyport/gate"
)

// Part is one thing to be shown with a question: a label of ours, and a text that anybody may have written.
type Part struct {
	Label, Text string
}

// Asker asks a person with everything that a decision needs. It remembers the calls that the person wants to be approved
// always, as long as it lives; another call, or the same one with anything else to be shown, is asked about again.
type Asker struct {
	person *Person
	about  func(context.Context, gate.Call) ([]Part, error)

	mu     sync.Mutex
	always map[[sha256.Size]byte]bool
}

// ErrTooLong is for about: there is more to be seen than a person can look at, so the call is refused.
var ErrTooLong = errors.New(tooLong)

// Asker makes one. about adds what is known of a call besides its arguments: where it works, what the policy would allow, what
// it would change. An error of it means that the person cannot be asked.
func (p *Person) Asker(about func(context.Context, gate.Call) ([]Part, error)) *Asker {
	return &Asker{person: p, about: about, always: map[[sha256.Size]byte]bool{}}
}

// The most that is shown of one question. A person reads that much, and can scroll back to its beginning.
const (
	mostLines = 200
	mostBytes = 20_000
)

// Gate asks about one call; it is a gate.Func. A call that cannot be shown whole is refused without asking.
func (a *Asker) Gate(ctx context.Context, c gate.Call) (gate.Verdict, error) {
	more, err := a.about(ctx, c)
	if errors.Is(err, ErrTooLong) {
		return gate.Verdict{Note: tooLong}, nil
	}
	if err != nil {
		return gate.Verdict{}, fmt.Errorf("what to show with the question: %w", err)
	}
	parts := append(append([]Part{{"tool", c.Tool}}, arguments(c.Args)...), more...)
	key := keyOf(parts)
	if a.remembers(key) {
		return gate.Verdict{Approved: true}, nil
	}
	shown, ok := a.draw(parts)
	if !ok {
		return gate.Verdict{Note: tooLong}, nil
	}
	line, err := a.person.put(ctx, shown+"approve? y = yes, n and a note = no, a = always for this exact call: ")
	if err != nil {
		return gate.Verdict{}, err
	}
	return a.verdict(line, key), nil
}

// verdict reads an answer. Only y, yes, a and always approve.
func (a *Asker) verdict(line string, key [sha256.Size]byte) gate.Verdict {
	word, note, _ := strings.Cut(line, " ")
	switch {
	case isYes(line):
		return gate.Verdict{Approved: true}
	case strings.EqualFold(line, "a") || strings.EqualFold(line, "always"):
		a.mu.Lock()
		defer a.mu.Unlock()
		a.always[key] = true
		return gate.Verdict{Approved: true}
	case (strings.EqualFold(word, "n") || strings.EqualFold(word, "no")) && strings.TrimSpace(note) != "":
		return gate.Verdict{Note: compartment.Escape(strings.TrimSpace(note))}
	}
	return gate.Verdict{Note: saidNo}
}

func (a *Asker) remembers(key [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.always[key]
}

// keyOf is the same for two questions only when everything shown is the same.
func keyOf(parts []Part) [sha256.Size]byte {
	var b bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&b, "%d %d %s%s", len(p.Label), len(p.Text), p.Label, p.Text)
	}
	return sha256.Sum256(b.Bytes())
}

// arguments shows an object field by field, with strings as they will be used: a script is read as lines. What is no object is
// shown as it is.
func arguments(args json.RawMessage) []Part {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields == nil {
		return []Part{{"arguments", string(args)}}
	}
	var parts []Part
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var s string
		if fields[name][0] != '"' || json.Unmarshal(fields[name], &s) != nil {
			s = string(fields[name])
		}
		parts = append(parts, Part{name, s})
	}
	return parts
}

// The columns of a question. Everything that is not ours stands behind a bar, on each line of the screen, so that no
// text can look like the question itself: "|" begins a line of the text, "+" goes on with it.
const (
	labelColumns = 10
	fewestText   = 20
	unknownWidth = 80
)

// draw writes the parts, or says that they are more than can be seen.
func (a *Asker) draw(parts []Part) (string, bool) {
	columns := max(a.person.columns()-labelColumns-4, fewestText)
	var b strings.Builder
	b.WriteString("sallyport asks about a call:\n")
	lines := 0
	for _, p := range parts {
		label := compartment.Shown(p.Label, 200) // a field of the call names it
		if len(label) >= labelColumns {
			fmt.Fprintf(&b, "  %s\n", strings.Join(hardWrap(label, columns), "\n  "))
			label = ""
		}
		for _, line := range strings.Split(strings.TrimSuffix(p.Text, "\n"), "\n") {
			bar := "|"
			for _, piece := range hardWrap(compartment.Escape(line), columns) {
				fmt.Fprintf(&b, "  %-*s%s %s\n", labelColumns, label, bar, piece)
				label, bar = "", "+"
				if lines++; lines > mostLines || b.Len() > mostBytes {
					return "", false
				}
			}
		}
	}
	return b.String(), true
}

// hardWrap breaks a line where it is full, and changes nothing of it. What is not ASCII may take two columns.
func hardWrap(line string, columns int) []string {
	var pieces []string
	start, used := 0, 0
	for i, r := range line {
		width := 1
		if r > 0x7e {
			width = 2
		}
		if used+width > columns {
			pieces = append(pieces, line[start:i])
			start, used = i, 0
		}
		used += width
	}
	return append(pieces, line[start:])
}

// columns is the width of the terminal.
func (p *Person) columns() int {
	width := unknownWidth
	if p.tty != nil {
		control(p.tty, func(fd int) {
			if w, _, err := term.GetSize(fd); err == nil && w > 0 {
				width = w
			}
		})
	}
	return width
}
