package shell

import (
	"path/filepath"
	"slices"

	"sallyport/policy"
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
	rules, err := p.Compile(policy.CompileOptions{
		Resolve: filepath.EvalSymlinks,
		Private: privateDirs(),
	})
	if err != nil {
		return nil, invalid("policy", err)
	}
	return rules, nil
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
