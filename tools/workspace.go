package tools

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"sallyport/fs"
)

// workspace is the directory that the file tools work in.
type workspace struct {
	dir  *fs.Dir
	root string // its real path on the host; no text for a model has it
}

// openWorkspace opens the directory and keeps to what the policy lets be read.
func openWorkspace(o Options) (*workspace, error) {
	root, err := filepath.EvalSymlinks(o.Workspace)
	if err != nil {
		return nil, config("workspace: "+err.Error(), err)
	}
	dir, err := fs.OpenDir(root)
	if err != nil {
		return nil, config("workspace: "+err.Error(), err)
	}
	if o.Rules != nil {
		dir = dir.Restrict(func(p string) bool { return o.Rules.Read(p).Allowed })
	}
	return &workspace{dir: dir, root: root}, nil
}

// open opens a regular file for reading.
func (w *workspace) open(name string) (*os.File, error) { return w.dir.Open(name) }

// directory gives the path on the host of a directory.
func (w *workspace) directory(name string) (string, error) {
	clean, err := fs.Clean(name)
	if err != nil {
		return "", err
	}
	if _, err := w.dir.List(name, 0); err != nil && !errors.Is(err, fs.ErrTooMany) {
		return "", err
	}
	return filepath.Join(w.root, filepath.FromSlash(clean)), nil
}

// entry is one thing that a listing found.
type entry struct {
	Path string
	Dir  bool
}

// list visits what is below a directory, as deep as it is told, and says whether there was more below that (R235). A
// directory that cannot be listed because it has gone, or may not be read, is left out with what is in it (R232, R234).
func (w *workspace) list(name string, depth int, visit func(entry) error) (deeper bool, err error) {
	clean, err := fs.Clean(name)
	if err != nil {
		return false, err
	}
	return w.listBelow(clean, "", depth, visit)
}

// mostNames bounds the names of one directory that are held at once.
const mostNames = 10_000_000

func (w *workspace) listBelow(base, rel string, depth int, visit func(entry) error) (deeper bool, err error) {
	entries, err := w.dir.List(path.Join(base, rel), mostNames)
	if err != nil {
		if rel != "" && (errors.Is(err, fs.ErrNotFound) || errors.Is(err, fs.ErrNotDirectory)) {
			return false, nil
		}
		return false, err
	}
	for _, e := range entries {
		isDir := e.Type == fs.TypeDirectory
		if !isDir && e.Type != fs.TypeFile {
			continue
		}
		below := path.Join(rel, e.Name)
		if err := visit(entry{Path: below, Dir: isDir}); err != nil {
			return false, err
		}
		switch {
		case !isDir:
		case depth == 0:
			deeper = true
		default:
			more, err := w.listBelow(base, below, depth-1, visit)
			if deeper = deeper || more; err != nil {
				return deeper, err
			}
		}
	}
	return deeper, nil
}

// save writes a file below the write root.
func (w *workspace) save(string, io.Reader) (int64, error) { return 0, errors.ErrUnsupported }

func (w *workspace) close() error { return w.dir.Close() }

// fileOutcomes are the outcomes of the ways in which a file is not had.
var fileOutcomes = []struct {
	kind    error
	outcome Outcome
}{
	{fs.ErrNotFound, NotFound},
	{fs.ErrIsDirectory, IsADirectory},
	{fs.ErrNotRegular, NotARegularFile},
	{fs.ErrNotDirectory, NotADirectory},
	{fs.ErrTooLarge, OverBudget},
	{fs.ErrTooMany, OverBudget},
}

// pathReasons are the reasons of fs under the names of the table.
var pathReasons = map[fs.Reason]string{
	fs.ReasonNUL: "nul", fs.ReasonHome: "home", fs.ReasonDrive: "absolute-host", fs.ReasonDevice: "device", fs.ReasonShare: "unc", fs.ReasonEscape: "escape",
}

// factsOf turns an error of the workspace into what is narrated of it.
func factsOf(err error, input string) (Facts, bool) {
	var e *fs.Error
	if !errors.As(err, &e) {
		return Facts{}, false
	}
	if errors.Is(e, fs.ErrPath) {
		return Facts{Outcome: PathRejected, Reason: pathReasons[e.Reason], Input: input}, true
	}
	for _, row := range fileOutcomes {
		if errors.Is(e, row.kind) {
			return Facts{Outcome: row.outcome, Input: input}, true
		}
	}
	return Facts{Outcome: IOFailure, Input: input}, true
}
