package shell

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sallyport/shell/internal/jail"
)

// maxScan bounds how many entries Open looks at in search of names to protect: about ten seconds' worth.
const maxScan = 4_000_000

// nameReport says which protected names were found, and what is not covered.
type nameReport struct {
	searched bool
	paths    []string // what to protect
	found    int
	absent   []string // denied paths that do not exist
	dangling []string // mandatory names that are links to nothing
	hard     []string // protected files with another hard link, by which they could be written
	roots    int
}

// addNames looks through every writable root for mandatory names that exist and protects them. It happens once, when
// the sandbox is opened, and not for every command: its cost grows with the tree.
func (m *mountPlanner) addNames(ctx context.Context) error {
	if !m.names.searched {
		m.names.searched = true
		left := maxScan
		for _, root := range m.rules.WritableRoots() {
			m.names.roots++
			for dir := filepath.Dir(root); dir != "/"; dir = filepath.Dir(dir) { // git looks upwards for its directory
				m.names.paths = append(m.names.paths, gitConfigs(filepath.Join(dir, ".git"))...)
			}
			if err := m.scan(ctx, root, &left); err != nil {
				return err
			}
		}
	}
	for _, path := range m.names.paths {
		m.protectAll(path)
	}
	return nil
}

func (m *mountPlanner) scan(ctx context.Context, root string, left *int) error {
	return filepath.WalkDir(root, func(path string, d iofs.DirEntry, err error) error {
		if err != nil {
			return m.unreadable(path, d, err)
		}
		if *left--; *left < 0 {
			return &Error{Code: CodeInvalidConfig, Detail: fmt.Sprintf("%s holds more than %d files: too many to look for names to protect", root, maxScan),
				Hints: []string{"name a smaller directory in allowWrite"}}
		}
		if *left%1024 == 0 && ctx.Err() != nil {
			return &Error{Code: CodeFailed, Detail: "look for names to protect in " + root, Err: ctx.Err()}
		}
		if path == root {
			return nil
		}
		return m.visit(root, path, d)
	})
}

func (m *mountPlanner) visit(root, path string, d iofs.DirEntry) error {
	if d.IsDir() && m.skipped(path) {
		return iofs.SkipDir
	}
	if len(path) > maxPath {
		m.names.paths = append(m.names.paths, path)
		return iofs.SkipDir
	}
	if strings.EqualFold(d.Name(), ".git") {
		m.names.paths = append(m.names.paths, gitConfigs(path)...)
	}
	rel := strings.TrimPrefix(path, strings.TrimSuffix(root, "/")+"/")
	if d.Type()&iofs.ModeSymlink != 0 || strings.EqualFold(d.Name(), ".git") && d.Type().IsRegular() {
		m.visitDetour(root, rel, path)
	}
	if isWorktreeLink(rel) {
		m.found(path)
	}
	if _, ok := m.rules.MandatoryAt(root, rel); !ok {
		return nil
	}
	m.found(path)
	switch {
	case d.IsDir():
		return iofs.SkipDir
	case d.Type().IsRegular() && hardLinks(path) > 1:
		m.names.hard = append(m.names.hard, path)
	}
	return nil
}

// maxPath is the longest path in which a name is still looked for: what lies deeper in a tree is made read-only whole.
// The kernel takes 4,095 bytes, and a component can have 255.
const maxPath = 3500

func (m *mountPlanner) found(path string) {
	m.names.found++
	m.names.paths = append(m.names.paths, path)
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
			m.found(real)
			m.names.paths = append(append(m.names.paths, path), links...)
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
			m.protect(real)
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

// unreadable deals with a directory that the caller cannot list. Somebody else's cannot be opened up by a command
// either, which has the caller's user. The caller's own can: it is made read-only whole.
func (m *mountPlanner) unreadable(path string, d iofs.DirEntry, err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return nil // it vanished while we looked
	}
	if !errors.Is(err, os.ErrPermission) {
		return systemError("getdents", err, "look for names to protect in "+path)
	}
	info, statErr := os.Lstat(path)
	if statErr == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid()) {
		m.names.paths = append(m.names.paths, path)
	}
	if d != nil && d.IsDir() {
		return iofs.SkipDir
	}
	return nil
}
