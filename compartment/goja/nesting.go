package goja

import (
	"fmt"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// Built-ins that go into what they are given recurse on the stack of the host, where no limit of the engine counts. So it is counted here how deep they are
// inside of each other, all together.

// maxNested is how deep: a level takes 2 KB of stack at most.
const maxNested = 2000

// enter counts one level more, or throws.
func (r *realm) enter(what string) {
	if r.nested >= maxNested {
		r.throw(compartment.FailureOf(compartment.KindTooLarge, "RangeError", fmt.Sprintf("%s of a value that nests more than %d deep", what, maxNested)))
	}
	r.nested++
}

// guardText counts the levels of arrays that are turned into text: each array asks the next one for its text.
func (r *realm) guardText() error {
	for _, name := range []string{"join", "toLocaleString"} {
		holder := r.object("Array.prototype")
		inner := asBuiltin(holder.Get(name).(*goja.Object))
		f := r.native(name, map[string]int{"join": 1}[name], func(call goja.FunctionCall) goja.Value {
			r.enter(name)
			defer func() { r.nested-- }()
			return inner(call)
		})
		if err := holder.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
			return err
		}
	}
	return nil
}

// descent follows JSON.stringify into a value. The built-in says where it is when it has a function to replace values: it calls it with the object that it is in.
type descent struct {
	r  *realm
	in []*goja.Object // each is in the one before
}

// see is told the object that a value is in.
func (d *descent) see(holder *goja.Object) {
	for i := len(d.in) - 1; i >= 0; i-- {
		if d.in[i] == holder { // the ones after it are done
			d.r.nested -= len(d.in) - 1 - i
			d.in = d.in[:i+1]
			return
		}
	}
	d.r.enter("JSON.stringify")
	d.in = append(d.in, holder)
}

// guardStringify gives JSON.stringify a function that counts, which calls the guest's own when there is one. A list of names goes to a second call, of what
// the first made and was read again: that is plain data, and not deep.
func (r *realm) guardStringify() error {
	inner, parse, isArray := r.builtin("JSON.stringify"), r.builtin("JSON.parse"), r.builtin("Array.isArray")
	apply := r.builtin("Reflect.apply")
	f := r.native("stringify", 3, func(call goja.FunctionCall) goja.Value {
		value, replacer, space := call.Argument(0), call.Argument(1), call.Argument(2)
		_, isObject := value.(*goja.Object)
		_, isFunction := goja.AssertFunction(replacer)
		if !isObject && !isFunction {
			return inner(call)
		}
		d := &descent{r: r}
		defer func() { r.nested -= len(d.in) }()
		count := r.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			d.see(c.This.(*goja.Object))
			if isFunction {
				return apply(goja.FunctionCall{Arguments: []goja.Value{replacer, c.This, r.vm.NewArray(c.Argument(0), c.Argument(1))}})
			}
			return c.Argument(1)
		})
		text := inner(goja.FunctionCall{This: call.This, Arguments: []goja.Value{value, count, space}})
		if list := isArray(goja.FunctionCall{Arguments: []goja.Value{replacer}}); isFunction || !list.ToBoolean() || goja.IsUndefined(text) {
			return text
		}
		plain := parse(goja.FunctionCall{Arguments: []goja.Value{text}})
		return inner(goja.FunctionCall{This: call.This, Arguments: []goja.Value{plain, replacer, space}})
	})
	return r.object("JSON").DefineDataProperty("stringify", f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
