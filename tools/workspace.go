package tools

import (
	"errors"
	"path/filepath"

	"sallyport/fs"
	"sallyport/policy"
)

// workspace is the directory that the file tools work in.
type workspace struct {
	*fs.Workspace
	root string // its real path on the host; no text for a model has it
}

// rulesOf gives the rules of the options, or those of the zero policy.
func rulesOf(o Options) (fs.Rules, error) {
	if o.Rules != nil {
		return o.Rules, nil
	}
	zero, err := policy.Policy{}.Compile(policy.CompileOptions{Resolve: filepath.EvalSymlinks})
	if err != nil {
		return nil, config("rules: "+err.Error(), err)
	}
	return zero, nil
}

// openWorkspace opens the directory under these rules.
func openWorkspace(o Options, rules fs.Rules) (*workspace, error) {
	root, err := filepath.EvalSymlinks(o.Workspace)
	if err != nil {
		return nil, config("workspace: "+err.Error(), err)
	}
	w, err := fs.OpenWorkspace(root, fs.Options{Rules: rules, WriteRoot: o.WriteRoot, Guarded: o.Guarded})
	if errors.Is(err, fs.ErrPath) {
		return nil, config("write root: "+err.Error(), err)
	}
	if err != nil {
		return nil, config("workspace: "+err.Error(), err)
	}
	return &workspace{Workspace: w, root: root}, nil
}

// directory gives the path on the host of a directory.
func (w *workspace) directory(name string) (string, error) {
	info, err := w.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Type != fs.TypeDirectory {
		return "", &fs.Error{Kind: fs.ErrNotDirectory, Path: name}
	}
	return w.HostPath(name)
}

// fileOutcomes are the outcomes of the ways in which a file is not had.
var fileOutcomes = []struct {
	kind    error
	outcome Outcome
}{
	{fs.ErrDenied, DeniedByPolicy}, // before the two that a model is told of it
	{fs.ErrNotFound, NotFound},
	{fs.ErrNotWritable, NotFound},
	{fs.ErrOutside, OutsideWriteRoot},
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
