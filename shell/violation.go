package shell

import (
	"strings"
	"time"
	"unicode"

	"sallyport/policy"
)

// Violation is one thing a command was denied. It is written by the host and the jail's first process only: nothing a
// command prints or sends can add one. In JSON its fields are those of the program's contract.
type Violation struct {
	Time time.Time `json:"time"`
	// ID is that of the command.
	ID string `json:"id"`
	// PID is the process as the jail numbers it, and Program the path of what it runs.
	PID     int    `json:"pid"`
	Program string `json:"program"`
	// Operation is read, write, create, connect, resolve, unix, exec, syscall or limit.
	Operation string `json:"operation"`
	// Target is the real path, address, call or limit.
	Target string `json:"target"`
	// Errno is the name of the error that the command got.
	Errno string `json:"errno"`
	// Rule names the rule that decided, and Remedy what would allow it; it is empty when nothing would.
	Rule   string `json:"rule"`
	Remedy string `json:"remedy"`
	// Count says how often it happened.
	Count int `json:"count"`

	// Decision is the decision behind it. It has no grounds when a limit was reached or a call is refused to everybody.
	Decision policy.Decision `json:"-"`
}

// Text says it to a model, in one sentence: what was tried, which rule refused it, what would allow it or that nothing
// will, and not to retry. Paths outside of the workspace are not told (R208, R286); a path inside is told as seen from
// there. An empty workspace tells none.
func (v Violation) Text(workspace string) string {
	var b strings.Builder
	if v.Decision.Axis == policy.AxisConnect && v.Operation != "unix" && v.Decision.Reason != "" {
		return v.networkText()
	}
	b.WriteString("denied: tried to " + v.tried(workspace))
	if why := v.grounds(workspace); why != "" {
		b.WriteString(", " + why)
	}
	if how := v.way(workspace); how != "" {
		b.WriteString("; only the user can allow it (" + how + ")")
	} else {
		b.WriteString("; nothing allows it")
	}
	b.WriteString("; do not retry")
	return b.String()
}

// networkText is Text for a host that was refused. Nothing in it is a path.
func (v Violation) networkText() string {
	text := "denied: " + plain(v.Decision.Reason)
	if v.Remedy != "" {
		text += "; only the user can allow it (" + plain(v.Remedy) + ")"
	}
	return text + "; do not retry: this is policy, not a fault, and other flags will not help"
}

// verbs put an operation before its target.
var verbs = map[string]string{
	"read": "read ", "write": "change ", "create": "create ", "connect": "connect to ", "resolve": "resolve ",
	"unix": "use ", "exec": "execute ", "syscall": "call ", "limit": "go beyond the limit on ",
}

func (v Violation) tried(workspace string) string {
	verb := verbs[v.Operation]
	if verb == "" {
		verb = v.Operation + " "
	}
	if v.Operation == "unix" {
		return verb + "a path socket" // the target has the path in it
	}
	if !strings.HasPrefix(v.Target, "/") {
		return verb + plain(v.Target)
	}
	if rel, ok := inside(workspace, v.Target); ok {
		return verb + plain(rel)
	}
	return verb + "a path outside the workspace"
}

// inside gives a path as seen from the workspace.
func inside(workspace, path string) (string, bool) {
	workspace = strings.TrimSuffix(workspace, "/")
	if workspace == "" {
		return "", false
	}
	if path == workspace {
		return ".", true
	}
	rel, ok := strings.CutPrefix(path, workspace+"/")
	return rel, ok
}

func (v Violation) grounds(workspace string) string {
	rule := v.Decision.Rule
	switch rule.List {
	case "":
		return plain(v.Rule)
	case policy.ListMandatory:
		if strings.HasPrefix(rule.Entry, "/") {
			return "which stays as it is: " + plain(rule.Why)
		}
		return "which " + rule.Entry + " protects: " + plain(rule.Why)
	case policy.ListDefault:
		return plain(rule.Why)
	case policy.ListPrivate, policy.ListInvalid, policy.ListDisabled:
		return plain(rule.Why)
	}
	if rel, ok := inside(workspace, rule.Entry); ok {
		return "which " + rule.List + " " + plain(rel) + " denies"
	}
	return "which " + rule.List + " denies"
}

// way is what would allow it, without paths.
func (v Violation) way(workspace string) string {
	rule := v.Decision.Rule
	switch {
	case rule.List == policy.ListMandatory && strings.HasPrefix(rule.Entry, "/"):
		return ""
	case rule.List == policy.ListMandatory && rule.Entry == ".git/config":
		return "filesystem.allowGitConfig"
	case rule.List == policy.ListMandatory:
		return "filesystem.allowMandatory " + rule.Entry
	case rule.List == policy.ListDefault && v.Decision.Remedy != "":
		return "filesystem.allowWrite"
	case strings.HasPrefix(rule.List, "deny"):
		return "filesystem." + rule.List
	case v.Operation == "limit":
		return "a higher limit"
	case v.Operation == "connect":
		return "the network rules"
	case v.Operation == "unix" && v.Decision.Axis == policy.AxisConnect:
		return "network.allowUnixSockets"
	}
	return ""
}

// plain takes out what could break a sentence into lines of its own, or turn it around.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
