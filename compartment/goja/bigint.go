package goja

import (
	"math/big"
	"reflect"
	"strings"

	"sallyport/compartment"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// 1n << 2n ** 40n makes a number of 128 GB at once, which ends the process; it is an operator, so no guard can stand before it. So the count goes
// through a function of ours: where a source has such an operator, and neither side is written out as a plain number, its right side becomes a call.
//
// The function is a constant of the realm's global scope, which is no property of any object, under a name that no source can write.
const countName = "the count of a shift"

// counting tells whether an operator makes a BigInt as large as its right side says.
func counting(op token.Token) bool {
	return op == token.SHIFT_LEFT || op == token.SHIFT_RIGHT || op == token.EXPONENT
}

// mayCount tells whether a source can have such an operator.
func mayCount(source string) bool {
	return strings.Contains(source, "<<") || strings.Contains(source, ">>") || strings.Contains(source, "**")
}

// countShifts puts the call into a tree, and tells how many it put.
func countShifts(tree *ast.Program) int {
	c := counter{seen: map[uintptr]bool{}}
	c.walk(reflect.ValueOf(tree))
	return c.found
}

// counter goes through a tree once.
type counter struct {
	seen  map[uintptr]bool
	found int
}

func (c *counter) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		c.walk(v.Elem())
	case reflect.Pointer:
		if v.IsNil() || c.seen[v.Pointer()] || v.Type() == typeFile {
			return
		}
		c.seen[v.Pointer()] = true
		c.walk(v.Elem())
		switch n := v.Interface().(type) {
		case *ast.BinaryExpression:
			if counting(n.Operator) && !plainNumber(n.Left) {
				c.wrap(&n.Right)
			}
		case *ast.AssignExpression:
			if counting(n.Operator) {
				c.wrap(&n.Right)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			c.walk(v.Field(i))
		}
	}
}

// wrap makes the right side of an operator an argument.
func (c *counter) wrap(right *ast.Expression) {
	if plainNumber(*right) {
		return
	}
	at := (*right).Idx0()
	*right = &ast.CallExpression{Callee: &ast.Identifier{Name: unistring.String(countName), Idx: at}, LeftParenthesis: at,
		ArgumentList: []ast.Expression{*right}, RightParenthesis: at}
	c.found++
}

// plainNumber tells whether an expression is a number written out, and no BigInt: an operator takes two of the same kind.
func plainNumber(e ast.Expression) bool {
	n, ok := e.(*ast.NumberLiteral)
	if !ok {
		return false
	}
	_, isBig := n.Value.(*big.Int)
	return !isBig
}

// defineCount defines the constant in a new realm.
func (r *realm) defineCount(script *goja.Program, count goja.Value) error {
	define, err := r.vm.RunProgram(script)
	if err != nil {
		return err
	}
	call, _ := goja.AssertFunction(define)
	_, err = call(goja.Undefined(), count)
	return err
}

// countScript is the script that defines the constant, and is a function to give it its value.
func countScript() (*goja.Program, error) {
	tree, bad := parse("let placeholder; (f) => { placeholder = f }")
	if bad != nil {
		return nil, &compartment.Error{Code: compartment.CodeEngine, Reason: bad.message}
	}
	name := unistring.String(countName)
	tree.Body[0].(*ast.LexicalDeclaration).List[0].Target.(*ast.Identifier).Name = name
	arrow := tree.Body[1].(*ast.ExpressionStatement).Expression.(*ast.ArrowFunctionLiteral)
	assign := arrow.Body.(*ast.BlockStatement).List[0].(*ast.ExpressionStatement).Expression.(*ast.AssignExpression)
	assign.Left.(*ast.Identifier).Name = name
	return goja.CompileAST(tree, true)
}

// lookAtShifts refuses text that would be made code with such an operator in it: what eval compiles does not go through here.
func (r *realm) lookAtShifts(forms ...string) {
	for _, source := range forms {
		tree, bad := parse(source)
		if bad == nil && countShifts(tree) > 0 {
			r.throw(tooLarge("a shift or a power by a computed count is not taken in code that is made from text"))
		}
	}
}

// tooManyBits throws the error for a count that is too large.
func (r *realm) tooManyBits(goja.FunctionCall) goja.Value {
	panic(r.throwable(tooLarge("a shift or a power by more than %d", maxBits), nil))
}
