package corpus

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sallyport/compartment"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated document anew")

// TestDocumentIsCurrent: the document is made of the tables that are tested, so it says nothing else than what is.
func TestDocumentIsCurrent(t *testing.T) {
	const path = "../../docs/compartment.md"
	all, err := readAttacks()
	require.NoError(t, err)
	want := document(all)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "stale: go test ./compartment/corpus -run DocumentIsCurrent -update")
}

func document(all []attack) string {
	var b strings.Builder
	b.WriteString(`# What a compartment is, in tables

Generated from the tables that the tests run (go test ./compartment/corpus -run DocumentIsCurrent -update). The limits are in
[limits.md](limits.md).

## Guarantees

Which guarantee holds on which engine. Each row is run on each engine where it is claimed (` + "`compartment/corpus.TestGuarantees`" + `).

| guarantee | wasm | goja |
|---|---|---|
`)
	for _, g := range guarantees {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.what, g.wasm.cell(), g.goja.cell())
	}
	documentAttacks(&b, all)
	documentResults(&b)
	documentPermits(&b)
	return b.String()
}

// documentAttacks writes what each engine passes, by group.
func documentAttacks(b *strings.Builder, all []attack) {
	fmt.Fprintf(b, `
## Attacks

The %d attacks of compartment/testdata/js-attacks.jsonl, each with its own rule and with what must hold beside it: the process lives, the
evaluation ends within 250 ms of its limit, memory stays under its cap, no file or socket is opened, what is said is text, inside its cap and of
the guest alone, every call is listed, and another compartment answers as ever (`+"`compartment/corpus.TestAttacks`, `compartment/corpus.TestNothingIsOpened`"+`).

| group | attacks | wasm | goja |
|---|---|---|---|
`, len(all))
	var groups []string
	count, excepted := map[string]int{}, map[string]int{}
	for _, a := range all {
		if !slices.Contains(groups, a.Group) {
			groups = append(groups, a.Group)
		}
		count[a.Group]++
		if slices.ContainsFunc(gojaExceptions, func(e exception) bool { return e.id == a.ID }) {
			excepted[a.Group]++
		}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "| %s | %d | %d | %d |\n", g, count[g], count[g], count[g]-excepted[g])
	}
	fmt.Fprintf(b, "| all | %d | %d | %d |\n", len(all), len(all), len(all)-len(gojaExceptions))
	b.WriteString("\nWhat goja does not pass. \"Now and then\" is what it passes on a machine that is quick enough.\n\n| id | attack | why | |\n|---|---|---|---|\n")
	for _, e := range gojaExceptions {
		i := slices.IndexFunc(all, func(a attack) bool { return a.ID == e.id })
		often := "never passed"
		if e.flaky {
			often = "passed now and then"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", e.id, all[i].Title, e.why, often)
	}
}

// documentResults writes the table of results.
func documentResults(b *strings.Builder) {
	b.WriteString(`
## Results

What becomes of the last value of a program, on every engine (` + "`compartment/corpus.TestResults`" + `). Where there is no JSON that says exactly the same, the result is partial:
the text shows it, the data is null. A text that is cut says how much was left out.

| value | program | shown as | data |
|---|---|---|---|
`)
	for _, r := range results {
		text, data := code(r.text), code(r.json)
		if r.begins != "" {
			text = code(r.begins+" …") + " and how much more"
		}
		switch {
		case r.kind != "":
			data = "none: " + string(r.kind)
		case r.json == "":
			data = "none, partial"
		}
		if r.goja != "" {
			text += " (goja: " + code(r.goja) + ")"
		}
		if r.lacks {
			text += " (goja lacks it)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.what, code(r.source), text, data)
	}
}

// documentPermits writes what a guest may see and what it must not.
func documentPermits(b *strings.Builder) {
	b.WriteString(`
## Permits

Everything a guest may see. What is not here is removed before any guest code runs, and what is here is frozen, but for the global object itself
(` + "`compartment.TestPermitsTable`, `compartment/wasm.TestPermitsMatchTheEngine`" + `). Engines lack parts of it. "%…%" is an object that no global leads to.

| object | names | why |
|---|---|---|
`)
	for _, p := range compartment.Permits() {
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(p.Object), code(p.Names), p.Why)
	}
	b.WriteString("\n## Denials\n\nWhat engines have and a guest must not see.\n\n| name | why |\n|---|---|\n")
	for _, d := range compartment.Denials() {
		fmt.Fprintf(b, "| %s | %s |\n", code(d.Name), d.Why)
	}
}

// code is text of a program in a cell of a table.
func code(s string) string {
	if s == "" {
		return ""
	}
	fence := "`"
	if strings.Contains(s, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(s, "|", "\\|") + fence
}
