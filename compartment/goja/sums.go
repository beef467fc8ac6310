package goja

import (
	"fmt"
	"strconv"

	"github.com/dop251/goja"
)

// The checks of built-ins that make much out of many parts, each of which may be small.

// checkConcat adds up the lists.
func (r *realm) checkConcat(call *goja.FunctionCall) string {
	n := r.lengthOf(call.This)
	for _, a := range call.Arguments {
		n += max(r.lengthOf(a), 1)
	}
	if n > maxItems {
		return fmt.Sprintf("a list of %.0f elements cannot be made; %d are allowed", n, maxItems)
	}
	return ""
}

// maxFlat is how deep lists may be in each other, to be made flat: the engine recurses.
const maxFlat = 500

// checkFlat counts what will be in the flat list.
func (r *realm) checkFlat(call *goja.FunctionCall) string {
	depth := 1.0
	if d := call.Argument(0); !goja.IsUndefined(d) {
		depth = d.ToNumber().ToFloat()
		fix(call, 0, r.vm.ToValue(depth))
	}
	if r.lengthOf(call.This) > maxItems {
		return r.checkVisit(call)
	}
	o, ok := call.This.(*goja.Object)
	if !ok {
		return ""
	}
	left := maxItems - int(r.lengthOf(o))
	if !r.countFlat(o, min(depth, maxFlat), depth > maxFlat, &left) {
		return fmt.Sprintf("a flat list of more than %d elements, or of lists more than %d deep", maxItems, maxFlat)
	}
	return ""
}

// countFlat takes from left the elements of the lists in a list, down to a depth. Elements that are computed, and lists that are proxies, are not looked into: there is
// no saying what they will be. At the bottom there must be no list more, when the engine would go on.
func (r *realm) countFlat(o *goja.Object, depth float64, bottomless bool, left *int) bool {
	if o.ExportType() == typeProxy {
		return false
	}
	if depth < 1 && !bottomless {
		return true
	}
	var lists []*goja.Object
	for i := range int(r.lengthOf(o)) {
		if i%1024 == 0 {
			r.evaluation() // a stop is noticed here
		}
		p := r.ownProperty(o, strconv.Itoa(i))
		in, ok := p.value.(*goja.Object)
		switch {
		case p.accessor:
			return false
		case !ok || !r.isList(in):
			continue
		case depth < 1:
			return false
		}
		if *left -= int(r.lengthOf(in)); *left < 0 {
			return false
		}
		lists = append(lists, in)
	}
	for _, in := range lists {
		if !r.countFlat(in, depth-1, bottomless, left) {
			return false
		}
	}
	return true
}

// isList tells whether the engine takes an object for an array.
func (r *realm) isList(o *goja.Object) bool {
	return o.ExportType() == typeProxy || o.ClassName() == "Array"
}

// checkTexts adds up the texts.
func (r *realm) checkTexts(call *goja.FunctionCall) string {
	n, _ := fixThis(call)
	for i, a := range call.Arguments {
		s := r.textOf(a)
		fix(call, i, s)
		n += int64(s.Length())
	}
	if n > maxText {
		return fmt.Sprintf("concat asks for a text of %d characters; %d are allowed at once", n, maxText)
	}
	return ""
}

// checkText looks at the length of what is taken apart.
func (r *realm) checkText(call *goja.FunctionCall) string {
	if n, ok := fixThis(call); ok && n > maxItems {
		return fmt.Sprintf("a text of %d characters cannot be taken apart; %d can", n, maxItems)
	}
	return ""
}

// checkMatch looks at what is searched, and at the text that becomes a pattern.
func (r *realm) checkMatch(call *goja.FunctionCall) string {
	if why := r.checkText(call); why != "" {
		return why
	}
	if _, isObject := call.Argument(0).(*goja.Object); isObject {
		return "" // a pattern, which was looked at when it was made, or something that searches by itself
	}
	return r.checkPattern(call)
}

// checkRaw looks at how many parts there are.
func (r *realm) checkRaw(call *goja.FunctionCall) string {
	o, ok := call.Argument(0).(*goja.Object)
	if !ok {
		return ""
	}
	raw := r.ownProperty(o, "raw")
	if list, ok := raw.value.(*goja.Object); !raw.found || raw.accessor || ok && r.lengthOf(list) > maxItems {
		return "a template that is none"
	}
	return ""
}

// guardIterators puts the guards before what spreading asks, by a symbol, and before what no global leads to.
func (r *realm) guardIterators() error {
	array, text := r.object("Array.prototype"), r.object("String.prototype")
	if err := array.DefineDataPropertySymbol(goja.SymIterator, array.Get("values"), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
		return err
	}
	inner := asBuiltin(text.GetSymbol(goja.SymIterator).(*goja.Object))
	f := r.native("[Symbol.iterator]", 0, func(call goja.FunctionCall) goja.Value {
		r.look(&call, (*realm).checkText)
		return inner(call)
	})
	if err := text.DefineDataPropertySymbol(goja.SymIterator, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
		return err
	}
	typed := r.object("Int8Array").Prototype()
	from := asBuiltin(typed.Get("from").(*goja.Object))
	return typed.DefineDataProperty("from", r.native("from", 1, func(call goja.FunctionCall) goja.Value {
		r.look(&call, (*realm).checkTypedFrom)
		return from(call)
	}), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// checkTypedFrom is checkFrom for lists of numbers.
func (r *realm) checkTypedFrom(call *goja.FunctionCall) string {
	if n := r.lengthOf(call.Argument(0)); n > maxBuffer/8 {
		return fmt.Sprintf("a typed array of %.0f elements; %d are allowed at once", n, maxBuffer/8)
	}
	return ""
}
