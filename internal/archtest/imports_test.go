package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImportTable reads every .go file and holds the table (R1, R12, R295, R320).
func TestImportTable(t *testing.T) {
	for _, s := range sources(t) {
		require.Empty(t, checkSource(s), "%s", s.Name)
	}
}

// TestEveryPackageHasARow compares the table with the tree, both ways.
func TestEveryPackageHasARow(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		seen[s.Dir] = true
		_, ok := findRoom(s.Dir)
		require.True(t, ok, "%s: directory %q is not in the import table", s.Name, s.Dir)
	}
	for _, r := range rooms {
		require.NotEmpty(t, r.Why, "%s: the row has no reason", r.Dir)
		require.True(t, seen[r.Dir], "the import table has a row for %q, which holds no Go file", r.Dir)
	}
}

// TestImportTableCatches plants one fault of each kind and sees it found, so that a checker that looks at nothing
// cannot pass.
func TestImportTableCatches(t *testing.T) {
	cases := []struct{ name, file, body, want string }{
		{"the code boundary imports the process boundary", "compartment/a.go",
			`import _ "sallyport/shell"`, `may not import "sallyport/shell"`},
		{"the process boundary imports the code boundary", "shell/a.go",
			`import _ "sallyport/compartment"`, `may not import "sallyport/compartment"`},
		{"a library starts a process", "evaljs/a.go", `import _ "os/exec"`, `may not import "os/exec"`},
		{"a library starts a process by another name", "evaljs/a.go",
			`import p "os"; var _ = p.StartProcess`, "may not call os.StartProcess"},
		{"a library makes a raw system call", "gate/a.go",
			`import "syscall"; var _ = syscall.RawSyscall`, "may not call syscall.RawSyscall"},
		{"an engine outside its room", "evaljs/a.go",
			`import _ "github.com/dop251/goja/ast"`, `may not import "github.com/dop251/goja/ast"`},
		{"cgo", "shell/a.go", `import "C"`, `may not import "C"`},
		{"test code in the library", "policy/a.go", `import _ "testing"`, `may not import "testing"`},
		{"a dot import hides what is called", "gate/a.go", `import . "syscall"`, "dot import"},
		{"the standard fs under our name", "hostfuncs/a.go", `import "io/fs"`, `import "io/fs" as iofs`},
		{"a directive that reaches into other packages", "evaljs/a.go",
			"//go:" + "linkname f runtime.f\nfunc f()", "go:linkname"},
		{"a room nobody placed", "helpers/a.go", ``, "not in the import table"},
		{"a restricted import in a test without leave", "gate/a_test.go",
			`import _ "os/exec"`, `may not import "os/exec"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseSource(c.file, "package x\n"+c.body+"\n")
			require.NoError(t, err)
			require.Contains(t, strings.Join(checkSource(s), "\n"), c.want)
		})
	}
}

// TestImportTableAllows shows that the checker does not refuse everything.
func TestImportTableAllows(t *testing.T) {
	for _, c := range []struct{ file, body string }{
		{"shell/a.go", `import (_ "os/exec"; _ "sallyport/policy"; _ "sallyport/shell/internal/jail")`},
		{"policy/a.go", `import (_ "net/netip"; iofs "io/fs"; "os"); var _ = os.Open; var _ iofs.FS`},
		{"policy/a_test.go", `import (_ "testing"; _ "github.com/stretchr/testify/require")`},
		{"compartment/goja/a.go", `import (_ "github.com/dop251/goja"; _ "sallyport/compartment")`},
		{"shell/a_test.go", `package shell_test; import _ "sallyport/shell"`},
	} {
		text := c.body
		if !strings.HasPrefix(text, "package") {
			text = "package x\n" + text
		}
		s, err := parseSource(c.file, text)
		require.NoError(t, err)
		require.Empty(t, checkSource(s), "%s: %s", c.file, c.body)
	}
}

// checkSource says everything that is wrong with one file.
func checkSource(s source) []string {
	r, ok := findRoom(s.Dir)
	if !ok {
		return []string{fmt.Sprintf("%s is not in the import table", s.Dir)}
	}
	var faults []string
	names := map[string]string{} // local name -> import path
	for _, spec := range s.AST.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return append(faults, err.Error())
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = p
		faults = append(faults, checkImport(r, s.Test, name, p)...)
	}
	faults = append(faults, checkCalls(r, s, names)...)
	if strings.Contains(s.Text, "//go:"+"linkname ") && linknames[s.Dir] == "" {
		faults = append(faults, "go:linkname reaches into another package")
	}
	return faults
}

// checkImport judges one import of one room.
func checkImport(r room, test bool, name, p string) []string {
	var faults []string
	no := func(why string) { faults = append(faults, fmt.Sprintf("%s may not import %q: %s", r.Dir, p, why)) }
	if name == "." {
		no("a dot import hides where a name comes from")
	}
	if p == "io/fs" && name != "iofs" {
		no(`fs is our own package; import "io/fs" as iofs`)
	}
	if inside, ok := strings.CutPrefix(p, module+"/"); ok && !mayImport(r, test, inside) {
		no("the import table does not say so")
	}
	for _, x := range restrictions {
		if matches(x.Path, p) && !mayUse(x, r.Dir, test) {
			no(x.Why)
		}
	}
	return faults
}

// mayImport answers the column "may import inside the module".
func mayImport(r room, test bool, inside string) bool {
	if anyMatches(r.Imports, inside) {
		return true
	}
	return test && (inside == r.Dir || anyMatches(r.Tests, inside))
}

// mayUse answers the column "only room allowed to use".
func mayUse(x restriction, dir string, test bool) bool {
	return anyMatches(x.Rooms, dir) || test && anyMatches(x.Tests, dir)
}

// checkCalls looks for the restricted functions of unrestricted packages.
func checkCalls(r room, s source, names map[string]string) []string {
	var faults []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		ident, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, c := range calls {
			if names[ident.Name] == c.Package && selector.Sel.Name == c.Name && !mayUse(findRestriction(c.As), r.Dir, s.Test) {
				faults = append(faults, fmt.Sprintf("%s may not call %s.%s: it is as good as %s", r.Dir, c.Package, c.Name, c.As))
			}
		}
		return true
	})
	return faults
}

// findRoom gives the row of a directory.
func findRoom(dir string) (room, bool) {
	for _, r := range rooms {
		if r.Dir == dir {
			return r, true
		}
	}
	return room{}, false
}

// findRestriction gives the row of an import path; a call without one is a fault of the table.
func findRestriction(p string) restriction {
	for _, x := range restrictions {
		if x.Path == p {
			return x
		}
	}
	panic("the table of calls names " + p + ", which is not restricted")
}
