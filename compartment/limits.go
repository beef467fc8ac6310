package compartment

import (
	"fmt"
	"time"
)

// Limits bound one evaluation. A zero field takes its default, so the zero Limits are the ones we would choose. They
// are checked when a compartment is opened; a value out of bounds is an *Error that names field, value and bound
// (R258), and is never rounded.
type Limits struct {
	// Time bounds the whole evaluation: the guest's code, its waiting for powers, and turning the result into data.
	// Default 30 s, at least 1 ms (R255).
	Time time.Duration
	// MemoryBytes bounds what the guest holds. Default: the engine's own. An engine that cannot promise it refuses any
	// value but zero.
	MemoryBytes int64
	// StackDepth is how many calls deep a guest may be. Default 1000, which is also what an engine may be asked at
	// most: far deeper, unwinding a stopped guest took seconds.
	StackDepth int
	// SourceBytes bounds the source text, before it is parsed. Default 256 KiB.
	SourceBytes int
	// HostCalls bounds the calls of powers in one evaluation. Default 1000.
	HostCalls int
	// ConcurrentCalls bounds the calls of powers that run at one time; more of them wait. Default 8.
	ConcurrentCalls int
	// CallTime bounds one call of a power. Default 10 s.
	CallTime time.Duration
	// CallBytes bounds the arguments, and the result, of one call. Default 1,000,000, at least 4096.
	CallBytes int
	// OutputBytes bounds the result of the evaluation as data. Default 10,000,000, at least 4096.
	OutputBytes int
	// ValueDepth and ValueNodes bound every value that crosses: how deep it nests, and of how many parts it is.
	// Defaults 32 (at least 4) and 10000 (at least 16).
	ValueDepth, ValueNodes int
	// ConsoleEntries and ConsoleEntryBytes bound what the console keeps: how many entries, and how long one is.
	// Defaults 1000 (at least 1) and 8192 (at least 32).
	ConsoleEntries, ConsoleEntryBytes int
}

// limit is one row of the table of limits: what it is called, where it is, and between which bounds. Values are in the
// unit of the field; durations are in nanoseconds.
type limit struct {
	name                  string
	get                   func(*Limits) int64
	set                   func(*Limits, int64)
	standard, least, most int64
	why                   string
}

// maxInt bounds what has no other bound, so that sums of limits cannot overflow.
const maxInt = 1 << 40

// limitTable is every limit there is. The reason of each number is in its row.
var limitTable = []limit{
	{"limits.time", func(l *Limits) int64 { return int64(l.Time) }, func(l *Limits, v int64) { l.Time = time.Duration(v) },
		int64(30 * time.Second), int64(time.Millisecond), int64(24 * time.Hour), "30 s is what the tool's callers are told"},
	{"limits.memory_bytes", func(l *Limits) int64 { return l.MemoryBytes }, func(l *Limits, v int64) { l.MemoryBytes = v },
		0, 1 << 20, 4 << 30, "an engine of its own choice; four gigabytes is all that 32-bit guest memory has"},
	{"limits.stack_depth", func(l *Limits) int64 { return int64(l.StackDepth) }, func(l *Limits, v int64) { l.StackDepth = int(v) },
		1000, 16, 1000, "at 1000 a stop unwinds at once; without a bound it took 14.8 s"},
	{"limits.source_bytes", func(l *Limits) int64 { return int64(l.SourceBytes) }, func(l *Limits, v int64) { l.SourceBytes = int(v) },
		256 << 10, 1, 16 << 20, "no program a model writes comes near; parsers are slow on hostile text"},
	{"limits.host_calls", func(l *Limits) int64 { return int64(l.HostCalls) }, func(l *Limits, v int64) { l.HostCalls = int(v) },
		1000, 1, maxInt, "each call is logged, so the log is bounded by this"},
	{"limits.concurrent_calls", func(l *Limits) int64 { return int64(l.ConcurrentCalls) }, func(l *Limits, v int64) { l.ConcurrentCalls = int(v) },
		8, 1, 1024, "each is a goroutine of the host"},
	{"limits.call_time", func(l *Limits) int64 { return int64(l.CallTime) }, func(l *Limits, v int64) { l.CallTime = time.Duration(v) },
		int64(10 * time.Second), int64(time.Millisecond), int64(24 * time.Hour), "a power that hangs must not take the whole evaluation"},
	{"limits.call_bytes", func(l *Limits) int64 { return int64(l.CallBytes) }, func(l *Limits, v int64) { l.CallBytes = int(v) },
		1_000_000, 4096, 1 << 30, "the host's copies are outside any memory limit of the guest"},
	{"limits.output_bytes", func(l *Limits) int64 { return int64(l.OutputBytes) }, func(l *Limits, v int64) { l.OutputBytes = int(v) },
		10_000_000, 4096, 1 << 30, "as call_bytes, for the result"},
	{"limits.value_depth", func(l *Limits) int64 { return int64(l.ValueDepth) }, func(l *Limits, v int64) { l.ValueDepth = int(v) },
		32, 4, 512, "values are walked by recursion on the host's stack"},
	{"limits.value_nodes", func(l *Limits) int64 { return int64(l.ValueNodes) }, func(l *Limits, v int64) { l.ValueNodes = int(v) },
		10_000, 16, 10_000_000, "a node costs the host far more than the guest"},
	{"limits.console_entries", func(l *Limits) int64 { return int64(l.ConsoleEntries) }, func(l *Limits, v int64) { l.ConsoleEntries = int(v) },
		1000, 1, 1_000_000, "a loop that logs must not fill the host"},
	{"limits.console_entry_bytes", func(l *Limits) int64 { return int64(l.ConsoleEntryBytes) }, func(l *Limits, v int64) { l.ConsoleEntryBytes = int(v) },
		8192, 32, 1 << 20, "as console_entries, for one line"},
}

// Resolve returns l with its zero fields filled in, or an *Error (CodeConfig) for the first field that is out of its
// bounds. Engines call it in Open.
func (l Limits) Resolve() (Limits, error) {
	for _, row := range limitTable {
		v := row.get(&l)
		if v == 0 {
			row.set(&l, row.standard)
			continue
		}
		if v < row.least || v > row.most {
			return Limits{}, &Error{Code: CodeConfig, Field: row.name, Value: row.text(v),
				Bound: fmt.Sprintf("%s to %s", row.text(row.least), row.text(row.most))}
		}
	}
	return l, nil
}

// text writes a value of this limit in its own unit.
func (r limit) text(v int64) string {
	if r.name == "limits.time" || r.name == "limits.call_time" {
		return time.Duration(v).String()
	}
	return fmt.Sprint(v)
}
