package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Axis is what a rule is about.
type Axis int

// The three axes.
const (
	AxisRead Axis = iota
	AxisWrite
	AxisConnect
)

// String is "read", "write" or "connect".
func (a Axis) String() string {
	switch a {
	case AxisRead:
		return "read"
	case AxisWrite:
		return "write"
	case AxisConnect:
		return "connect"
	}
	return "axis " + strconv.Itoa(int(a))
}

// MarshalText is String.
func (a Axis) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Rule.List is the JSON key of a list of the policy, or one of these.
const (
	ListDefault   = "default"   // no entry decided: reads are allowed, writes and hosts are not
	ListMandatory = "mandatory" // a name that stays read-only inside every writable directory (R49)
	ListPrivate   = "private"   // a directory that every command has of its own
	ListDisabled  = "disabled"  // the section is switched off (R38, R40)
	ListInvalid   = "invalid"   // not a path or a host at all
)

// Rule is what decided.
type Rule struct {
	// List is a key of the policy ("denyRead") or one of the List constants.
	List string `json:"list"`
	// Entry is the entry as the policy spells it, the mandatory name, or the private directory. Empty for defaults.
	Entry string `json:"entry,omitempty"`
	// Index is the entry's place in its list, from 0, or -1 when no list of the policy decided.
	Index int `json:"index"`
	// Why is the reason on record: of a mandatory name, a private directory, a denied domain.
	Why string `json:"why,omitempty"`
}

// Decision is an answer with its grounds. The zero Decision refuses.
type Decision struct {
	Allowed bool `json:"allowed"`
	Axis    Axis `json:"axis"`
	// Path is the path or the canonical "host:port" that was judged.
	Path string `json:"path"`
	Rule Rule   `json:"rule"`
	// Reason is one line a model can act on: "tried to connect to api.example.com:443, which is not on the allow-list".
	Reason string `json:"reason"`
	// Remedy says what would allow it. Empty when it is allowed.
	Remedy string `json:"remedy,omitempty"`
}

func (d Decision) allow(rule Rule) Decision {
	d.Allowed, d.Rule = true, rule
	subject := d.subject()
	switch {
	case rule.Why != "":
		d.Reason = "may " + subject + ": " + rule.Why
	case rule.Entry != "":
		d.Reason = "may " + subject + ": " + rule.List + " " + strconv.Quote(rule.Entry) + " allows it"
	default:
		d.Reason = "may " + subject
	}
	return d
}

// deny takes the clause that follows "tried to read /x, ".
func (d Decision) deny(rule Rule, clause, remedy string) Decision {
	d.Allowed, d.Rule, d.Remedy = false, rule, remedy
	d.Reason = "tried to " + d.subject() + ", " + clause
	return d
}

func (d Decision) subject() string {
	if d.Axis == AxisConnect {
		return "connect to " + show(d.Path)
	}
	return d.Axis.String() + " " + show(d.Path)
}

// show puts a path or host into a sentence: as it is when it is one plain word, else quoted and shortened, so that a
// name made by a hostile program cannot write lines of its own.
func show(s string) string {
	plain := s != "" && len(s) <= maxShown && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || r == '"' || r == '\\' || r == unicode.ReplacementChar
	}) < 0
	if plain {
		return s
	}
	return strconv.Quote(shorten(s))
}

// Platform decides how names are compared. It is an argument and never the running system, so that every platform's
// rules are tested on all of them.
type Platform int

const (
	// Linux: the lists are compared exactly, mandatory names without regard to case (R55, R57).
	Linux Platform = iota
	// Darwin: everything is compared exactly (R53). A volume that ignores case can still resolve another spelling of a
	// mandatory name to a file that the name did not cover (R54).
	Darwin
	// Windows: everything is compared without regard to case (R59). Native Windows is refused by the process boundary,
	// which names WSL2; paths keep their "/".
	Windows
)

// String is "linux", "darwin" or "windows".
func (p Platform) String() string {
	switch p {
	case Linux:
		return "linux"
	case Darwin:
		return "darwin"
	case Windows:
		return "windows"
	}
	return fmt.Sprintf("platform %d", int(p))
}

// MarshalText is String.
func (p Platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// foldsLists says whether ordinary entries ignore case.
func (p Platform) foldsLists() bool { return p == Windows }

// foldsMandatory says whether mandatory names ignore case. Only Darwin is named: what is unknown gets the wider denial.
func (p Platform) foldsMandatory() bool { return p != Darwin }
