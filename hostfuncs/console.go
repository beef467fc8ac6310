package hostfuncs

import (
	"context"
	"strings"

	"sallyport/compartment"
)

// consoleLevels are the functions of the console and the level each one gives its entries.
var consoleLevels = []struct{ name, level, why string }{
	{"log", "log", "the usual one"},
	{"info", "info", "as log, for programs that say so"},
	{"debug", "debug", "as log, for programs that say so"},
	{"warn", "warn", "told apart by who reads"},
	{"error", "error", "told apart by who reads"},
}

// shownBytes bounds the text made of one value before the console's own limit cuts the line, so that logging one huge
// value does not build a huge text first.
const shownBytes = 64 << 10

// Console is the console: log, info, debug, warn and error. What it is given becomes text entries of the outcome,
// without running any code of the guest: no toString, no getter, no inspect hook. It has no effect outside the
// evaluation, and logging never throws into the program. The limits are the compartment's: an entry too long is cut
// and marked, and entries too many are counted (R256).
func Console() []compartment.Power {
	powers := make([]compartment.Power, 0, len(consoleLevels))
	for _, l := range consoleLevels {
		powers = append(powers, compartment.Power{
			Name:       "console." + l.name,
			Summary:    "Writes the values to the log of this evaluation, at level " + l.level + ".",
			TypeScript: "console." + l.name + "(...values: unknown[]): void",
			Params:     []compartment.Param{{Name: "values", Rest: true, Shown: true}},
			Returns:    compartment.Param{Types: []compartment.Type{compartment.TypeUndefined}},
			OnCancel:   compartment.CancelDiscards,
			Sync:       true,
			Local:      true,
			Do: func(_ context.Context, c *compartment.Call) (compartment.Value, error) {
				c.Log(l.level, line(c.Args))
				return compartment.Value{}, nil
			},
		})
	}
	return powers
}

// line shows the values on one line.
func line(values []compartment.Value) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > shownBytes {
			b.WriteString("…")
			break
		}
		b.WriteString(v.Line(shownBytes))
	}
	return b.String()
}
