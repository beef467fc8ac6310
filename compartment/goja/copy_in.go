package goja

import (
	"sallyport/compartment"

	"github.com/dop251/goja"
)

// copyIn makes the guest's copy of a value of the host: plain objects and arrays of its own realm, with own
// properties set directly, so that no setter of the guest runs and nothing of the host is shared. The value was
// checked to be data; its depth is bounded.
func (r *realm) copyIn(v compartment.Value) goja.Value {
	switch v.Type() {
	case compartment.TypeNull:
		return goja.Null()
	case compartment.TypeBool:
		b, _ := v.AsBool()
		return r.vm.ToValue(b)
	case compartment.TypeNumber:
		f, _ := v.AsNumber()
		return r.vm.ToValue(f)
	case compartment.TypeString:
		s, _ := v.AsString()
		return r.vm.ToValue(s)
	case compartment.TypeBigInt:
		n, _ := v.AsBigInt()
		return r.vm.ToValue(n)
	case compartment.TypeArray:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = r.copyIn(v.Item(i))
		}
		return r.vm.NewArray(items...)
	case compartment.TypeObject:
		return r.copyInObject(v)
	case compartment.TypeBytes:
		b, _ := v.AsBytes()
		return r.construct(r.kept.bytes, r.vm.ToValue(r.vm.NewArrayBuffer(b)))
	case compartment.TypeDate:
		return r.construct(r.kept.date, r.vm.ToValue(v.Millis()))
	}
	return goja.Undefined()
}

// copyInObject makes a plain object. A field called __proto__ is a field like any other.
func (r *realm) copyInObject(v compartment.Value) goja.Value {
	o := r.vm.NewObject()
	for i := range v.Len() {
		if err := o.DefineDataProperty(v.Key(i), r.copyIn(v.Item(i)), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
			panic(err) // a new object takes every property
		}
	}
	return o
}

// construct makes an object with a built-in constructor the guest cannot have changed.
func (r *realm) construct(ctor *goja.Object, arg goja.Value) goja.Value {
	o, err := r.vm.New(ctor, arg)
	if err != nil {
		panic(err)
	}
	return o
}
