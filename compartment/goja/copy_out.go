package goja

import (
	"math"
	"math/big"
	"reflect"
	"strings"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// copier copies one value, or the arguments of one call, out of the realm. It looks at internal slots and at
// descriptors of own properties only: no getter, trap, toString or toJSON of the guest runs. What the limits cut off
// is counted in the copy.
type copier struct {
	r     *realm
	nodes int // how many more parts may be copied
	bytes int // how much more text
	depth int
	path  []*goja.Object // the objects the current one is inside of
}

// copyResult copies the result of an evaluation.
func (r *realm) copyResult(v goja.Value) compartment.Value {
	l := r.host.Limits()
	c := copier{r: r, nodes: l.ValueNodes, bytes: l.OutputBytes, depth: l.ValueDepth}
	return c.value(v)
}

// copyArguments copies what the power at index i was called with. All of the arguments share one budget.
func (r *realm) copyArguments(i int, args []goja.Value) []compartment.Value {
	l, p := r.host.Limits(), r.host.Powers()[i]
	c := copier{r: r, nodes: l.ValueNodes, bytes: l.CallBytes, depth: l.ValueDepth}
	if p.Limits.ArgBytes > 0 {
		c.bytes = min(c.bytes, p.Limits.ArgBytes)
	}
	out := make([]compartment.Value, 0, min(len(args), c.nodes))
	for j, a := range args {
		if c.nodes <= 0 { // a million arguments: the rest is one note
			return append(out, compartment.OfMark(compartment.TypeOther, "more arguments").Omitting(int64(len(args)-j)))
		}
		out = append(out, c.value(a))
	}
	return out
}

// value copies one value.
func (c *copier) value(v goja.Value) compartment.Value {
	c.nodes--
	switch v := v.(type) {
	case nil:
		return compartment.Value{}
	case goja.String:
		return c.text(v)
	case *goja.Symbol:
		return c.mark(compartment.TypeSymbol, strings.TrimSuffix(strings.TrimPrefix(v.String(), "Symbol("), ")"))
	case *goja.Object:
		return c.object(v)
	default:
		return c.primitive(v)
	}
}

// bigDigits bounds the bits of a BigInt that is written in decimal: longer ones take the host minutes.
const bigBits = 1 << 16

// primitive copies what is neither text nor an object.
func (c *copier) primitive(v goja.Value) compartment.Value {
	switch {
	case goja.IsUndefined(v):
		return compartment.Value{}
	case goja.IsNull(v):
		return compartment.OfNull()
	}
	switch x := v.Export().(type) { // a primitive: nothing of the guest runs
	case bool:
		return compartment.OfBool(x)
	case int64:
		return compartment.OfNumber(float64(x))
	case float64:
		return compartment.OfNumber(x)
	case *big.Int:
		if x.BitLen() > bigBits {
			return compartment.OfMark(compartment.TypeOther, "BigInt of about "+digits(x.BitLen())+" digits").Omitting(1)
		}
		return compartment.OfBigInt(x)
	}
	return compartment.OfMark(compartment.TypeOther, "unknown").Omitting(1)
}

// digits is how many decimal digits that many bits are.
func digits(bits int) string { return big.NewInt(int64(float64(bits) * math.Log10(2))).String() }

// text copies a string, cut to what is left of the budget.
func (c *copier) text(s goja.String) compartment.Value {
	whole := s
	cut := 0
	if n := s.Length(); n > max(c.bytes, 0) {
		cut = n - max(c.bytes, 0)
		s = s.Substring(0, n-cut)
	}
	t := s.String()
	c.bytes -= len(t)
	v := compartment.OfString(t)
	if strings.ContainsRune(t, '\uFFFD') && hasLoneSurrogate(s) {
		v = v.Lossily()
	}
	if cut > 0 {
		v = v.Omitting(int64(whole.Length() - s.Length()))
	}
	return v
}

// hasLoneSurrogate tells whether a string of UTF-16 units is no text.
func hasLoneSurrogate(s goja.String) bool {
	for i, n := 0, s.Length(); i < n; i++ {
		switch u := s.CharAt(i); {
		case u >= 0xDC00 && u <= 0xDFFF:
			return true
		case u >= 0xD800 && u <= 0xDBFF:
			if i+1 >= n || s.CharAt(i+1) < 0xDC00 || s.CharAt(i+1) > 0xDFFF {
				return true
			}
			i++
		}
	}
	return false
}

// mark makes a mark whose name is cut to what is left of the budget.
func (c *copier) mark(t compartment.Type, name string, parts ...compartment.Value) compartment.Value {
	cut := 0
	if limit := max(min(c.bytes, 1000), 0); len(name) > limit {
		cut = len(name) - limit
		name = strings.ToValidUTF8(name[:limit], "")
	}
	c.bytes -= len(name)
	return compartment.OfMark(t, name, parts...).Omitting(int64(cut))
}

// object copies an object by what it is inside, whatever it says it is.
func (c *copier) object(o *goja.Object) compartment.Value {
	if name, ours := c.r.powers[o]; ours {
		return compartment.OfMark(compartment.TypeCapability, name)
	}
	typ := o.ExportType()
	if typ == typeProxy {
		return compartment.OfMark(compartment.TypeProxy, "")
	}
	for _, outer := range c.path {
		if outer == o {
			return compartment.OfMark(compartment.TypeCircular, "")
		}
	}
	if len(c.path) >= c.depth {
		return compartment.OfMark(compartment.TypeTooDeep, "").Omitting(1)
	}
	c.path = append(c.path, o)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	if typ == typePromise {
		return compartment.OfMark(compartment.TypePromise, promiseState(o))
	}
	if v, ok := c.buffer(o, typ); ok {
		return v
	}
	switch class := o.ClassName(); {
	case typ == typeMap:
		return c.entries(o, compartment.TypeMap, c.r.kept.mapForEach, c.r.kept.mapSize)
	case typ == typeSet && class == "Object": // an array has the same Go type, and its own class
		return c.entries(o, compartment.TypeSet, c.r.kept.setForEach, c.r.kept.setSize)
	default:
		return c.classed(o, class)
	}
}

// classed copies an object by its class, an internal slot.
func (c *copier) classed(o *goja.Object, class string) compartment.Value {
	switch class {
	case "Array":
		return c.array(o)
	case "Date":
		ms, ok := c.r.ask(c.r.kept.dateValue, o)
		if !ok {
			return c.mark(compartment.TypeOther, "Date")
		}
		return compartment.OfDate(ms.ToFloat())
	case "RegExp":
		return c.regexp(o)
	case "Error":
		return c.mark(compartment.TypeErrorObject, c.r.errorText(o))
	case "String", "Number", "Boolean":
		inner, ok := c.r.ask(c.r.kept.boxes[class], o)
		if !ok {
			return c.mark(compartment.TypeOther, class)
		}
		return c.mark(compartment.TypeBoxed, class, c.value(inner))
	case "Function", "AsyncFunction", "GeneratorFunction":
		return c.mark(compartment.TypeFunction, c.r.stringField(o, "name"))
	case "Object", "Arguments", "global", "Math", "JSON":
		return c.fields(o)
	default: // of no class with data of its own
		return c.mark(compartment.TypeOther, class)
	}
}

// array copies the elements. Only indexes are looked at, so that an array that says it is four billion long takes no
// time.
func (c *copier) array(o *goja.Object) compartment.Value {
	length := int64(0)
	if d := c.r.ownProperty(o, "length"); d.found {
		length = d.value.ToInteger()
	}
	items := []compartment.Value{}
	for i := range length {
		if c.nodes <= 0 || c.bytes <= 0 || c.stopped() {
			return compartment.OfArray(items...).Omitting(length - i)
		}
		items = append(items, c.property(c.r.ownPropertyAt(o, c.r.vm.ToValue(i)), compartment.OfMark(compartment.TypeHole, "")))
	}
	return compartment.OfArray(items...)
}

// fields copies the own enumerable properties that have a string for a name. Others are counted.
func (c *copier) fields(o *goja.Object) compartment.Value {
	list, ok := c.r.ask(c.r.kept.ownKeys, goja.Undefined(), o)
	if !ok {
		return c.mark(compartment.TypeOther, "object")
	}
	keys, omitted := list.ToObject(c.r.vm), int64(0)
	n := c.r.ownProperty(keys, "length").value.ToInteger()
	var out []compartment.Field
	for i := range n {
		if c.nodes <= 0 || c.bytes <= 0 || c.stopped() {
			omitted += n - i
			break
		}
		key := c.r.ownPropertyAt(keys, c.r.vm.ToValue(i)).value
		d := c.r.ownPropertyAt(o, key)
		if !d.found || !d.enumerable {
			continue
		}
		name, isText := key.(goja.String)
		if !isText || hasLoneSurrogate(name) {
			omitted++
			continue
		}
		k := c.text(name)
		text, whole := k.AsString()
		if !whole {
			omitted += n - i
			break
		}
		out = append(out, compartment.Field{Name: text, Value: c.property(d, compartment.Value{})})
	}
	if len(out) == 0 && omitted == 0 {
		if name := c.r.hidden(o); name != "" {
			return compartment.OfMark(compartment.TypeOther, name)
		}
	}
	return compartment.OfObject(out...).Omitting(omitted)
}

// property copies what a descriptor says: its value, or a mark where a getter would have to run.
func (c *copier) property(d property, absent compartment.Value) compartment.Value {
	switch {
	case !d.found:
		c.nodes--
		return absent
	case d.accessor:
		c.nodes--
		return compartment.OfMark(compartment.TypeGetter, "")
	}
	return c.value(d.value)
}

// enough ends a walk that has used up its budget. It is thrown through the built-in forEach.
const enough = "enough"

// entries copies a Map or a Set with the built-in forEach.
func (c *copier) entries(o *goja.Object, t compartment.Type, forEach, size builtin) compartment.Value {
	n, ok := c.r.ask(size, o)
	if !ok {
		return c.mark(compartment.TypeOther, t.String())
	}
	var parts []compartment.Value
	seen := int64(0)
	visit := func(call goja.FunctionCall) goja.Value {
		if c.nodes <= 0 || c.bytes <= 0 || c.stopped() {
			panic(c.r.vm.ToValue(enough))
		}
		seen++
		if t == compartment.TypeMap {
			parts = append(parts, c.value(call.Argument(1)))
		}
		parts = append(parts, c.value(call.Argument(0)))
		return goja.Undefined()
	}
	c.r.ask(forEach, o, c.r.vm.ToValue(visit)) // it may end early, by our own doing; what was not seen is counted
	return compartment.OfMark(t, "", parts...).Omitting(n.ToInteger() - seen)
}

// regexp shows a regular expression as it is written.
func (c *copier) regexp(o *goja.Object) compartment.Value {
	source, ok := c.r.ask(c.r.kept.regexpSource, o)
	if !ok {
		return c.mark(compartment.TypeRegExp, "RegExp")
	}
	text := "/" + source.String() + "/"
	for i, flag := range c.r.kept.regexpFlags {
		if on, ok := c.r.ask(flag, o); ok && on.ToBoolean() {
			text += string(regexpFlags[i].letter)
		}
	}
	return c.mark(compartment.TypeRegExp, text)
}

// buffer copies an ArrayBuffer or a typed array. Bytes are bytes; the other element types are shown.
func (c *copier) buffer(o *goja.Object, typ reflect.Type) (compartment.Value, bool) {
	if typ == typeBuffer {
		b, ok := o.Export().(goja.ArrayBuffer) // the built-in object itself: nothing of the guest runs
		return c.octets(b.Bytes()), ok
	}
	if !isTypedArray(typ) {
		return compartment.Value{}, false
	}
	if b, ok := o.Export().([]byte); ok { // as above
		return c.octets(b), true
	}
	items := reflect.ValueOf(o.Export())
	var parts []compartment.Value
	for i := range items.Len() {
		if c.nodes <= 0 {
			break
		}
		c.nodes--
		parts = append(parts, number(items.Index(i)))
	}
	name := strings.ToUpper(typ.Elem().Kind().String()[:1]) + typ.Elem().Kind().String()[1:] + "Array"
	return compartment.OfMark(compartment.TypeOther, name, parts...).Omitting(int64(items.Len() - len(parts))), true
}

// isTypedArray tells a typed array, which is a slice of numbers to goja, by the type goja names for it.
func isTypedArray(typ reflect.Type) bool {
	return typ.Kind() == reflect.Slice && typ.Elem().Kind() <= reflect.Float64
}

// number is one element of a typed array.
func number(v reflect.Value) compartment.Value {
	switch {
	case v.CanInt():
		return compartment.OfInt(v.Int())
	case v.CanUint():
		return compartment.OfBigInt(new(big.Int).SetUint64(v.Uint()))
	}
	return compartment.OfNumber(v.Float())
}

// octets copies bytes as far as the budget goes.
func (c *copier) octets(b []byte) compartment.Value {
	n := min(len(b), max(c.bytes, 0))
	c.bytes -= n
	return compartment.OfBytes(b[:n]).Omitting(int64(len(b) - n))
}

// stopped tells whether the evaluation's time is over: looking at a result is inside the budget.
func (c *copier) stopped() bool {
	if c.r.ev == nil {
		return false
	}
	_, yes := c.r.ev.Stopped()
	return yes
}

// promiseState is how far a promise is.
func promiseState(o *goja.Object) string {
	p, ok := o.Export().(*goja.Promise)
	if !ok {
		return ""
	}
	return [...]string{"pending", "fulfilled", "rejected"}[p.State()]
}
