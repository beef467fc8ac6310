package shell

import (
	"os"
	"path/filepath"
	"syscall"

	"sallyport/policy"
	"sallyport/shell/internal/jail"
)

// Names are decided where they are used, by the jail's first process: nothing is searched, and the cost of opening a
// sandbox does not grow with the tree. What a name alone cannot tell is looked at here, at the top of each writable root:
// where a mandatory name that is a link leads, and whether a file has a second name.

// nameReport is what names do not cover.
type nameReport struct {
	hard []string // protected files with another hard link, by which they could be written
}

// addNames looks at the mandatory names at the top of every writable root.
func (m *mountPlanner) addNames() {
	m.names.hard = nil
	for _, root := range m.rules.WritableRoots() {
		for _, name := range policy.Mandatories() {
			if path := filepath.Join(root, name.Name); !m.rules.Write(path).Allowed {
				m.addName(path, name)
			}
		}
		m.addGitFile(filepath.Join(root, ".git"))
	}
}

// addName protects what a mandatory name leads to when that is elsewhere: writing there is writing it.
func (m *mountPlanner) addName(path string, name policy.Mandatory) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && hardLinks(path) > 1 {
		m.names.hard = append(m.names.hard, path)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		m.guard(target, path+" leads there: "+name.Why)
	}
}

// addGitFile protects the file ".git" of a worktree or submodule: rewritten, it would lead git to a directory of the
// command's. Where it leads, hooks and config are protected for what stands around them.
func (m *mountPlanner) addGitFile(path string) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && m.rules.Write(path).Allowed {
		m.guard(path, "it tells git where the hooks and the configuration of this worktree are")
	}
}

// guard protects a path inside a writable root, by name and by a mount.
func (m *mountPlanner) guard(path, why string) {
	if m.writableRootOf(path) == "" {
		return
	}
	m.protectAll(path)
	m.guarded = append(m.guarded, jail.Guarded{Path: []byte(path), Why: why})
}

func hardLinks(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return uint64(info.Sys().(*syscall.Stat_t).Nlink)
}

// addProgram protects the program that starts the jails where a command could replace it: the next jail's first
// process would be the command's own, and outside of everything.
func (m *mountPlanner) addProgram(helper string) {
	programs := []string{helper}
	if self, err := os.Executable(); err == nil {
		programs = append(programs, self)
	}
	for _, p := range programs {
		if real, err := filepath.EvalSymlinks(p); err == nil && p != "" {
			m.guard(real, "it is the program that starts jails")
		}
	}
}
