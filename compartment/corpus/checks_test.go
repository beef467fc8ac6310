package corpus

import (
	"encoding/json"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

// TestChecksCatch plants one fault of each kind in an outcome. A check that finds none of them would let everything pass.
func TestChecksCatch(t *testing.T) {
	good := compartment.Outcome{Status: compartment.StatusOK, Data: json.RawMessage("1"), Value: compartment.Rendering{Text: "1"}}
	a := attack{ID: "X", Code: "1", Outcome: []string{"value"}, Equals: json.RawMessage("1"), Not: "lie"}
	s := &stage{engine: planted{}}
	w := newWorld()
	require.Empty(t, a.check(good))
	require.Empty(t, s.sound(a, good, 0))
	require.Empty(t, w.logged(good))

	for name, change := range map[string]func(*compartment.Outcome){
		"another value":   func(o *compartment.Outcome) { o.Data = json.RawMessage("2") },
		"a lie":           func(o *compartment.Outcome) { o.Value.Text = "a lie" },
		"another end":     func(o *compartment.Outcome) { o.Status = compartment.StatusStopped },
		"an engine lost":  func(o *compartment.Outcome) { o.Status = compartment.StatusEngineLost },
		"a partial value": func(o *compartment.Outcome) { o.Data = nil },
	} {
		o := good
		change(&o)
		require.NotEmpty(t, a.check(o), name)
	}
	for name, text := range map[string]string{"a path": "open /srv/x", "a type of the host": "main.go:3", "an address": "0xc000123456", "a trace": "goroutine 7",
		"a direction": "\u202e", "a tag": "\U000e0041", "too long": string(make([]byte, 18<<10))} {
		o := good
		o.Value.Text = text
		require.NotEmpty(t, s.sound(a, o, 0), name)
	}
	o := good
	o.Used.PeakBytes = &compartment.Gauge{Used: memoryCap + 1, Limit: memoryCap}
	require.NotEmpty(t, s.sound(a, o, 0), "too much memory")
	o.Used.PeakBytes = &compartment.Gauge{Limit: 2 * memoryCap}
	require.NotEmpty(t, s.sound(a, o, 0), "another limit than asked")
	w.calls["readFile"] = 1
	require.NotEmpty(t, w.logged(good), "a call that is not listed")

	syntax := attack{Outcome: []string{"syntax"}, Parse: "syntax-error", Code: "x"}
	require.Empty(t, syntax.check(compartment.Outcome{Status: compartment.StatusSyntax, Kind: compartment.KindParse, Where: &compartment.Where{Line: 1}}))
	require.NotEmpty(t, syntax.check(compartment.Outcome{Status: compartment.StatusSyntax, Kind: compartment.KindParse, Where: &compartment.Where{Line: 2}}))
	require.NotEmpty(t, syntax.check(compartment.Outcome{Status: compartment.StatusSyntax, Kind: compartment.KindParse}))

	then := attack{Then: "x", ThenEquals: json.RawMessage(`"refused"`)}
	refused := compartment.Outcome{Status: compartment.StatusRefused}
	require.NotEmpty(t, then.checkThen(good, refused, nil), "the program did not catch it")
	then = attack{Then: "x", ThenOneOf: []json.RawMessage{json.RawMessage("2"), json.RawMessage(`"refused"`)}}
	require.Empty(t, then.checkThen(good, refused, nil))
	require.Empty(t, then.checkThen(good, compartment.Outcome{}, compartment.ErrLost))
	require.NotEmpty(t, then.checkThen(good, good, nil))
	require.NotEmpty(t, attack{Then: "x", SameAsFirst: true}.checkThen(good, refused, nil))
}

// planted is an engine of which only the promises are asked.
type planted struct{ compartment.Engine }

func (planted) Promises() compartment.Promises { return compartment.Promises{Memory: true} }
