package shell

import (
	"fmt"
	"strings"
)

// Confinement is how this process is confined by whoever started it. None of it can be taken off again, so nothing here
// tries to. It goes on holding for every command, below what the command's own jail adds.
type Confinement struct {
	// Seccomp is the mode: 0 for none, 1 strict, 2 filtered.
	Seccomp int
	// NoNewPrivs: no program that is executed gains privileges.
	NoNewPrivs bool
	// UserNamespace: the process is in a user namespace that is not the machine's first.
	UserNamespace bool
	// Landlock is how many domains enclose the process, and -1 when that cannot be found out.
	Landlock int
}

// Confined says whether anything was found.
func (c Confinement) Confined() bool {
	return c.Seccomp > 0 || c.NoNewPrivs || c.UserNamespace || c.Landlock > 0
}

// String lists what was found.
func (c Confinement) String() string {
	var found []string
	if c.Seccomp > 0 {
		found = append(found, fmt.Sprintf("seccomp mode %d", c.Seccomp))
	}
	if c.NoNewPrivs {
		found = append(found, "no_new_privs")
	}
	if c.UserNamespace {
		found = append(found, "a user namespace")
	}
	switch {
	case c.Landlock > 0:
		found = append(found, fmt.Sprintf("%d Landlock domains", c.Landlock))
	case c.Landlock < 0:
		found = append(found, "Landlock unknown")
	}
	if len(found) == 0 {
		return "not confined"
	}
	return strings.Join(found, ", ")
}
