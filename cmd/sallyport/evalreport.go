package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sallyport/compartment"
	"sallyport/internal/terminal"
)

// report prints the outcome: the value on standard output, everything else on standard error. What was used against the
// limits is said to a person, and to everybody when there was no value.
func (f *evalFlags) report(p *program, o compartment.Outcome) (int, error) {
	status := statusOutcome
	if o.Status == compartment.StatusOK {
		status = 0
	}
	if f.json {
		return status, writeJSON(p.out, o)
	}
	fmt.Fprint(p.err, consoleText(o.Console))
	if status != 0 {
		fmt.Fprint(p.err, p.mark()+outcomeText(o))
		return status, nil
	}
	if err := p.print(o.Value.Text + "\n"); err != nil { // the boundary has escaped it
		return 0, err
	}
	if terminal.IsTerminal(p.err) {
		fmt.Fprintf(p.err, "  %s\n", usedText(o.Used))
	}
	return 0, nil
}

// consoleText is what the script logged, a line an entry. The boundary has escaped it.
func consoleText(c compartment.Console) string {
	var b strings.Builder
	for _, e := range c.Entries {
		b.WriteString(e.Text + "\n")
	}
	if c.DroppedEntries > 0 {
		fmt.Fprintf(&b, "  and %d more lines, which were not kept\n", c.DroppedEntries)
	}
	return b.String()
}

// outcomeText says how an evaluation ended otherwise than with a value. It goes after the program's mark.
func outcomeText(o compartment.Outcome) string {
	var b strings.Builder
	what := string(o.Kind)
	if o.Value.Exception != nil {
		what += ": " + o.Value.Exception.Name + ": " + o.Value.Exception.Message
	} else if o.Value.Text != "" {
		what += ": " + o.Value.Text
	}
	fmt.Fprintf(&b, " %s\n", compartment.Escape(what))
	b.WriteString(whereText(o.Where))
	b.WriteString(effectsText(o.Effects))
	if len(o.Session.Lost) > 0 {
		fmt.Fprintf(&b, "  gone: %s\n", compartment.Escape(strings.Join(o.Session.Lost, ", ")))
	}
	fmt.Fprintf(&b, "  %s\n", usedText(o.Used))
	if o.Next != "" {
		fmt.Fprintf(&b, "hint: %s\n", compartment.Escape(o.Next))
	}
	return b.String()
}

// whereText is the line with a mark below the place, and the calls that led there.
func whereText(w *compartment.Where) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  line %d, column %d\n", w.Line, w.Column)
	if w.Source != "" {
		fmt.Fprintf(&b, "    %s\n    %s\n", w.Source, w.Caret)
	}
	if len(w.Frames) == 1 && w.Frames[0].Function == "" {
		return b.String() // the place itself, and nothing called it
	}
	for _, f := range w.Frames {
		name := "at" // outside of all functions, or in one without a name
		if f.Function != "" {
			name = "in " + compartment.Escape(f.Function) + ","
		}
		fmt.Fprintf(&b, "    %s line %d, column %d\n", name, f.Line, f.Column)
	}
	return b.String()
}

// effectsShown is how many calls are listed; --json has all of them.
const effectsShown = 5

// effectsText lists the calls that reached the host before the end: they were carried out all the same.
func effectsText(e compartment.Effects) string {
	var b strings.Builder
	all := slices.Concat(e.Unknown, e.Done) // what is not known matters most
	for i, c := range all {
		if i == effectsShown {
			fmt.Fprintf(&b, "  and %d more calls (--json lists them)\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "  call %s %s: %s\n", c.Power, compartment.Shown(string(c.Args), 100), c.Result)
	}
	return b.String()
}

// usedText says what an evaluation took of each limit.
func usedText(u compartment.Used) string {
	parts := []string{fmt.Sprintf("%d of %d ms", u.Wall.Used, u.Wall.Limit)}
	if m := u.PeakBytes; m != nil {
		parts = append(parts, fmt.Sprintf("memory %s of %s", about(m.Used), about(m.Limit)))
	}
	if u.Fuel != nil {
		parts = append(parts, "fuel "+gaugeText(*u.Fuel))
	}
	parts = append(parts, fmt.Sprintf("source %s of %s", about(u.SourceBytes.Used), about(u.SourceBytes.Limit)), "calls "+gaugeText(u.HostCalls))
	for _, name := range slices.Sorted(maps.Keys(u.Calls)) {
		parts = append(parts, name+" "+gaugeText(u.Calls[name]))
	}
	return "used: " + strings.Join(parts, ", ")
}

// gaugeText is an amount and, when there is one, its limit.
func gaugeText(g compartment.Gauge) string {
	if g.Limit == 0 {
		return fmt.Sprint(g.Used)
	}
	return fmt.Sprintf("%d of %d", g.Used, g.Limit)
}

// about is a size in the unit in which it reads best, rounded to a tenth.
func about(bytes int64) string {
	size, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + unit
}
