package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// journal takes one JSON line an entry from this process and from those it starts as other users.
var (
	journal   *os.File
	journalMu sync.Mutex
)

// entry is one line of the journal.
type entry struct {
	Kind    string // "arm", "test", "skip", "enforced", "note"
	Test    string
	User    string
	Attack  string `json:",omitempty"`
	Arm     string `json:",omitempty"` // "only seccomp", "nothing up", "everything up"
	Outcome string `json:",omitempty"`
	Detail  string `json:",omitempty"`
}

// record appends an entry. One write a line, with O_APPEND: lines of several processes do not mix.
func record(e entry) {
	e.User = whoami()
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // strings alone: cannot happen
	}
	journalMu.Lock()
	defer journalMu.Unlock()
	if _, err := journal.Write(append(b, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, "live: write the journal:", err)
	}
}

func whoami() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return "user"
}

// required says that nothing may be skipped (R308).
func required() bool { return os.Getenv("SALLYPORT_LIVE") == "require" }

// skip ends a test that cannot run here, aloud (R304, R308).
func skip(t *testing.T, reason string) {
	t.Helper()
	record(entry{Kind: "skip", Test: t.Name(), Detail: reason})
	if required() {
		t.Fatalf("cannot run here, and SALLYPORT_LIVE=require forbids to skip it: %s", reason)
	}
	fmt.Fprintf(os.Stderr, "live: SKIPPED %s as %s: %s\n", t.Name(), whoami(), reason)
	t.Skip(reason)
}

// summary is the journal, sorted out.
type summary struct {
	arms, skips, tests, notes []entry
	enforced                  map[string][]string // user → lines
}

func readJournal() (*summary, error) {
	if _, err := journal.Seek(0, 0); err != nil {
		return nil, err
	}
	s := &summary{enforced: map[string][]string{}}
	lines := bufio.NewScanner(journal)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		switch e.Kind {
		case "arm":
			s.arms = append(s.arms, e)
		case "skip":
			s.skips = append(s.skips, e)
		case "test":
			s.tests = append(s.tests, e)
		case "note":
			s.notes = append(s.notes, e)
		case "enforced":
			// Every process of a user writes the same lines.
			if !slices.Contains(s.enforced[e.User], e.Detail) {
				s.enforced[e.User] = append(s.enforced[e.User], e.Detail)
			}
		}
	}
	return s, lines.Err()
}

// reportDir is where the report goes; the default is not under version control.
func reportDir() string {
	if dir := os.Getenv("SALLYPORT_REPORT"); dir != "" {
		return dir
	}
	return "report"
}

// finishReport writes the report and says on standard error what ran (R305-R307).
func finishReport() error {
	s, err := readJournal()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "live: ran %d tests with %d arms of attacks, skipped %d\n", len(s.tests), len(s.arms), len(s.skips))
	if len(s.tests) == 0 {
		return nil // a benchmark, or a pattern that nothing matched: no evidence, so no report
	}
	if err := os.MkdirAll(reportDir(), 0o755); err != nil {
		return err
	}
	name := filepath.Join(reportDir(), "live"+buildName+".txt")
	fmt.Fprintln(os.Stderr, "live: report:", name)
	return os.WriteFile(name, []byte(s.text()), 0o644)
}

func (s *summary) text() string {
	var b strings.Builder
	var u unix.Utsname
	_ = unix.Uname(&u) // fails for a bad pointer only
	fmt.Fprintf(&b, "kernel: %s %s %s\n", unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:]), unix.ByteSliceToString(u.Machine[:]))
	fmt.Fprintf(&b, "go: %s\n", runtime.Version())
	fmt.Fprintf(&b, "landlock: ABI %d\n", landlockABI())
	fmt.Fprintf(&b, "bubblewrap: %s\n", bubblewrapVersion())
	fmt.Fprintf(&b, "arms: %s\n", buildArms)
	fmt.Fprintf(&b, "ran %d tests with %d arms of attacks, skipped %d\n", len(s.tests), len(s.arms), len(s.skips))
	if len(s.tests) == 0 || len(s.skips) > 0 {
		b.WriteString("This run is no evidence for what was skipped.\n")
	}
	for _, user := range sortedKeys(s.enforced) {
		fmt.Fprintf(&b, "\nin force for a command of %s:\n", user)
		for _, line := range s.enforced[user] {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	section(&b, "skipped", s.skips)
	section(&b, "notes", s.notes)
	section(&b, "attacks", s.arms)
	section(&b, "tests", s.tests)
	return b.String()
}

func section(b *strings.Builder, title string, entries []entry) {
	fmt.Fprintf(b, "\n%s (%d):\n", title, len(entries))
	for _, e := range entries {
		fields := []string{e.User, e.Test}
		for _, f := range []string{e.Attack, e.Arm, e.Outcome, e.Detail} {
			if f != "" {
				fields = append(fields, f)
			}
		}
		fmt.Fprintf(b, "  %s\n", strings.Join(fields, " | "))
	}
}

func sortedKeys(m map[string][]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// landlockABI asks the kernel; 0 means that it has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}
