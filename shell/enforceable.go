package shell

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/policy"
)

// enforceable refuses what the policy language can say and this boundary cannot keep yet. Nothing is dropped silently
// (R65).
func enforceable(p policy.Policy, rules *policy.Rules) error {
	refuse := func(what string, hints ...string) error {
		return &Error{Code: CodeUnsupportedEnv, Detail: what, Hints: hints}
	}
	if err := checkSockets(p); err != nil {
		return err
	}
	for _, e := range rules.Entries() {
		if err := checkPlace(e); err != nil {
			return err
		}
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

// checkPlace refuses entries for places that are the same for every command, whatever a policy says.
func checkPlace(e policy.Entry) error {
	refuse := func(why string, hints ...string) error {
		return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("filesystem.%s[%d]: %s %s", e.List, e.Index, e.Given, why), Hints: hints}
	}
	write := e.Allow && e.Axis == policy.AxisWrite
	switch {
	case write && isDefaultDevice(e.Real):
		return nil
	case write && e.Real == "/":
		return refuse("is the whole file system", "name the directories that are to be written")
	case write && below(e.Real, "/sys"):
		return refuse("is a control of the kernel, which no command may write")
	case below(e.Real, "/proc"), below(e.Real, "/dev") && !below(e.Real, "/dev/shm"):
		return refuse("can neither be shown nor denied: every command has a " + topDir(e.Real) + " of its own")
	}
	return nil
}

func topDir(path string) string {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + top
}

// isDefaultDevice: naming one of the always writable devices changes nothing.
func isDefaultDevice(path string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}, path)
}

// below says whether path is dir or lies below it.
func below(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
