package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sallyport/compartment"
)

// What must hold beside an attack's own rule.
const (
	// memoryCap is the guest's memory, on an engine that promises one.
	memoryCap = 32 << 20
	// memoryBase is what the host may take besides, for its copies of what crosses. They came to 96 MB of 64.
	memoryBase = 96 << 20
	// tolerance is how long after its limit an evaluation may still be on its way.
	tolerance = 250 * time.Millisecond * raceFactor
	// tries is how often what was too late is tried: a limit that does not hold is late every time, a busy machine is not.
	tries = 5
)

// verdict is what became of one attack.
type verdict struct {
	ID     string   `json:"id"`
	Word   string   `json:"word"`
	Kind   string   `json:"kind"`
	LateMS int64    `json:"late_ms"` // after the limit, when it was met
	Wrong  []string `json:"wrong"`
	Died   string   `json:"-"` // how the process ended, when it did
}

// stage is where attacks run: an engine, and how it answers while nothing was done to it.
type stage struct {
	engine compartment.Engine
	clean  string
	status *os.File // /proc/self/status; opened before any attack, so that a run under strace shows no file
	clear  *os.File
}

// probe is a look around. What it gives must not change, whatever ran in other compartments before.
const probe = `[Object.getOwnPropertyNames(globalThis).sort().join(), Object.getOwnPropertyNames(Object.prototype).sort().join(),
  Object.getOwnPropertyNames(Array.prototype).sort().join(), [3, 1, 2].sort().map((x) => x * 2).join(), JSON.stringify({ a: [1] }),
  typeof leak, 'a'.toUpperCase(), String(new Date(0)), Object.isFrozen(Object.prototype), [...new Set([1, 1])].length,
  typeof readFile.note, readFile('ok.txt'), /a(b)/.exec('ab')[1], await (async () => 'later')()]`

func newStage(e compartment.Engine) (*stage, error) {
	s := &stage{engine: e}
	var err error
	if s.clean, err = s.look(); err != nil {
		return nil, err
	}
	if again, err := s.look(); err != nil || again != s.clean {
		return nil, fmt.Errorf("two clean compartments differ: %s %s %w", s.clean, again, err)
	}
	if s.status, err = os.Open("/proc/self/status"); err == nil {
		s.clear, _ = os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0)
	}
	return s, nil
}

// look is how a compartment of its own answers the probe.
func (s *stage) look() (string, error) {
	c, err := s.engine.Open(context.Background(), compartment.Config{Powers: newWorld().powers("readFile")})
	if err != nil {
		return "", err
	}
	defer c.Close()
	o, err := c.Evaluate(context.Background(), probe)
	if err != nil || o.Status != compartment.StatusOK {
		return "", fmt.Errorf("the probe: %s %+v %w", o.Kind, o.Value, err)
	}
	return string(o.Data), nil
}

// run runs one attack. One that was too late is run again.
func (s *stage) run(a attack) verdict {
	var v verdict
	for range tries {
		if v = s.once(a); v.LateMS <= tolerance.Milliseconds() {
			return v
		}
	}
	v.Wrong = append(v.Wrong, fmt.Sprintf("was %d ms over its limit of %v, %d times", v.LateMS, a.limit(), tries))
	return v
}

func (s *stage) once(a attack) (v verdict) {
	v.ID = a.ID
	complain := func(err error) { v.Wrong = append(v.Wrong, err.Error()) }
	w := newWorld()
	config := compartment.Config{Powers: w.powers(a.needs()), Limits: compartment.Limits{Time: a.limit()}}
	if s.engine.Promises().Memory {
		config.Limits.MemoryBytes = memoryCap
	}
	c, err := s.engine.Open(context.Background(), config)
	if err == nil {
		defer func() { c.Close() }()
		err = prepare(c, a)
	}
	if err != nil {
		complain(err)
		return v
	}
	before := s.resetPeak()
	begun := time.Now()
	first, err := c.Evaluate(context.Background(), a.Code)
	v.LateMS = max(0, (time.Since(begun) - a.limit()).Milliseconds())
	if err != nil {
		complain(err)
		return v
	}
	v.Word, v.Kind = word(first), string(first.Kind)
	v.Wrong = append(v.Wrong, a.check(first)...)
	v.Wrong = append(v.Wrong, s.sound(a, first, before)...)
	v.Wrong = append(v.Wrong, w.logged(first)...)
	if a.Then != "" {
		if a.RevokeBetween != nil {
			w.revoked.Store(true)
		}
		v.Wrong = append(v.Wrong, s.then(a, c, config, first)...)
	}
	if now, err := s.look(); err != nil || now != s.clean {
		complain(fmt.Errorf("another compartment then answers %s (%v)", now, err))
	}
	return v
}

// prepare gives the guest its shims.
func prepare(c compartment.Compartment, a attack) error {
	for name, source := range shims {
		if strings.Contains(a.Requires, name) {
			if o, err := c.Evaluate(context.Background(), source); err != nil || o.Status != compartment.StatusOK {
				return fmt.Errorf("%s: %s %w", name, o.Kind, err)
			}
		}
	}
	return nil
}

// then runs the second program.
func (s *stage) then(a attack, c compartment.Compartment, config compartment.Config, first compartment.Outcome) []string {
	if a.Where == "other" {
		other, err := s.engine.Open(context.Background(), config)
		if err != nil {
			return []string{err.Error()}
		}
		defer other.Close()
		c = other
	}
	o, err := c.Evaluate(context.Background(), a.Then)
	var typed *compartment.Error
	if err != nil && !errors.As(err, &typed) {
		return []string{fmt.Sprintf("an error of no kind: %v", err)}
	}
	return a.checkThen(first, o, err)
}

// hostWords are what no guest may see of the host. An attack that has such a word in its own text is looked at without it.
var hostWords = regexp.MustCompile(`goroutine|wazero|wasm\[|0x[0-9a-f]{6}|\.go\b|sallyport/|hunter2|reflect\.|/(home|root|tmp|usr|srv|proc)/`)

// sound checks what an outcome says: that it is text, inside its limits, and of the guest alone.
func (s *stage) sound(a attack, o compartment.Outcome, before int64) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	said, err := json.Marshal(o)
	if err != nil || !utf8.Valid(said) {
		complain("the outcome is not text: %v", err)
	}
	for _, found := range hostWords.FindAllString(string(said), -1) {
		if !strings.Contains(a.Code, found) {
			complain("says %q, which is of the host", found)
		}
	}
	if i := bytes.IndexFunc(said, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2066' || r >= 0xe0000 && r < 0xe0080
	}); i >= 0 {
		complain("has a character that steers a terminal or a reader, at %d", i)
	}
	l, _ := compartment.Limits{}.Resolve()
	if len(o.Data) > l.OutputBytes || len(o.Value.Text) > 17<<10 || len(o.Console.Entries) > l.ConsoleEntries {
		complain("is larger than it may be: %d data, %d text, %d entries", len(o.Data), len(o.Value.Text), len(o.Console.Entries))
	}
	for _, e := range o.Console.Entries {
		if len(e.Text) > l.ConsoleEntryBytes+100 {
			complain("has a console entry of %d bytes", len(e.Text))
		}
	}
	if p := o.Used.PeakBytes; p != nil && (p.Limit != memoryCap || p.Used > p.Limit) {
		complain("took %d of %d bytes", p.Used, p.Limit)
	}
	if grown := s.peak() - before; s.engine.Promises().Memory && before > 0 && grown > memoryCap+memoryBase {
		complain("the process grew by %d MB", grown>>20)
	}
	return wrong
}

// logged compares the calls that reached the host with those in the outcome.
func (w *world) logged(o compartment.Outcome) []string {
	listed := map[string]int{}
	for _, e := range append(o.Effects.Done, o.Effects.Unknown...) {
		listed[e.Power]++
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var wrong []string
	for name, made := range w.calls {
		if name != "hostItem" && made > listed[name] || o.Status == compartment.StatusOK && made != listed[name] {
			wrong = append(wrong, fmt.Sprintf("%s was called %d times, and %d are listed", name, made, listed[name]))
		}
	}
	return wrong
}

// resetPeak makes the kernel forget how large the process was, and says how large it is. 0 where the kernel does not tell.
func (s *stage) resetPeak() int64 {
	if s.clear == nil {
		return 0
	}
	if _, err := s.clear.WriteAt([]byte("5"), 0); err != nil {
		return 0
	}
	return s.field("VmRSS:")
}

func (s *stage) peak() int64 { return s.field("VmHWM:") }

// field reads a size from the status of the process.
func (s *stage) field(name string) int64 {
	b := make([]byte, 4096)
	n, _ := s.status.ReadAt(b, 0)
	_, rest, found := strings.Cut(string(b[:n]), name)
	if parts := strings.Fields(rest); found && len(parts) > 0 {
		kb, _ := strconv.ParseInt(parts[0], 10, 64)
		return kb << 10
	}
	return 0
}
