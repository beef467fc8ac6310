package gate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingApproves pins the exported API: a question, an answer, and three ways of "no". A new name fails this
// test, so that one that says yes by itself cannot slip in (R177, R315).
func TestNothingApproves(t *testing.T) {
	names := exported(t)
	sort.Strings(names)
	require.Equal(t, []string{"Ask", "Call", "ErrAborted", "ErrRefused", "ErrUnavailable", "Error", "Error.Error", "Error.Unwrap", "Func", "Policy", "Verdict"}, names)
}

// exported lists the exported names of the package as its source declares them.
func exported(t *testing.T) []string {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			names = append(names, declared(d)...)
		}
	}
	return names
}

// declared lists the exported names of one declaration; a method after its type.
func declared(d ast.Decl) []string {
	var names []string
	add := func(id *ast.Ident, prefix string) {
		if id.IsExported() {
			names = append(names, prefix+id.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		prefix := ""
		if d.Recv != nil {
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			id := typ.(*ast.Ident)
			if !id.IsExported() {
				return nil
			}
			prefix = id.Name + "."
		}
		add(d.Name, prefix)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name, "")
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id, "")
				}
			}
		}
	}
	return names
}
