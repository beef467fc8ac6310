package main

import (
	"fmt"
	"os"
	"strings"

	"sallyport/compartment"
	"sallyport/internal/terminal"
	"sallyport/policy"
)

// explainAll prints everything that would be in force.
func (p *program) explainAll(r *request, asJSON bool) error {
	derived := r.rules.Derived()
	if asJSON {
		return writeJSON(p.out, struct {
			Rules policy.Derived `json:"rules"`
			Notes []string       `json:"notes"`
		}{derived, append([]string{}, r.notes...)})
	}
	return p.print(derivedText(derived, r))
}

// width is how wide the text for people is at most: the least a terminal has.
const width = 78

// table is a text of two columns: a label, and what it is about, wrapped.
type table struct {
	strings.Builder
}

// labelWidth fits the longest label.
const labelWidth = 10

// row adds one label with its text.
func (t *table) row(label, text string) {
	for i, line := range terminal.Wrap(compartment.Escape(text), width-labelWidth-1) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(t, "%-*s %s\n", labelWidth, label, line)
	}
}

// list adds one line a value under a heading; nothing when there is none.
func (t *table) list(label, heading string, values []string) {
	if len(values) == 0 {
		return
	}
	t.row(label, heading)
	for _, v := range values { // not wrapped: somebody copies it
		fmt.Fprintf(t, "%-*s   %s\n", labelWidth, "", compartment.Escape(v))
	}
}

// derivedText is the rules in force for people.
func derivedText(d policy.Derived, r *request) string {
	t := &table{}
	if d.FilesystemDisabled {
		t.row("files", "no rule at all: filesystem.disabled is set")
	} else {
		fileRows(t, d, r.secrets)
	}
	networkRows(t, d.Network)
	t.row("environ", strings.Join(environmentNames(r), " "))
	if l := limitTexts(r); len(l) > 0 {
		t.row("limits", strings.Join(l, ", "))
	}
	t.list("git", "safe.directory:", d.GitSafeDirectories)
	for _, n := range append(append([]string{}, r.notes...), policyNotes(d)...) {
		t.row("note", n)
	}
	return t.String()
}

// policyNotes is what is legal in a policy and worth knowing.
func policyNotes(d policy.Derived) []string {
	var notes []string
	for _, s := range d.Superseded {
		notes = append(notes, s+" is accepted and changes nothing")
	}
	for _, g := range d.UndecidableGlobs {
		notes = append(notes, g+" is a pattern that means nothing")
	}
	for _, a := range d.AbsentOptional {
		notes = append(notes, a+" does not exist and is not in force")
	}
	return append(notes, d.Warnings...)
}

func fileRows(t *table, d policy.Derived, secrets int) {
	if len(d.Read.DenyOnly) == 0 {
		t.row("read", "everything")
	} else {
		t.list("read", "everything but:", thereNow(d.Read.DenyOnly, secrets))
		t.list("", "and again:", d.Read.AllowWithinDeny)
	}
	named := subtract(d.Write.AllowOnly, d.DefaultWrite)
	if len(named) == 0 {
		t.row("write", "nothing")
	} else {
		t.list("write", "only:", named)
		t.list("", "but not:", d.Write.DenyWithinAllow)
		t.row("", "nor, inside them, any of these names: "+strings.Join(d.MandatoryDeny.Entries, " "))
	}
	if len(d.MandatoryDeny.Lifted) > 0 {
		t.row("", "lifted by the policy: "+strings.Join(d.MandatoryDeny.Lifted, " "))
	}
	var private []string
	for _, p := range d.Private {
		private = append(private, p.Path)
	}
	t.row("own", strings.Join(private, " ")+" are the command's own and gone when it ends")
}

// thereNow leaves out the secret places that do not exist, which are the first so many, and says how many they are.
func thereNow(denied []string, secrets int) []string {
	var shown []string
	absent := 0
	for i, path := range denied {
		if _, err := os.Lstat(path); err != nil && i < secrets {
			absent++
			continue
		}
		shown = append(shown, path)
	}
	if absent > 0 {
		shown = append(shown, fmt.Sprintf("and %d secret places that do not exist now", absent))
	}
	return shown
}

func networkRows(t *table, n policy.DerivedNetwork) {
	switch {
	case n.Disabled:
		t.row("network", "unrestricted")
	case len(n.AllowedDomains) == 0:
		t.row("network", "none")
	default:
		t.list("network", "only:", n.AllowedDomains)
		t.list("", "but not:", n.DeniedDomains)
	}
}

// environmentNames are the names of the variables that the command gets.
func environmentNames(r *request) []string {
	names := append([]string{}, r.options.EnvAllow...)
	names = append(names, "TMPDIR")
	for _, kv := range r.options.Env {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

// limitTexts are the limits that were asked for.
func limitTexts(r *request) []string {
	l := r.options.Limits
	var texts []string
	add := func(set bool, format string, value any) {
		if set {
			texts = append(texts, fmt.Sprintf(format, value))
		}
	}
	add(l.MemoryBytes > 0, "memory %s", sizeText(l.MemoryBytes))
	add(l.Processes > 0, "%d processes", l.Processes)
	add(l.CPUTime > 0, "cpu %s a process", l.CPUTime)
	add(l.FileSizeBytes > 0, "files of %s", sizeText(l.FileSizeBytes))
	return texts
}

// subtract gives the values of all that are not among some.
func subtract(all, some []string) []string {
	not := map[string]bool{}
	for _, s := range some {
		not[s] = true
	}
	var left []string
	for _, a := range all {
		if !not[a] {
			left = append(left, a)
		}
	}
	return left
}
