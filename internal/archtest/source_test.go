package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the name of this module, and root the way to it from this directory.
const (
	module = "sallyport"
	root   = "../.."
)

// source is one parsed .go file. Build constraints are ignored on purpose: a rule holds on every platform.
type source struct {
	Name string // slash path below the root
	Dir  string
	Test bool
	AST  *ast.File
	Text string
}

// parseSource parses text as the file called name.
func parseSource(name, text string) (source, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	return source{
		Name: name, Dir: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), AST: tree, Text: text,
	}, err
}

// sources reads every .go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for name, text := range files(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		s, err := parseSource(name, text)
		require.NoError(t, err)
		all = append(all, s)
	}
	require.NotEmpty(t, all)
	return all
}

// files reads every text file of the tree that belongs to the module: no build results, nothing hidden but .ci.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, entry iofs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			return skipDir(name)
		}
		if !entry.Type().IsRegular() || !ours(name) || name == ".git" { // a file in a worktree
			return nil
		}
		text, err := os.ReadFile(p)
		if err == nil && !strings.ContainsRune(string(text), 0) {
			all[name] = string(text)
		}
		return err
	})
	require.NoError(t, err)
	return all
}

// skipDir leaves out what is not part of the module.
func skipDir(name string) error {
	switch {
	case name == "." || name == ".ci":
		return nil
	case strings.HasPrefix(path.Base(name), "."), name == "bin", name == "live/report", path.Base(name) == "node_modules":
		return filepath.SkipDir
	}
	return nil
}

// ours leaves out what the build and the tests leave behind.
func ours(name string) bool {
	switch path.Ext(name) {
	case ".test", ".out", ".wasm", ".sum":
		return false
	}
	return name != "sallyport"
}

// matches says whether an import path is meant by a pattern; "x/..." is x and everything below it, "..." is everything.
func matches(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	}
	return pattern == path
}

// anyMatches says whether one of the patterns means path.
func anyMatches(patterns []string, path string) bool {
	for _, p := range patterns {
		if matches(p, path) {
			return true
		}
	}
	return false
}
