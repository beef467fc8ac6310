package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sallyport/policy"
	"sallyport/shell"
)

// guardPolicyFile refuses a policy file that the policy itself lets be written: the confined command would write the
// policy of the next run. With every rule about files switched off there is nothing left to protect.
func guardPolicyFile(file string, r *request) error {
	if file == "" || r.policy.Filesystem.Disabled {
		return nil
	}
	given, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("%q: %w", file, err)
	}
	for _, root := range r.rules.WritableRoots() {
		if passesThrough(root, given) {
			return &trouble{
				text: fmt.Sprintf("policy file %q lies inside %q, which it lets be written", file, root),
				hint: "move the file out of every allowWrite directory",
			}
		}
	}
	return nil
}

// guardLink refuses the name of a file we are to write when it leads out of a writable directory through a link: an
// earlier command could have put the link there, and we would write through it with the caller's own rights.
func guardLink(name string, rules *policy.Rules) error {
	given, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	for _, root := range rules.WritableRoots() {
		if !passesThrough(root, given) {
			continue
		}
		real, err := realPath(given)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if !isBelow(root, real) {
			return &trouble{
				text: fmt.Sprintf("%q leads to %q, out of the writable %q", name, real, root),
				hint: "a confined command can have made that link; name a file outside the writable directories",
			}
		}
	}
	return nil
}

// passesThrough says whether a path, or any directory on the way to it, is in root, by its name or by what it leads to.
func passesThrough(root, path string) bool {
	for p := path; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if isBelow(root, p) || err == nil && isBelow(root, real) {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}

// realPath follows the links of an absolute path, of which a last part may not exist yet. A link that leads nowhere is
// an error: writing to it would make the file that it names.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) || filepath.Dir(path) == path {
		return real, err
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return "", errors.New("it is a link that leads nowhere")
	}
	dir, err := realPath(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// isBelow says whether path is dir or lies in it. Both are absolute and clean.
func isBelow(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// showHere makes the current directory readable when it lies in a directory that every command gets a fresh one of
// (/tmp and the like) and the policy does not deny it: "cd /tmp/x && sallyport run -- ls" must show x. It leaves /tmp
// itself alone: showing the host's would take the command's own away.
func (r *request) showHere() error {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return fmt.Errorf("the current directory: %w", err)
	}
	return r.show(here, "the current directory")
}

// show does that for a directory by its real path; what says which one it is.
func (r *request) show(dir, what string) (err error) {
	private, ok := r.rules.PrivateAt(dir)
	if !ok || !private.Writable || dir == private.Path || r.denies(dir) {
		return nil
	}
	r.policy.Filesystem.AllowRead = append(r.policy.Filesystem.AllowRead, policy.PathEntry{Path: dir})
	r.notes = append(r.notes, fmt.Sprintf("%s may be read although it is in %s: %s", what, private.Path, dir))
	if r.rules, err = shell.Compile(r.policy); err != nil {
		return &trouble{
			text: fmt.Sprintf("%s %q cannot be named in a policy", what, dir), err: err,
			hint: "start from another directory, or name one",
		}
	}
	return nil
}

// denies says whether the policy itself takes reading a directory away. An allowRead entry of the same path would undo
// that; a denied pattern holds against it anyway.
func (r *request) denies(dir string) bool {
	for _, e := range r.rules.Entries() {
		if e.List == "denyRead" && !e.Glob && isBelow(e.Base, dir) {
			return true
		}
	}
	return false
}
