package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sallyport/compartment"
)

// TestUsedText: each limit with what was taken of it, and nothing for what an engine does not measure.
func TestUsedText(t *testing.T) {
	used := compartment.Used{
		Wall: compartment.Gauge{Used: 3, Limit: 5000}, SourceBytes: compartment.Gauge{Used: 1536, Limit: 256 << 10},
		HostCalls: compartment.Gauge{Used: 2, Limit: 1000},
		Calls:     map[string]compartment.Gauge{"readFile": {Used: 1, Limit: 10}, "clock": {Used: 1, Limit: 1000}},
	}
	require.Equal(t, "used: 3 of 5000 ms, source 1.5 KiB of 256 KiB, calls 2 of 1000, clock 1 of 1000, readFile 1 of 10", usedText(used))
	used.PeakBytes, used.Fuel = &compartment.Gauge{Used: 3<<20 + 1<<19, Limit: 64 << 20}, &compartment.Gauge{Used: 12}
	require.Contains(t, usedText(used), ", memory 3.5 MiB of 64 MiB, fuel 12, ")
}

// TestEffectsText: what is not known comes first, and the rest is counted.
func TestEffectsText(t *testing.T) {
	call := compartment.Effect{Power: "put", Args: []byte(`{"a":1}`), Result: "ok"}
	late := call
	late.Result = "unknown"
	e := compartment.Effects{Done: []compartment.Effect{call, call, call, call, call, call}, Unknown: []compartment.Effect{late}}
	require.Regexp(t, `^  call put \{"a":1\}: unknown\n(  call put \{"a":1\}: ok\n){4}  and 2 more calls \(--json lists them\)\n$`, effectsText(e))
	require.Empty(t, effectsText(compartment.Effects{}))
}

// TestConsoleText: what was cut off is said.
func TestConsoleText(t *testing.T) {
	c := compartment.Console{Entries: []compartment.Entry{{Text: "a"}, {Text: "b"}}, DroppedEntries: 3}
	require.Equal(t, "a\nb\n  and 3 more lines, which were not kept\n", consoleText(c))
}

// TestWhereText: the mark is below the place, and the calls are listed when there were any.
func TestWhereText(t *testing.T) {
	require.Empty(t, whereText(nil))
	place := []compartment.Frame{{Line: 1, Column: 7}}
	require.Equal(t, "  line 1, column 7\n    throw x()\n          ^\n", whereText(compartment.At("throw x()", 1, 7, place)))
	called := []compartment.Frame{{Function: "f\x1b", Line: 1, Column: 7}, {Line: 2, Column: 1}}
	require.Equal(t, "  line 1, column 7\n    throw x()\n          ^\n    in f\\x1b, line 1, column 7\n    at line 2, column 1\n",
		whereText(compartment.At("throw x()", 1, 7, called)))
}
