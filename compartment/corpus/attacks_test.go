package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"sallyport/compartment"
)

// attack is one line of the corpus: a program, the powers it wants, and what a correct boundary makes of it.
type attack struct {
	ID, Group, Title, Code, Requires, Expect string

	// Outcome lists the words that are right: value, error, syntax, limit.
	Outcome []string
	// Equals, OneOf and Not are about the value, when there is one.
	Equals json.RawMessage
	OneOf  []json.RawMessage
	Not    string
	// Parse says "syntax-error": nothing of the program may run, and the place is in it.
	Parse string

	// Then is a second program, for the same compartment or another one.
	Then, Where   string
	ThenEquals    json.RawMessage
	ThenOneOf     []json.RawMessage
	SameAsFirst   bool
	RevokeBetween []string
}

// attacksFile is the corpus. A line is never changed to fit an engine.
const attacksFile = "../testdata/js-attacks.jsonl"

// readAttacks reads the corpus. A field that is not known would be a rule that nobody checks, so it is an error.
func readAttacks() ([]attack, error) {
	text, err := os.ReadFile(attacksFile)
	if err != nil {
		return nil, err
	}
	var all []attack
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		var a attack
		if err := d.Decode(&a); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		if a.ID == "" || a.Code == "" || len(a.Outcome) == 0 {
			return nil, fmt.Errorf("line %d says too little", len(all)+1)
		}
		all = append(all, a)
	}
	return all, lines.Err()
}

// shortTime is the limit of what may meet it; longTime that of the others, which must not fail because the machine is busy.
const (
	shortTime = 200 * time.Millisecond
	longTime  = 10 * time.Second
)

// limit is the time that the attack gets.
func (a attack) limit() time.Duration {
	if slices.Contains(a.Outcome, "limit") {
		return shortTime
	}
	return longTime
}

// word is the corpus's word for the way an evaluation ended. What the engine lost is none of them.
func word(o compartment.Outcome) string {
	switch o.Status {
	case compartment.StatusOK:
		return "value"
	case compartment.StatusSyntax:
		return "syntax"
	case compartment.StatusStopped:
		return "limit"
	case compartment.StatusException, compartment.StatusRefused, compartment.StatusHostFailure:
		return "error"
	}
	return string(o.Status)
}

// check compares an outcome with the attack's own rule and says what is wrong.
func (a attack) check(o compartment.Outcome) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if w := word(o); !slices.Contains(a.Outcome, w) {
		complain("ended as %s (%s), want %s", w, o.Kind, strings.Join(a.Outcome, " or "))
	}
	if a.Parse != "" {
		if lines := strings.Count(a.Code, "\n") + 1; o.Kind != compartment.KindParse || o.Where == nil || o.Where.Line > lines {
			complain("no syntax error with a place in the program: %s %+v", o.Kind, o.Where)
		}
	}
	if o.Status == compartment.StatusOK {
		if a.Equals != nil && !sameJSON(a.Equals, o.Data) {
			complain("gave %s, want %s", o.Value.Text, a.Equals)
		}
		if a.OneOf != nil && !anyJSON(a.OneOf, o.Data) {
			complain("gave %s, want one of %s", o.Value.Text, a.OneOf)
		}
	}
	if a.Not != "" && strings.Contains(o.Value.Text+string(o.Data), a.Not) {
		complain("gave %s, which has %q in it", o.Value.Text, a.Not)
	}
	return wrong
}

// checkThen compares the outcome of the second program. err is what the boundary itself said, of a compartment that is lost.
func (a attack) checkThen(first, o compartment.Outcome, err error) []string {
	refused := err != nil || word(o) == "error"
	if a.SameAsFirst {
		if err != nil || o.Status != first.Status || o.Value.Text != first.Value.Text {
			return []string{fmt.Sprintf("the second program gave %s %s, the first %s %s (%v)", o.Status, o.Value.Text, first.Status, first.Value.Text, err)}
		}
		return nil
	}
	want := a.ThenOneOf
	if a.ThenEquals != nil {
		want = []json.RawMessage{a.ThenEquals}
	}
	if refused && slices.ContainsFunc(want, func(w json.RawMessage) bool { return string(w) == `"refused"` }) && a.ThenOneOf != nil {
		return nil
	}
	if err != nil || o.Status != compartment.StatusOK || !anyJSON(want, o.Data) {
		return []string{fmt.Sprintf("the second program gave %s %s %s (%v), want %s", o.Status, o.Kind, o.Value.Text, err, want)}
	}
	return nil
}

// sameJSON compares two texts of JSON by what they mean.
func sameJSON(want, got json.RawMessage) bool {
	var w, g any
	return json.Unmarshal(want, &w) == nil && json.Unmarshal(got, &g) == nil && reflect.DeepEqual(w, g)
}

func anyJSON(want []json.RawMessage, got json.RawMessage) bool {
	return slices.ContainsFunc(want, func(w json.RawMessage) bool { return sameJSON(w, got) })
}
