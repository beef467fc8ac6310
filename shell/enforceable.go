package shell

import (
	"fmt"

	"sallyport/policy"
)

// enforceable refuses what the policy language can say and this boundary cannot keep yet. Nothing is dropped silently
// (R65).
func enforceable(p policy.Policy, rules *policy.Rules) error {
	for _, e := range rules.Entries() {
		if e.Allow && e.Axis == policy.AxisWrite && e.Real == "/" {
			return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("filesystem.%s[%d]: %s is the whole file system", e.List, e.Index, e.Given),
				Hints: []string{"name the directories that are to be written"}}
		}
	}
	refuse := func(what string, hints ...string) error {
		return &Error{Code: CodeUnsupportedEnv, Detail: what, Hints: hints}
	}
	if len(p.Network.AllowedDomains) > 0 {
		return refuse("network.allowedDomains: a list of hosts cannot be enforced yet",
			`leave it empty for no network, or set "disabled": true for the host's whole network`)
	}
	if len(p.Network.AllowUnixSockets) > 0 {
		return refuse("network.allowUnixSockets: grants of path sockets cannot be enforced yet", "leave it empty")
	}
	for _, e := range rules.Entries() {
		if why, hint := unenforceable(e); why != "" && !p.Filesystem.Disabled {
			return refuse(fmt.Sprintf("filesystem.%s[%d]: the pattern %q %s", e.List, e.Index, e.Given, why), hint)
		}
	}
	return nil
}

// unenforceable says why a pattern cannot be enforced, or "".
func unenforceable(e policy.Entry) (why, hint string) {
	switch {
	case e.Undecidable:
		return "means nothing", "correct the pattern"
	case !e.Glob || !e.Allow:
		return "", ""
	case e.List == "allowWrite" && e.Base != "/":
		return "", ""
	case e.List == "allowWrite":
		return "would have the whole of / shown writable", "begin it with the directory that it is about"
	}
	return "cannot be enforced yet: what is denied around it is not to be seen at all", "name the paths one by one; a directory covers everything below it"
}
