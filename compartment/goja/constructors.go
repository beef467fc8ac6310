package goja

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"
)

// constructorCheck is a constructor that is looked at before it runs.
type constructorCheck struct {
	name  string
	check check
	why   string
}

// constructors are all of them.
var constructors = []constructorCheck{
	{"ArrayBuffer", (*realm).checkBuffer, "8 GiB ends the process"},
	{"Int8Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Uint8Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Uint8ClampedArray", (*realm).checkTyped, "as ArrayBuffer"},
	{"Int16Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Uint16Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Int32Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Uint32Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Float32Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"Float64Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"BigInt64Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"BigUint64Array", (*realm).checkTyped, "as ArrayBuffer"},
	{"BigInt", (*realm).checkBigInt, "reading digits takes their square"},
	{"RegExp", (*realm).checkPattern, "compiling recurses, and its error holds the pattern"},
	{"Proxy", (*realm).checkProxy, "looking through a million proxies recurses on the host's stack"},
}

// constructorChecks makes the object that measure.js takes the checks from.
func (r *realm) constructorChecks() *goja.Object {
	out := r.vm.NewObject()
	for _, c := range constructors {
		if err := out.DefineDataProperty(c.name, r.checker(c.name, c.check), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
			panic(err) // a new object takes every property
		}
	}
	return out
}

// checker makes a function that gives back the arguments to go on with, or throws.
func (r *realm) checker(name string, check check) *goja.Object {
	return r.native(name, 1, func(call goja.FunctionCall) goja.Value {
		r.look(&call, check)
		list := make([]any, len(call.Arguments))
		for i, a := range call.Arguments {
			list[i] = a
		}
		return r.vm.NewArray(list...)
	})
}

func (r *realm) checkBuffer(call *goja.FunctionCall) string {
	n := call.Argument(0).ToNumber().ToFloat()
	fix(call, 0, r.vm.ToValue(n))
	if n > maxBuffer {
		return fmt.Sprintf("a buffer of %.0f bytes; %d are allowed at once", n, maxBuffer)
	}
	r.take(n)
	return ""
}

// checkTyped counts every element as eight bytes.
func (r *realm) checkTyped(call *goja.FunctionCall) string {
	n := 0.0
	if o, ok := call.Argument(0).(*goja.Object); ok {
		n = r.lengthOf(o) // 0 for a buffer or typed array, which were looked at when they were made
	} else {
		v := call.Argument(0).ToNumber()
		n = v.ToFloat()
		fix(call, 0, v)
	}
	if n > maxBuffer/8 {
		return fmt.Sprintf("a typed array of %.0f elements; %d are allowed at once", n, maxBuffer/8)
	}
	r.take(n * 8)
	return ""
}

func (r *realm) checkBigInt(call *goja.FunctionCall) string {
	v := call.Argument(0)
	if _, isObject := v.(*goja.Object); isObject {
		v = v.ToString()
		fix(call, 0, v)
	}
	if s, ok := v.(goja.String); ok && s.Length() > maxDigits {
		return fmt.Sprintf("a BigInt of %d digits; %d can be read", s.Length(), maxDigits)
	}
	return ""
}

func (r *realm) checkPattern(call *goja.FunctionCall) string {
	v := call.Argument(0)
	if o, isObject := v.(*goja.Object); isObject {
		if o.ClassName() == "RegExp" {
			return "" // it was looked at when it was made
		}
		v = o.ToString()
		fix(call, 0, v)
	}
	s, ok := v.(goja.String)
	switch {
	case !ok:
	case s.Length() > maxPattern:
		return fmt.Sprintf("a pattern of %d characters; %d are allowed", s.Length(), maxPattern)
	case strings.Count(s.String(), "(") > maxGroups:
		return fmt.Sprintf("a pattern of more than %d groups", maxGroups)
	}
	return ""
}

// checkProxy counts the proxies around each other.
func (r *realm) checkProxy(call *goja.FunctionCall) string {
	o, _ := call.Argument(0).(*goja.Object)
	for range maxProxies {
		if o == nil || o.ExportType() != typeProxy {
			return ""
		}
		p, _ := o.Export().(goja.Proxy) // the built-in object itself: no trap runs
		o = p.Target()
	}
	return fmt.Sprintf("more than %d proxies around each other", maxProxies)
}
