package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the values of benchmark lines, by "name unit".
type results map[string][]float64

var procs = regexp.MustCompile(`-\d+$`)

// add takes the benchmark lines out of what a program printed.
func (r results) add(out []byte) {
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name, ok := strings.CutPrefix(strings.Join(fields[:min(1, len(fields))], ""), "Benchmark")
		if !ok {
			continue
		}
		name = procs.ReplaceAllString(name, "")
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				r[name+" "+fields[i+1]] = append(r[name+" "+fields[i+1]], v)
			}
		}
	}
}

// median of the values of a key; false when there are none.
func (r results) median(key string) (float64, bool) {
	list := slices.Sorted(slices.Values(r[key]))
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)/2], true
}

// row compares two results. Both are keys of results; the unit is what follows the last space and, there, the last hyphen.
type row struct{ what, ours, against, name string }

// missing names the results that no step printed: of a program that is not installed, or of a benchmark that has another name now.
func missing(rows []row, values results) []string {
	var list []string
	for _, r := range rows {
		for _, key := range []string{r.ours, r.against} {
			if len(values[key]) == 0 && !slices.Contains(list, key) {
				list = append(list, key)
			}
		}
	}
	return list
}

// table makes Markdown of the rows. What was not measured has no row.
func table(rows []row, values results) string {
	var b strings.Builder
	b.WriteString("| what | here | against | | ratio |\n|---|---:|---|---:|---:|\n")
	for _, r := range rows {
		ours, ok := values.median(r.ours)
		other, there := values.median(r.against)
		if !ok || !there || other == 0 {
			continue
		}
		ratio := fmt.Sprintf("%.2f", ours/other)
		if strings.HasSuffix(r.ours, "/s") {
			ratio += " of its rate"
		} else {
			ratio += " times as long"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.what, amount(ours, r.ours), r.name, amount(other, r.against), ratio)
	}
	return b.String()
}

// seconds of the units of time that benchmarks here use.
var seconds = map[string]float64{"ns/op": 1e-9, "ns/call": 1e-9, "µs": 1e-6, "µs/call": 1e-6, "ms": 1e-3}

// amount writes a value with a unit that people read.
func amount(v float64, key string) string {
	unit := key[strings.LastIndexAny(key, " -")+1:]
	scale, isTime := seconds[unit]
	if unit == "MB/s" {
		return fmt.Sprintf("%.0f MB/s", v)
	} else if !isTime {
		return fmt.Sprintf("%.0f/s", v)
	}
	v *= scale
	for _, u := range []struct {
		name string
		in   float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if v >= u.in {
			return fmt.Sprintf("%.3g %s", v/u.in, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", v*1e9)
}
