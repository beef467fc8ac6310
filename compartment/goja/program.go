package goja

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf16"

	"sallyport/compartment"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
)

// syntaxError is a source that is not a program.
type syntaxError struct {
	message      string
	line, column int // 0 when the parser did not say
}

// compile makes code of the guest's source, which is parsed alone and as it is: there is no text around it that it
// could break out of. Only when await stands at the top level is it looked at as the body of an async function; see
// awaiting. fixed tells the names of the global object that no declaration can have.
func compile(source string, fixed func(name string) bool) (*goja.Program, *syntaxError) {
	tree, alone := parse(source)
	if !strings.Contains(source, "await") {
		if alone != nil {
			return nil, alone
		}
		return finishCompile(tree, source)
	}
	body, inside := awaiting(source, fixed)
	switch {
	case body != nil:
		return finishCompile(body, source)
	case alone == nil:
		return finishCompile(tree, source)
	case inside != nil && inside.after(alone):
		return nil, inside // the script was understood further as what it is meant to be
	}
	return nil, alone
}

// after tells whether e stands later in the source than o.
func (e *syntaxError) after(o *syntaxError) bool {
	return e.line > o.line || e.line == o.line && e.column > o.column
}

// parse parses one script. Source maps are off: the parser would open the files they name.
func parse(source string) (*ast.Program, *syntaxError) {
	tree, err := parser.ParseFile(nil, programFile, source, 0, parser.WithDisableSourceMaps)
	if err == nil {
		return tree, nil
	}
	list, ok := err.(parser.ErrorList)
	if !ok || len(list) == 0 {
		return nil, &syntaxError{message: err.Error()}
	}
	at := list[0].Position
	return nil, &syntaxError{message: list[0].Message, line: at.Line, column: columnOf(source, at.Line, at.Column)}
}

// finishCompile turns a tree into code; what only the compiler notices is a syntax error too.
func finishCompile(tree *ast.Program, source string) (*goja.Program, *syntaxError) {
	if mayCount(source) {
		countShifts(tree)
	}
	p, err := goja.CompileAST(tree, false)
	switch e := err.(type) {
	case nil:
		return p, nil
	case *goja.CompilerSyntaxError:
		return nil, compilerError(e.CompilerError, source)
	case *goja.CompilerReferenceError:
		return nil, compilerError(e.CompilerError, source)
	default:
		return nil, &syntaxError{message: err.Error()}
	}
}

func compilerError(e goja.CompilerError, source string) *syntaxError {
	s := &syntaxError{message: e.Message}
	if e.File != nil {
		at := e.File.Position(e.Offset)
		s.line, s.column = at.Line, columnOf(source, at.Line, at.Column)
	}
	return s
}

// columnOf turns a column the engine counts in bytes into one of UTF-16 units.
func columnOf(source string, line, column int) int {
	text, ok := compartment.LineOf(source, line)
	if !ok || column < 1 {
		return max(column, 1)
	}
	return len(utf16.Encode([]rune(text[:min(column-1, len(text))]))) + 1
}

// The text that makes a source the body of an async function. The line end before the bracket ends a comment of the
// source's last line.
const (
	asyncHead = "(async()=>{"
	asyncTail = "\n})"
)

// awaiting is the tree of a source that uses await at its top level, made into an async function that is called. It
// is nil when the source is no such thing: when it does not parse as the whole body of one function, when it returns,
// or when no await stands at its top level. The error, if any, is in positions of the source.
//
// The source could close the function's bracket and go on. So what was parsed is looked at, not the text: the tree
// must be one expression statement that is one async arrow function and nothing else, and no text can make it that
// and be outside of it.
func awaiting(source string, fixed func(name string) bool) (*ast.Program, *syntaxError) {
	tree, bad := parse(asyncHead + source + asyncTail)
	if bad != nil {
		return nil, bad.inside(source)
	}
	if len(tree.Body) != 1 {
		return nil, nil
	}
	statement, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, nil
	}
	arrow, ok := statement.Expression.(*ast.ArrowFunctionLiteral)
	if !ok {
		return nil, nil
	}
	body, ok := arrow.Body.(*ast.BlockStatement)
	if !ok || int(body.RightBrace) != len(asyncHead)+len(source)+len(asyncTail)-1 {
		return nil, nil
	}
	tree.File = file.NewFile(programFile, source, 1)
	w := walker{shift: -len(asyncHead), seen: map[uintptr]bool{}}
	w.walk(reflect.ValueOf(arrow), true)
	if w.returns != 0 {
		at := tree.File.Position(int(w.returns) - 1)
		return nil, &syntaxError{message: "Illegal return statement", line: at.Line, column: columnOf(source, at.Line, at.Column)}
	}
	if !w.awaits {
		return nil, nil
	}
	if twice := globalize(tree, arrow, body, fixed); twice != nil {
		at := tree.File.Position(int(twice.Idx) - 1)
		return nil, &syntaxError{message: fmt.Sprintf("Identifier '%s' has already been declared", twice.Name), line: at.Line, column: columnOf(source, at.Line, at.Column)}
	}
	returnLast(body.List)
	statement.Expression = &ast.CallExpression{Callee: arrow}
	return tree, nil
}

// inside turns a position of the wrapped source into one of the source. What the bracket at the end was complained of
// for is the end.
func (e *syntaxError) inside(source string) *syntaxError {
	if e.line == 1 {
		e.column -= len(asyncHead)
	}
	if _, ok := compartment.LineOf(source, e.line); !ok {
		last := e.line - 1
		text, _ := compartment.LineOf(source, last)
		return &syntaxError{message: "Unexpected end of input", line: last, column: columnOf(source, last, len(text)+1)}
	}
	return e
}

// returnLast makes the value of the last statement the function's result, when it is an expression, also inside of a
// block, an if or a try. The value of a loop is not taken.
func returnLast(list []ast.Statement) {
	if len(list) == 0 {
		return
	}
	last := &list[len(list)-1]
	switch s := (*last).(type) {
	case *ast.ExpressionStatement:
		*last = &ast.ReturnStatement{Return: s.Expression.Idx0(), Argument: s.Expression}
	case *ast.BlockStatement:
		returnLast(s.List)
	case *ast.IfStatement:
		s.Consequent = returned(s.Consequent)
		s.Alternate = returned(s.Alternate)
	case *ast.TryStatement:
		returnLast(s.Body.List)
		if s.Catch != nil {
			returnLast(s.Catch.Body.List)
		}
	}
}

// returned is returnLast for a branch.
func returned(s ast.Statement) ast.Statement {
	if s == nil {
		return nil
	}
	list := []ast.Statement{s}
	returnLast(list)
	return list[0]
}

// walker goes through a tree once: it moves every position by shift, so that positions are those of the source as its
// author wrote it, and finds what stands outside of all inner functions.
type walker struct {
	shift   int
	seen    map[uintptr]bool // nodes can be reached by two ways; they are moved once
	awaits  bool
	returns file.Idx // where the first return is; 0 for none
}

var (
	typeIdx  = reflect.TypeFor[file.Idx]()
	typeFile = reflect.TypeFor[*file.File]()
)

// walk goes through v. top says that no inner function is around it; the outermost arrow function does not count.
func (w *walker) walk(v reflect.Value, top bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem(), top)
		}
	case reflect.Pointer:
		if v.IsNil() || w.seen[v.Pointer()] || v.Type() == typeFile {
			return
		}
		outermost := len(w.seen) == 0
		w.seen[v.Pointer()] = true
		w.walk(v.Elem(), top && (w.look(v.Interface()) || outermost))
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i), top)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i), top)
		}
	default:
		if v.Type() == typeIdx && v.CanSet() && v.Int() > 0 {
			v.SetInt(max(1, v.Int()+int64(w.shift)))
		}
	}
}

// look notes what a node at the top level is, and tells whether what is inside of it is at the top level too. A node
// is looked at before its positions are moved.
func (w *walker) look(node any) bool {
	switch n := node.(type) {
	case *ast.AwaitExpression:
		w.awaits = true
	case *ast.ReturnStatement:
		if w.returns == 0 {
			w.returns = n.Return + file.Idx(w.shift)
		}
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassStaticBlock, *ast.MethodDefinition:
		return false
	}
	return true
}
