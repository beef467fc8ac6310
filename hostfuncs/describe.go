package hostfuncs

import (
	"strings"

	"sallyport/compartment"
)

// Describe lists the powers for a model's prompt, one line each: the signature and what it does. Local ones, such as
// the console, are left out.
func Describe(powers []compartment.Power) string {
	var b strings.Builder
	for _, p := range powers {
		if p.Local {
			continue
		}
		b.WriteString(p.Signature())
		if p.Summary != "" {
			b.WriteString(" // " + p.Summary)
		}
		if p.Gated {
			b.WriteString(" Each call is put to a gate.")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
