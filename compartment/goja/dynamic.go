package goja

import (
	"strings"

	"github.com/dop251/goja"
)

// Code that the guest makes of text goes to the same parser as its source, which recurses on the stack of the host. So it is measured in the same way
// first, each text alone: what the texts of one evaluation cost together is time, and the guest's own.

// guardEval puts a function in the place of eval that looks first. A call of it is an indirect one to the engine, so the text sees the compartment's
// global and nothing of the function that calls: the engine's own direct eval could not be looked at.
func (r *realm) guardEval() error {
	inner := r.builtin("eval")
	f := r.native("eval", 1, func(call goja.FunctionCall) goja.Value {
		if text, ok := call.Argument(0).(goja.String); ok {
			code := text.String()
			r.lookAtCode(code)
			if mayCount(code) {
				r.lookAtShifts(code)
			}
		}
		return inner(call)
	})
	return r.vm.GlobalObject().DefineDataProperty("eval", f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// checkCode looks at what a function constructor puts together: parameters and a body.
func (r *realm) checkCode(call *goja.FunctionCall) string {
	parts := make([]string, len(call.Arguments))
	for i, a := range call.Arguments {
		s := r.textOf(a)
		fix(call, i, s)
		parts[i] = s.String()
	}
	code := strings.Join(parts, "\n")
	r.lookAtCode(code)
	if n := len(parts); n > 0 && mayCount(code) {
		whole := "(" + strings.Join(parts[:n-1], ",") + "\n) {\n" + parts[n-1] + "\n})"
		r.lookAtShifts("(function f"+whole, "(function* f"+whole, "(async function f"+whole)
	}
	return ""
}

// lookAtCode throws when the parser must not see the text.
func (r *realm) lookAtCode(text string) {
	if f := scan(text, r.host.Limits()); f != nil {
		r.throw(f)
	}
}
