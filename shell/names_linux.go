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
	found  int
	absent []string // denied paths that do not exist
	hard   []string // protected files with another hard link, by which they could be written
	roots  int
}

// addNames looks through every writable root for mandatory names that exist and protects them. It happens once, when
// the sandbox is opened, and not for every command: its cost grows with the tree.
func (m *mountPlanner) addNames(ctx context.Context) error {
	left := maxScan
	for _, root := range m.rules.WritableRoots() {
		m.names.roots++
		if err := m.scan(ctx, root, &left); err != nil {
			return err
		}
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
	if _, ok := m.rules.MandatoryAt(root, strings.TrimPrefix(path, strings.TrimSuffix(root, "/")+"/")); !ok {
		return nil
	}
	m.names.found++
	m.protect(path)
	switch {
	case d.IsDir():
		return iofs.SkipDir
	case d.Type()&iofs.ModeSymlink != 0:
		m.protectTarget(path)
	case d.Type().IsRegular() && hardLinks(path) > 1:
		m.names.hard = append(m.names.hard, path)
	}
	return nil
}

// protectTarget protects what a link leads to: the link itself cannot be replaced, and writing goes through it.
func (m *mountPlanner) protectTarget(link string) {
	target, err := filepath.EvalSymlinks(link)
	if err != nil {
		m.names.absent = append(m.names.absent, "the target of "+link)
		return
	}
	m.protect(target)
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

// skipped are directories in which nothing of the host's is shown.
func (m *mountPlanner) skipped(path string) bool {
	for _, op := range m.ops {
		if string(op.Path) == path && (op.Kind == jail.Proc || op.Kind == jail.Dev || op.Kind == jail.Tmp || op.Kind == jail.Cover) {
			return true
		}
	}
	return path == "/sys"
}

// unreadable lets a directory go that the caller cannot read: the command has the caller's user and cannot either.
func (m *mountPlanner) unreadable(path string, d iofs.DirEntry, err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return nil // it vanished while we looked
	}
	if errors.Is(err, os.ErrPermission) && d != nil && d.IsDir() {
		return iofs.SkipDir
	}
	return systemError("getdents", err, "look for names to protect in "+path)
}
