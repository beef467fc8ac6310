package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sallyport/shell"
)

// sizeUnits are the units a size may have. "MB" is not among them: half the world means 1000 and the other half 1024.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1},
}

// parseSize reads "512MiB": a whole number, more than zero, with a unit.
func parseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := parseCount(digits)
		if err != nil {
			break
		}
		if n > math.MaxInt64/u.bytes {
			return 0, fmt.Errorf("%q is more than can be counted", s)
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q is no size; write a whole number and B, KiB, MiB, GiB or TiB, as in 512MiB", s)
}

// sizeText writes a size as parseSize reads it, in the largest unit that is exact.
func sizeText(n int64) string {
	best := sizeUnits[len(sizeUnits)-1]
	for _, u := range sizeUnits {
		if n%u.bytes == 0 && u.bytes > best.bytes {
			best = u
		}
	}
	return strconv.FormatInt(n/best.bytes, 10) + best.suffix
}

// parseCount reads a whole number of at least one, digits only: ParseInt alone would take "+5".
func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is no whole number of at least 1", s)
	}
	return n, nil
}

// parseSpan reads a length of time that is more than zero.
func parseSpan(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no length of time; write it as in 30s, 5m or 500ms", s)
	}
	return d, nil
}

// limitKeys are the keys of --limit. Each sets one field of shell.Limits.
var limitKeys = []struct {
	name string
	set  func(*shell.Limits, string) error
}{
	{"memory", func(l *shell.Limits, s string) (err error) { l.MemoryBytes, err = parseSize(s); return err }},
	{"pids", func(l *shell.Limits, s string) error {
		n, err := parseCount(s)
		if err == nil && n > math.MaxInt32 {
			return fmt.Errorf("%q is more than a machine can have", s)
		}
		l.Processes = int(n)
		return err
	}},
	{"cpu", func(l *shell.Limits, s string) (err error) { l.CPUTime, err = parseSpan(s); return err }},
	{"file", func(l *shell.Limits, s string) (err error) { l.FileSizeBytes, err = parseSize(s); return err }},
	{"connections", func(l *shell.Limits, s string) error {
		n, err := parseCount(s)
		if err == nil && n > 1<<16 {
			return fmt.Errorf("%q is more than there are ports", s)
		}
		l.Connections = int(n)
		return err
	}},
	{"net", func(l *shell.Limits, s string) (err error) { l.NetworkBytes, err = parseSize(s); return err }},
	{"idle", func(l *shell.Limits, s string) (err error) { l.NetworkIdle, err = parseSpan(s); return err }},
	{"write", func(l *shell.Limits, s string) (err error) { l.WriteBytes, err = parseSize(s); return err }},
	{"descriptors", func(l *shell.Limits, s string) error {
		n, err := parseCount(s)
		if err == nil && n > math.MaxInt32 {
			return fmt.Errorf("%q is more than a machine can have", s)
		}
		l.Descriptors = int(n)
		return err
	}},
}

// parseLimits reads every --limit. A key given twice is refused: which of the two was meant?
func parseLimits(values []string) (shell.Limits, error) {
	var limits shell.Limits
	seen := map[string]bool{}
	for _, value := range values {
		for _, item := range strings.Split(value, ",") {
			key, text, ok := strings.Cut(item, "=")
			if !ok {
				return limits, fmt.Errorf("--limit %q: %q is not KEY=VALUE", value, item)
			}
			if seen[key] {
				return limits, fmt.Errorf("--limit: %s is given twice", key)
			}
			seen[key] = true
			if err := setLimit(&limits, key, text); err != nil {
				return limits, fmt.Errorf("--limit %s: %w", key, err)
			}
		}
	}
	return limits, nil
}

func setLimit(limits *shell.Limits, key, text string) error {
	var names []string
	for _, k := range limitKeys {
		if k.name == key {
			return k.set(limits, text)
		}
		names = append(names, k.name)
	}
	return fmt.Errorf("unknown limit; there are: %s", strings.Join(names, ", "))
}
