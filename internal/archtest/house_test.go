package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreign are words that do not belong in the tree: they speak of a machine, a registry, or the people and tools that
// made the project. The parts are joined here so that this file does not match itself.
var foreign = []struct {
	re  *regexp.Regexp
	why string
}{
	{regexp.MustCompile(`/wo` + `rk/(main|shared|steering|\.library|\.mirror)`), "a path of one machine"},
	{regexp.MustCompile(`/(fa` + `rm|home/[a-z]+/go|Users/[a-z]+)/`), "a path of one machine"},
	{regexp.MustCompile(`/tmp/hel` + `pers`), "a path of one machine"},
	{regexp.MustCompile(`before-` + `stop|DEVELOPERS\.` + `md`), "a tool that is no part of the project"},
	{regexp.MustCompile(`(?i)\bissues? ` + `#\d+`), "the number of a work item; say what it is about"},
	{regexp.MustCompile(`(?i)\bhelper-` + `\d|language ` + `model session`), "who wrote it"},
	{regexp.MustCompile(`(proxy|sum)\.golang` + `\.org|registry\.npmjs` + `\.org|pypi` + `\.org|files\.pythonhosted` + `\.org`),
		"a registry's host: the package managers know theirs"},
	{regexp.MustCompile(`(?i)\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "a note to oneself"},
}

// TestNoForeignWords reads every text file.
func TestNoForeignWords(t *testing.T) {
	for name, text := range files(t) {
		for i, line := range strings.Split(text, "\n") {
			for _, f := range foreign {
				// Plain comparison first: a message is only made for a line that is wrong.
				if f.re.MatchString(line) {
					t.Errorf("%s:%d: %s: %s", name, i+1, f.why, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestForeignWordsCatches plants one of each.
func TestForeignWordsCatches(t *testing.T) {
	for _, line := range []string{
		"see /wo" + "rk/main/x", "see /fa" + "rm/x", "fixed in iss" + "ue #12", "asked helper-" + "2", "GOPROXY=https://proxy.golang" + ".org",
		"// TO" + "DO: later", "the before-" + "stop hook", "/tmp/hel" + "pers/x",
	} {
		found := false
		for _, f := range foreign {
			found = found || f.re.MatchString(line)
		}
		require.True(t, found, line)
	}
}

// yesByItself are parts of names that would promise an approval without a decision.
var yesByItself = []string{"AllowAll", "DefaultGate", "ApproveAll", "AlwaysAllow", "AlwaysApprove", "AutoApprove"}

// exportedNames lists the exported package-level names, methods and fields of a file.
func exportedNames(s source) []string {
	var names []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name.Name)
			return false // what is declared inside a function is nobody's API
		case *ast.TypeSpec:
			names = append(names, n.Name.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				names = append(names, id.Name)
			}
		case *ast.Field:
			for _, id := range n.Names {
				names = append(names, id.Name)
			}
		}
		return true
	})
	exported := names[:0]
	for _, name := range names {
		if ast.IsExported(name) {
			exported = append(exported, name)
		}
	}
	return exported
}

// TestNothingApprovesByItself: no gate, helper or option that says yes without asking is exported (R177, R315).
func TestNothingApprovesByItself(t *testing.T) {
	count := 0
	for _, s := range sources(t) {
		if s.Test || s.AST.Name.Name == "main" {
			continue
		}
		for _, name := range exportedNames(s) {
			count++
			for _, bad := range yesByItself {
				require.NotContains(t, name, bad, "%s", s.Name)
			}
		}
	}
	require.Greater(t, count, 50, "the API was not read")

	planted, err := parseSource("gate/a.go", "package gate\nfunc AllowAll() {}\n")
	require.NoError(t, err)
	require.Equal(t, []string{"AllowAll"}, exportedNames(planted))
}

// TestEveryPackageHasOneComment: a package comment is the manual of a room, and there is one a room.
func TestEveryPackageHasOneComment(t *testing.T) {
	where := map[string][]string{}
	for _, s := range sources(t) {
		if !s.Test && s.AST.Doc != nil {
			where[s.Dir] = append(where[s.Dir], s.Name)
		}
	}
	for _, r := range rooms {
		require.Len(t, where[r.Dir], 1, "%s needs one package comment, in one file", r.Dir)
	}
}

// TestEveryExportedNameIsExplained: no exported function, method or type of a library room without a comment.
func TestEveryExportedNameIsExplained(t *testing.T) {
	for _, s := range sources(t) {
		if s.Test || s.AST.Name.Name == "main" {
			continue
		}
		require.Empty(t, unexplained(s), "%s", s.Name)
	}
}

// wellKnown are methods that say nothing new when they do what everybody's do.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "String": true}

// unexplained lists exported declarations without a comment. A comment on a group counts for its members.
func unexplained(s source) []string {
	var names []string
	for _, d := range s.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && receiverExported(d) && !wellKnown[d.Name.Name] {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				names = append(names, unexplainedSpec(d, spec)...)
			}
		}
	}
	return names
}

func unexplainedSpec(d *ast.GenDecl, spec ast.Spec) []string {
	var names []string
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
			names = append(names, spec.Name.Name)
		}
	case *ast.ValueSpec:
		for _, id := range spec.Names {
			if id.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// receiverExported is false for a method of an unexported type, which no reader of the API sees.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	id, ok := t.(*ast.Ident)
	return !ok || id.IsExported()
}

// codesOf collects the string constants of type Code in a room.
func codesOf(t *testing.T, all []source, dir string) map[string]string {
	t.Helper()
	codes := map[string]string{}
	for _, s := range all {
		if s.Dir != dir || s.Test {
			continue
		}
		ast.Inspect(s.AST, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || fmt.Sprint(spec.Type) != "Code" {
				return true
			}
			for i, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					codes[lit.Value] = spec.Names[i].Name
				}
			}
			return true
		})
	}
	require.NotEmpty(t, codes, "%s declares no codes", dir)
	return codes
}

// TestErrorFamilies: no code is used by both boundaries, so that an error alone tells which one failed (R2).
func TestErrorFamilies(t *testing.T) {
	all := sources(t)
	process, code, neither := codesOf(t, all, "shell"), codesOf(t, all, "compartment"), codesOf(t, all, "artifact")
	maps.Copy(process, codesOf(t, all, "tools"))
	for c := range process {
		require.NotContains(t, code, c, "both boundaries use %s", c)
	}
	for c := range neither {
		require.NotContains(t, code, c, "%s is of a boundary", c)
		require.NotContains(t, process, c, "%s is of a boundary", c)
	}
}
