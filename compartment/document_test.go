package compartment

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated document anew")

// TestLimitsDocumentIsCurrent: the table that is enforced is the document.
func TestLimitsDocumentIsCurrent(t *testing.T) {
	const path = "../docs/limits.md"
	want := limitsDocument()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "stale: go test ./compartment -run LimitsDocument -update")
}

func limitsDocument() string {
	var b strings.Builder
	b.WriteString(`# The limits of an evaluation

Generated from the table in package compartment (go test ./compartment -run LimitsDocument -update). A limit that is left out takes its default; one that is
out of its bounds is refused when the compartment is opened, by name, value and bounds, and is never rounded
(` + "`compartment.TestGuestLimits`" + `).

| limit | default | least | most | why |
|---|---|---|---|---|
`)
	for _, row := range limitTable {
		standard := row.text(row.standard)
		if row.standard == 0 {
			standard = "the engine's"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", row.name, standard, row.text(row.least), row.text(row.most), row.why)
	}
	return b.String()
}
