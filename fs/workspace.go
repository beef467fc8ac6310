package fs

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sallyport/policy"
)

// Rules decide about real paths of the host. A *policy.Rules does; a *shell.Sandbox or *shell.Session knows more, such as what a git
// configuration leads to, and then decides as its commands find it. Rules that have the method ReadsBelow of *policy.Rules too
// are asked about a directory before they are asked about each name in it.
type Rules interface {
	Read(path string) policy.Decision
	Write(path string) policy.Decision
}

// Options are the settings of a Workspace. There is no useful zero value: what may be reached is never guessed.
type Options struct {
	// Rules decide about each file, on the real path of what was opened. Required.
	Rules Rules
	// WriteRoot is the directory that files may be saved in, as a path of a model: "/" is all of the workspace. Empty means
	// that nothing can be saved. It is never inferred from the rules (R227).
	WriteRoot string
	// Guarded are paths of the host that cannot be saved to, whatever the rules say. The running program is one of them.
	Guarded []string
}

// Workspace is a Dir in which the rules of a policy decide, and files can be saved. It is safe for concurrent use.
type Workspace struct {
	*Dir
	rules     Rules
	writeRoot string // clean; "" for none
	guarded   []string
}

// OpenWorkspace opens the directory at a path of the host. It refuses a WriteRoot that is no path below it with an *Error of
// ErrPath. Close it when done.
func OpenWorkspace(hostPath string, o Options) (*Workspace, error) {
	if o.Rules == nil {
		return nil, errors.New("open a workspace: no rules to decide with")
	}
	w := &Workspace{rules: o.Rules, guarded: slices.Clone(o.Guarded)}
	if o.WriteRoot != "" {
		var err error
		if w.writeRoot, err = Clean(o.WriteRoot); err != nil {
			return nil, err
		}
	}
	dir, err := OpenDir(hostPath)
	if err != nil {
		return nil, err
	}
	w.Dir = dir.restrict(func(p string) policy.Decision { return ofHost(o.Rules.Read(p)) })
	if rules, ok := o.Rules.(interface{ ReadsBelow(dir string) bool }); ok {
		w.free = rules.ReadsBelow
	}
	return w, nil
}

// ofHost refuses what a rule allows in a directory that every command has of its own: that is not said of the host's.
func ofHost(d policy.Decision) policy.Decision {
	d.Allowed = d.Allowed && d.Rule.List != policy.ListPrivate
	return d
}

// WriteRoot is the directory that files may be saved in, as a path of a model, or "" when there is none.
func (w *Workspace) WriteRoot() string {
	if w.writeRoot == "" {
		return ""
	}
	return path.Join("/", w.writeRoot)
}

// writable decides about the file of a name in an open directory, whose real path this is. Whoever may not know of the
// directory hears of it what he hears of one that is not there, and so do all others: there is one kind of error.
func (w *Workspace) writable(realDir, base, name string) error {
	target := filepath.Join(realDir, base)
	if d := ofHost(w.rules.Write(target)); !d.Allowed { // also for what may not be read
		return denied(ErrNotWritable, name, d)
	}
	for _, g := range w.guarded {
		if g == target || strings.HasPrefix(target, strings.TrimSuffix(g, string(filepath.Separator))+string(filepath.Separator)) {
			return &Error{Kind: ErrNotWritable, Path: name, Err: ErrDenied}
		}
	}
	return nil
}

// inWriteRoot says whether a clean path is one that may be saved to. Nothing on the way is a link, so that the spelling is
// the place.
func (w *Workspace) inWriteRoot(clean string) bool {
	switch w.writeRoot {
	case "":
		return false
	case ".":
		return true
	}
	return strings.HasPrefix(clean, w.writeRoot+"/")
}
