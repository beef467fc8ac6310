package wasm

import "sallyport/compartment"

// promiseStates are the words for how far a promise is.
var promiseStates = [4]string{"pending", "fulfilled", "rejected", ""}

// The kinds of fields and elements in the arrays of boundary.js.
const (
	partValue = iota
	partGetter
	partHole
)

// fields copies the own enumerable properties that have a string for a name. Others are counted.
func (c *copier) fields(h handle) compartment.Value {
	in := c.in
	list := in.invoke(in.fixed.fields, h, c.number(float64(max(c.nodes, 0))))
	defer in.free(list)
	n := in.lengthOf(list)
	omitted := int64(in.numberAt(list, 0))
	var out []compartment.Field
	for i := 1; i+2 < n; i += 3 {
		if c.nodes <= 0 || c.bytes <= 0 || in.dead != nil {
			omitted += int64((n - i) / 3)
			break
		}
		key := in.element(list, i)
		name := in.text(key)
		in.free(key)
		c.bytes -= len(name)
		if repairSurrogates(name) != name {
			omitted++
			continue
		}
		out = append(out, compartment.Field{Name: name, Value: c.part(list, i+1)})
	}
	return compartment.OfObject(out...).Omitting(omitted)
}

// part copies one field or element: its kind stands at i, its value behind it.
func (c *copier) part(list handle, i int) compartment.Value {
	in := c.in
	switch int(in.numberAt(list, i)) {
	case partGetter:
		c.nodes--
		return compartment.OfMark(compartment.TypeGetter, "")
	case partHole:
		c.nodes--
		return compartment.OfMark(compartment.TypeHole, "")
	}
	h := in.element(list, i+1)
	defer in.free(h)
	return c.value(h)
}

// lengthOf is the length of an array of the boundary.
func (in *instance) lengthOf(list handle) int {
	h := in.field(list, "length")
	defer in.free(h)
	return int(in.number(h))
}

// array copies the elements. Only as many indexes are looked at as there is room for.
func (c *copier) array(h handle) compartment.Value {
	in := c.in
	list := in.invoke(in.fixed.elements, h, c.number(float64(max(c.nodes, 0))))
	defer in.free(list)
	length, n := int64(in.numberAt(list, 0)), in.lengthOf(list)
	items := []compartment.Value{}
	for i := 1; i+1 < n; i += 2 {
		if c.nodes <= 0 || c.bytes <= 0 || in.dead != nil {
			break
		}
		items = append(items, c.part(list, i))
	}
	return compartment.OfArray(items...).Omitting(length - int64(len(items)))
}

// collection copies a Map or a Set. An entry is of so many values.
func (c *copier) collection(h handle, t compartment.Type, take handle, values int) compartment.Value {
	in := c.in
	list := in.invoke(take, h, c.number(float64(max(c.nodes, 0))))
	defer in.free(list)
	size, n := int64(in.numberAt(list, 0)), in.lengthOf(list)
	var parts []compartment.Value
	for i := 1; i+values <= n; i += values {
		if c.nodes <= 0 || c.bytes <= 0 || in.dead != nil {
			break
		}
		for j := range values {
			v := in.element(list, i+j)
			parts = append(parts, c.value(v))
			in.free(v)
		}
	}
	return compartment.OfMark(t, "", parts...).Omitting(size - int64(len(parts)/values))
}

// numbers shows a typed array whose elements are not bytes.
func (c *copier) numbers(h handle) compartment.Value {
	in := c.in
	list := in.invoke(in.fixed.numbers, h, c.number(float64(max(c.nodes, 0))))
	name := in.invoke(in.fixed.typedName, h)
	defer in.free(list, name)
	length, n := int64(in.numberAt(list, 0)), in.lengthOf(list)
	var parts []compartment.Value
	for i := 1; i < n && c.nodes > 0 && in.dead == nil; i++ {
		v := in.element(list, i)
		parts = append(parts, c.value(v))
		in.free(v)
	}
	return compartment.OfMark(compartment.TypeOther, in.shortText(name, shortName), parts...).Omitting(length - int64(len(parts)))
}

// view copies the bytes that a view shows of its buffer.
func (c *copier) view(h handle) compartment.Value {
	in := c.in
	out := in.fixed.scratch + scratchOut
	buffer, threw := in.unwrap(handle(in.call(xViewBuffer, uint64(h), uint64(out), uint64(out+4), uint64(out+8))))
	defer in.free(buffer)
	if threw { // a DataView, or a view whose buffer is gone
		return c.mark(compartment.TypeOther, "view")
	}
	return c.octets(buffer, in.word(out), in.word(out+4))
}

// octets copies bytes of a buffer as far as the budget goes.
func (c *copier) octets(buffer handle, from, size uint32) compartment.Value {
	in := c.in
	out := in.fixed.scratch + scratchOut
	p := uint32(in.call(xBufferBytes, uint64(buffer), uint64(out)))
	whole := in.word(out)
	if p == 0 && in.dead == nil {
		in.free(handle(in.call(xGetException)))
		whole = 0
	}
	from = min(from, whole)
	size = min(size, whole-from)
	n := min(int64(size), int64(max(c.bytes, 0)))
	b, ok := in.at(p+from, uint32(n))
	if !ok {
		in.fault("bytes outside of its memory")
	}
	c.bytes -= len(b)
	return compartment.OfBytes(b).Omitting(int64(size) - n)
}

// boxNames are the constructors of the boxed values.
var boxNames = map[class]string{classNumber: "Number", classString: "String", classBoolean: "Boolean", classSymbol: "Symbol", classBigInt: "BigInt"}

// boxed shows a primitive that was made into an object.
func (c *copier) boxed(h handle, kind class) compartment.Value {
	in, name := c.in, boxNames[kind]
	box := in.newString(name)
	inner := in.invoke(in.fixed.unbox, box, h)
	defer in.free(box, inner)
	return c.mark(compartment.TypeBoxed, name, c.value(inner))
}
