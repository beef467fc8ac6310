package goja

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// Built-ins that go into what they are given recurse on the stack of the host, where no limit of the engine counts. So it is counted here how deep they are
// inside of each other, all together.

// maxNested is how deep: a level takes 2 KB of stack at most.
const maxNested = 2000

// tooLarge is the failure of something that asks for more than it may.
func tooLarge(format string, args ...any) *compartment.Failure {
	return compartment.FailureOf(compartment.KindTooLarge, "RangeError", fmt.Sprintf(format, args...))
}

// enter counts one level more, or throws.
func (r *realm) enter(what string) {
	if r.nested >= maxNested {
		r.throw(tooLarge("%s of a value that nests more than %d deep", what, maxNested))
	}
	r.nested++
	r.evaluation() // a stop is noticed here
}

// textOf is the text of a value, as the language makes it.
func (r *realm) textOf(v goja.Value) goja.String {
	if _, ok := v.(*goja.Symbol); ok {
		panic(r.vm.NewTypeError("Cannot convert a Symbol value to a string"))
	}
	if s, ok := v.ToString().(goja.String); ok {
		return s
	}
	return r.vm.ToValue(v.String()).(goja.String) // a number, which the engine takes for its own text
}

// guardText replaces the built-ins that turn an array into text. Each array asks the next one for its text, and a thousand times one long text is made at
// once, so here is counted how deep they are and how much it is.
func (r *realm) guardText() error {
	holder := r.object("Array.prototype")
	join := r.native("join", 1, func(call goja.FunctionCall) goja.Value {
		return r.joined(call, "join", r.textOf)
	})
	local := asBuiltin(r.object("Array.prototype.toLocaleString"))
	locale := r.native("toLocaleString", 0, func(call goja.FunctionCall) goja.Value {
		call.Arguments = nil // the separator is a comma
		return r.joined(call, "toLocaleString", func(v goja.Value) goja.String {
			return local(goja.FunctionCall{This: r.vm.NewArray(v)}).(goja.String) // how the engine does it for one
		})
	})
	return errors.Join(holder.DefineDataProperty("join", join, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE),
		holder.DefineDataProperty("toLocaleString", locale, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// joined is what join makes. An array inside of itself is empty text.
func (r *realm) joined(call goja.FunctionCall, what string, text func(goja.Value) goja.String) goja.Value {
	o := call.This.ToObject(r.vm)
	if slices.Contains(r.joining, o) {
		return r.vm.ToValue("")
	}
	r.enter(what)
	r.joining = append(r.joining, o)
	defer func() { r.nested--; r.joining = r.joining[:len(r.joining)-1] }()
	n := int64(0)
	if v := o.Get("length"); v != nil {
		n = v.ToInteger()
	}
	if n > maxItems {
		r.throw(tooLarge("a list of %d elements cannot be visited; %d are allowed", n, maxItems))
	}
	separator := r.vm.ToValue(",").(goja.String)
	if s := call.Argument(0); !goja.IsUndefined(s) {
		separator = r.textOf(s)
	}
	var out goja.StringBuilder
	for i, size := int64(0), 0; i < n; i++ {
		if i > 0 {
			out.WriteString(separator)
			size += separator.Length()
		}
		if v := o.Get(strconv.FormatInt(i, 10)); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
			s := text(v)
			out.WriteString(s)
			size += s.Length()
		}
		if size > maxText {
			r.throw(tooLarge("%s makes a text of more than %d characters", what, maxText))
		}
		if i%1024 == 1023 {
			r.evaluation() // a stop is noticed here
		}
	}
	return out.String()
}

// descent follows JSON.stringify into a value. The built-in says where it is when it has a function to replace values: it calls it with the object that it is in.
type descent struct {
	r    *realm
	in   []*goja.Object // each is in the one before
	seen int
	size int // of the texts that were seen
}

// see is told of a value, its key, and the object that it is in.
func (d *descent) see(holder *goja.Object, key, value goja.Value) {
	for _, v := range []goja.Value{key, value} {
		if s, ok := v.(goja.String); ok {
			d.size += s.Length()
		}
	}
	if d.size > maxText {
		d.r.throw(tooLarge("JSON.stringify makes a text of more than %d characters", maxText))
	}
	if d.seen++; d.seen%256 == 0 {
		d.r.evaluation() // a stop is noticed here
	}
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
			d.see(c.This.(*goja.Object), c.Argument(0), c.Argument(1))
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
