package goja

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// globalize makes what a source declares at its top level by var and function global, so that it stays for the next evaluation, although the source has become
// the body of an arrow function. let, const and class stay inside of it.
//
// For var that is a matter of where the names are declared: the parser lists them beside the body, also those of inner blocks and loops, and what is
// left in the body are assignments. A function sees the let and const of the body, so it stays there, as an assignment before everything else.
//
// It returns the name of a function that cannot be global, or nil: in sloppy code the assignment would do nothing, and say nothing.
func globalize(tree *ast.Program, arrow *ast.ArrowFunctionLiteral, body *ast.BlockStatement, fixed func(name string) bool) *ast.Identifier {
	tree.DeclarationList, arrow.DeclarationList = arrow.DeclarationList, nil
	lexical := lexicalNames(body.List)
	start := directives(body.List)
	head, rest := body.List[:start:start], []ast.Statement{}
	for _, s := range body.List[start:] {
		declared, ok := s.(*ast.FunctionDeclaration)
		if !ok || declared.Function.Name == nil || lexical[declared.Function.Name.Name.String()] { // the compiler refuses the name that is declared twice
			rest = append(rest, s)
			continue
		}
		name := declared.Function.Name
		if fixed(name.Name.String()) {
			return name
		}
		declared.Function.Name = nil // a function expression would have a name of its own inside, which hides the global
		head = append(head, &ast.ExpressionStatement{Expression: &ast.AssignExpression{Operator: token.ASSIGN, Left: name, Right: declared.Function}})
		tree.DeclarationList = append(tree.DeclarationList, &ast.VariableDeclaration{Var: name.Idx, List: []*ast.Binding{{Target: name}}})
	}
	body.List = append(head, rest...)
	return nil
}

// directives counts the texts a body begins with, one of which may be "use strict".
func directives(list []ast.Statement) int {
	for i, s := range list {
		e, ok := s.(*ast.ExpressionStatement)
		if !ok {
			return i
		}
		if _, ok := e.Expression.(*ast.StringLiteral); !ok {
			return i
		}
	}
	return len(list)
}

// lexicalNames are the names that let, const and class declare in a list of statements.
func lexicalNames(list []ast.Statement) map[string]bool {
	names := map[string]bool{}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range s.List {
				boundNames(b.Target, names)
			}
		case *ast.ClassDeclaration:
			if s.Class.Name != nil {
				names[s.Class.Name.Name.String()] = true
			}
		}
	}
	return names
}

// boundNames adds the names that a target of a declaration binds.
func boundNames(target ast.Expression, to map[string]bool) {
	switch t := target.(type) {
	case *ast.Identifier:
		to[t.Name.String()] = true
	case *ast.AssignExpression: // with a default
		boundNames(t.Left, to)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			boundNames(e, to)
		}
		boundNames(t.Rest, to)
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				to[p.Name.Name.String()] = true
			case *ast.PropertyKeyed:
				boundNames(p.Value, to)
			}
		}
		boundNames(t.Rest, to)
	}
}
