package shell

import (
	"errors"
	iofs "io/fs"
	"path/filepath"
	"slices"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// privateDirs are the directories of which every command has its own: what the host has there is not seen unless the
// policy names it. Where one is a symbolic link, as /var/tmp is on some systems, so is what it leads to.
func privateDirs() []policy.PrivateDir {
	dirs := slices.Clone(usualPrivateDirs)
	for _, d := range usualPrivateDirs {
		real, err := filepath.EvalSymlinks(d.Path)
		if err != nil || slices.ContainsFunc(dirs, func(have policy.PrivateDir) bool { return have.Path == real }) {
			continue
		}
		d.Path = real
		dirs = append(dirs, d)
	}
	return dirs
}

var usualPrivateDirs = []policy.PrivateDir{
	{Path: "/tmp", Writable: true, Why: "every command has a /tmp of its own, gone when it ends"},
	{Path: "/var/tmp", Writable: true, Why: "every command has a /var/tmp of its own, gone when it ends"},
	{Path: "/dev", Why: "every command has a /dev of its own, with null, zero, full, random, urandom, tty and pts"},
	{Path: "/dev/shm", Writable: true, Why: "every command has shared memory of its own"},
	{Path: "/proc", Why: "every command has a /proc of its own, read-only, that shows its own processes"},
}

// Compile gives the rules that [Open] would enforce for p on this machine, without opening anything: for explaining a
// policy. Symbolic links in the paths of the policy are resolved now. Errors are *Error with [CodeInvalidConfig].
func Compile(p policy.Policy) (*policy.Rules, error) {
	rules, _, err := compileHere(p)
	return rules, err
}

// compileHere is Compile, and tells what each path of the policy led to: the first process of a jail compiles the same
// rules from that, without looking anything up.
func compileHere(p policy.Policy) (*policy.Rules, []jail.Resolved, error) {
	var seen []jail.Resolved
	known := map[string]bool{}
	resolve := func(path string) (string, error) {
		real, err := filepath.EvalSymlinks(path)
		if !known[path] {
			known[path] = true
			seen = append(seen, resolved(path, real, err))
		}
		return real, err
	}
	rules, err := p.Compile(policy.CompileOptions{Resolve: resolve, Private: privateDirs()})
	if err != nil {
		return nil, nil, invalid("policy", err)
	}
	return rules, seen, nil
}

func resolved(path, real string, err error) jail.Resolved {
	r := jail.Resolved{Path: []byte(path), Real: []byte(real)}
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		r.Absent = true
	case err != nil:
		r.Unknown = err.Error()
	}
	return r
}

// Check tells whether Open could enforce p at all, without opening anything: a valid policy can ask for what this
// boundary does not do. Errors are *Error with CodeInvalidConfig or CodeUnsupportedEnv. What depends on the machine, such
// as a layer that cannot be put up, only Open can tell.
func Check(p policy.Policy) error {
	rules, err := Compile(p)
	if err != nil {
		return err
	}
	return enforceable(p, rules)
}

// invalid makes the error for a configuration that can never work.
func invalid(what string, err error, hints ...string) *Error {
	return &Error{Code: CodeInvalidConfig, Detail: what, Err: err, Hints: hints}
}
