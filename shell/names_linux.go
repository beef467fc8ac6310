package shell

import (
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sallyport/shell/internal/jail"
)

// Mandatory names are decided where they are used, by the jail's first process: nothing has to be searched for them. What
// a name alone cannot tell is looked for here, when the sandbox is opened: where a link with such a name leads, where a
// file ".git" does, what a git configuration includes, and whether a file has a second name. What exists of the names
// themselves and is come across is mounted read-only besides: a second layer, which fails for other reasons. The search is
// bounded, so that opening a sandbox does not take longer in a larger tree.

// maxScan and maxDepth bound the search in one writable root: a few milliseconds' worth. The reference looks as deep.
const (
	maxScan  = 2000
	maxDepth = 3
)

// maxLocked bounds the mounts of the second layer: each costs every jail some ten microseconds, and a directory of packages
// can hold thousands of such names.
const maxLocked = 64

// maxPath bounds what is read as one path out of a file of git's.
const maxPath = 4096

// nameReport is what was found, and what names do not cover.
type nameReport struct {
	searched bool
	paths    []string // what to protect
	absent   []string // what is not there yet and may not be made
	locked   []string // mandatory names that exist, to be mounted read-only
	found    int      // how many there were to lock
	dangling []string // mandatory names that are links to nothing
	hard     []string // protected files with another hard link, by which they could be written
	cut      []string // writable roots that hold more than was looked at
}

// addNames protects what the search finds. It happens once, when the sandbox is opened, and not for every command.
func (m *mountPlanner) addNames() {
	if !m.names.searched {
		m.names.searched = true
		for _, root := range m.roots {
			for dir := filepath.Dir(root); dir != "/"; dir = filepath.Dir(dir) { // git looks upwards for its directory
				m.follow(filepath.Join(dir, ".git"))
			}
			m.scan(root)
		}
	}
	for _, path := range m.names.paths {
		m.guard(path, "a file that a program outside runs or obeys leads there")
	}
	for _, path := range m.names.absent {
		if m.writableRootOf(path) != "" {
			m.guarded = append(m.guarded, jail.Guarded{Path: []byte(path), Why: "a git configuration names it, and git would run or obey it"})
		}
	}
	for _, path := range m.names.locked {
		for _, name := range append(m.table.aliases(path), path) {
			m.lock(name)
		}
	}
}

// lock mounts a mandatory name read-only where it exists, and pins those directories above it that may not be moved
// anyway (".git" of ".git/hooks"): so this layer takes nothing away that the names leave.
func (m *mountPlanner) lock(path string) {
	if m.writableRootOf(path) == "" {
		return
	}
	if _, err := os.Lstat(path); err != nil {
		return // gone since it was found: nothing is left to protect
	}
	m.readOnly(path)
	for dir := filepath.Dir(path); m.writableRootOf(dir) != ""; dir = filepath.Dir(dir) {
		if _, kept := m.rules.MandatoryComponent(dir); !kept {
			return
		}
		m.add(jail.Pin, dir)
	}
}

func (m *mountPlanner) scan(root string) {
	left := maxScan
	_ = filepath.WalkDir(root, func(path string, d iofs.DirEntry, err error) error {
		if err != nil || path == root {
			return nil // what cannot be looked at is decided by its name all the same
		}
		if left--; left < 0 {
			m.names.cut = append(m.names.cut, root)
			return iofs.SkipAll
		}
		return m.visit(root, path, d)
	})
}

func (m *mountPlanner) visit(root, path string, d iofs.DirEntry) error {
	if d.IsDir() && m.skipped(path) {
		return iofs.SkipDir
	}
	if strings.EqualFold(d.Name(), ".git") {
		m.follow(path)
	}
	rel := strings.TrimPrefix(path, strings.TrimSuffix(root, "/")+"/")
	if d.Type()&iofs.ModeSymlink != 0 || strings.EqualFold(d.Name(), ".git") && d.Type().IsRegular() {
		m.visitDetour(root, rel, path)
	}
	if isWorktreeLink(rel) {
		m.names.paths = append(m.names.paths, path)
	}
	if _, ok := m.rules.MandatoryAt(root, rel); ok {
		m.visitName(root, rel, path, d)
	}
	if d.IsDir() && strings.Count(rel, "/") >= maxDepth {
		return iofs.SkipDir
	}
	return nil
}

// visitName notes a mandatory name that exists. What lies below one needs no mount of its own.
func (m *mountPlanner) visitName(root, rel, path string, d iofs.DirEntry) {
	if _, inside := m.rules.MandatoryAt(root, filepath.Dir(rel)); !inside {
		if m.names.found++; m.names.found <= maxLocked {
			m.names.locked = append(m.names.locked, path)
		}
	}
	if d.Type().IsRegular() && hardLinks(path) > 1 {
		m.names.hard = append(m.names.hard, path)
	}
}

// follow notes what a git directory leads to.
func (m *mountPlanner) follow(dotGit string) {
	found, absent := gitConfigs(dotGit)
	m.names.paths = append(m.names.paths, found...)
	m.names.absent = append(m.names.absent, absent...)
}

// guard protects a path inside a writable root, by name and by a mount.
func (m *mountPlanner) guard(path, why string) {
	if m.writableRootOf(path) == "" {
		return
	}
	m.protectAll(path)
	m.guarded = append(m.guarded, jail.Guarded{Path: []byte(path), Why: why})
}

// visitDetour looks at what takes the place of a directory with mandatory names in it: a symbolic link (".git" to a
// directory elsewhere), or the file ".git" of a worktree. The link or file is protected, and so are the names where it
// leads.
func (m *mountPlanner) visitDetour(root, rel, path string) {
	target, err := filepath.EvalSymlinks(path)
	links := linksOn(path) // the link itself, and any that it leads through
	if _, mandatory := m.rules.MandatoryAt(root, rel); mandatory {
		if err != nil {
			m.names.dangling = append(m.names.dangling, path)
			return
		}
		m.names.paths = append(append(m.names.paths, target), links...) // writing to the link goes there
		return
	}
	if err != nil {
		return
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		m.names.paths = append(m.names.paths, path) // rewritten, it would lead git to a directory of the command's
		if target = gitDir(path); target == "" {
			return
		}
	}
	for _, inside := range []string{"hooks", "config", "config.worktree", "info/attributes", "commands", "agents", "settings.json", "settings.local.json", "fish"} {
		_, mandatory := m.rules.MandatoryAt(root, rel+"/"+inside)
		real := filepath.Join(target, inside)
		if _, err := os.Lstat(real); mandatory && err == nil {
			m.names.paths = append(append(m.names.paths, real, path), links...)
		}
	}
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

// skipped are directories in which nothing of the host's is shown writable.
func (m *mountPlanner) skipped(path string) bool {
	hidden := path == "/sys"
	for _, op := range m.ops {
		at := string(op.Path)
		switch {
		case at == path && (op.Kind == jail.Proc || op.Kind == jail.Dev || op.Kind == jail.Tmp || op.Kind == jail.Cover):
			hidden = true
		case op.Kind == jail.Writable && below(at, path):
			return false // allowed back inside
		}
	}
	return hidden
}
