package tools

import (
	"strconv"
	"strings"

	"sallyport/compartment"
)

// Facts are what is known of an outcome, for a narrator. All of it may be shown to a model: nothing names a path, a
// directory or a user of the host.
type Facts struct {
	Outcome Outcome
	// Reason is the row's.
	Reason string
	// Tool is the name of the tool that was called.
	Tool string
	// Input is the path, pattern or id as it was understood.
	Input string
	// Note are words of the gate, or of a parser about the input. Often empty.
	Note string
	// Detail is a sentence about a denial, or the name of a signal.
	Detail string
	// Root is the directory that may be saved to, as a model writes it.
	Root string
	// Limit is the limit that was met, or the exit status.
	Limit int64
}

// Narrator turns facts into what a model reads. It gets every outcome; where it has nothing to say (""), the text of the
// table stands.
type Narrator func(Facts) string

// Narrate is the text of the table for any facts: it is total. Facts that are in no row read as a failure.
func Narrate(f Facts) string {
	rows := Outcomes()
	n, ok := rowOf(rows, f.Outcome, f.Reason)
	if !ok {
		n, _ = rowOf(rows, IOFailure, "")
	}
	return fill(n.says, f) + " " + n.Action
}

// rowOf finds the row, or the first of the outcome when the reason is not in the table.
func rowOf(rows []Narration, o Outcome, reason string) (Narration, bool) {
	var first *Narration
	for i := range rows {
		if rows[i].Outcome != o {
			continue
		}
		if rows[i].Reason == reason {
			return rows[i], true
		}
		if first == nil {
			first = &rows[i]
		}
	}
	if first == nil {
		return Narration{}, false
	}
	return *first, true
}

// The longest texts of a caller that are repeated to it. Long enough for a path and a note, short enough that a line
// stays a line.
const (
	longestInput = 300
	longestNote  = 1000
)

// fill puts the facts in the places of a text. What a caller wrote is quoted and on one line, so that it cannot add
// sentences of ours.
func fill(says string, f Facts) string {
	note := ""
	if f.Note != "" {
		note = ": " + strings.TrimRight(compartment.Shown(f.Note, longestNote), ". ")
	}
	return strings.NewReplacer(
		"{input}", quoted(f.Input),
		"{root}", quoted(f.Root),
		"{tool}", compartment.Shown(f.Tool, longestInput),
		"{note}", note,
		"{detail}", strings.TrimRight(compartment.Shown(f.Detail, longestNote), ". "),
		"{limit}", strconv.FormatInt(f.Limit, 10),
	).Replace(says)
}

// quoted is a text of a caller between quotation marks. An empty path is the root.
func quoted(s string) string {
	if s == "" {
		s = "."
	}
	return `"` + strings.ReplaceAll(compartment.Shown(s, longestInput), `"`, `\"`) + `"`
}

// narrate asks the narrator, and falls back on the table.
func (n Narrator) narrate(f Facts) string {
	if n != nil {
		if text := n(f); text != "" {
			return text
		}
	}
	return Narrate(f)
}
