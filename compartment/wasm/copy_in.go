package wasm

import "sallyport/compartment"

// defineOwn are the flags of a property that is like any other: writable, enumerable, configurable.
const defineOwn = 7

// copyIn makes the guest's copy of a value of the host: plain objects and arrays of its own realm, whose properties are defined and not assigned, so
// that nothing of the guest runs and nothing of the host is shared. The value was checked to be data; its depth is bounded. 0 says that the
// guest has no room for it.
func (in *instance) copyIn(v compartment.Value) handle {
	if in.dead != nil {
		return 0
	}
	switch v.Type() {
	case compartment.TypeNull:
		return in.again(in.fixed.null)
	case compartment.TypeBool:
		if b, _ := v.AsBool(); b {
			return in.again(in.fixed.yes)
		}
		return in.again(in.fixed.no)
	case compartment.TypeNumber:
		f, _ := v.AsNumber()
		return in.newNumber(f)
	case compartment.TypeString:
		s, _ := v.AsString()
		return in.newString(s)
	case compartment.TypeArray:
		return in.copyInArray(v)
	case compartment.TypeObject:
		return in.copyInObject(v)
	case compartment.TypeBytes:
		b, _ := v.AsBytes()
		return in.newBytes(b)
	case compartment.TypeBigInt:
		n, _ := v.AsBigInt()
		return in.convert(in.fixed.newBigInt, in.newString(n.String()))
	case compartment.TypeDate:
		return in.convert(in.fixed.newDate, in.newNumber(v.Millis()))
	}
	return in.again(in.fixed.undefined)
}

// again is another handle for a value.
func (in *instance) again(h handle) handle { return handle(in.call(xDupValue, uint64(h))) }

// convert makes a value of another with a function of the boundary.
func (in *instance) convert(f, from handle) handle {
	defer in.free(from)
	return in.invoke(f, from)
}

// copyInArray makes an array.
func (in *instance) copyInArray(v compartment.Value) handle {
	array := handle(in.call(xNewArray))
	for i := range v.Len() {
		item := in.copyIn(v.Item(i))
		in.call(xSetIndex, uint64(array), uint64(i), uint64(item))
		in.free(item)
	}
	return array
}

// copyInObject makes a plain object. A field called __proto__ is a field like any other.
func (in *instance) copyInObject(v compartment.Value) handle {
	o := handle(in.call(xNewObject))
	for i := range v.Len() {
		key, item := in.newString(v.Key(i)), in.copyIn(v.Item(i))
		in.call(xDefine, uint64(o), uint64(key), uint64(item), defineOwn)
		in.free(key, item)
	}
	return o
}

// newBytes makes a Uint8Array.
func (in *instance) newBytes(b []byte) handle {
	return handle(in.place(string(b), func(p uint32) uint64 { return in.call(xNewBytes, uint64(p), uint64(len(b))) }))
}
