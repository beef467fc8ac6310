package wasm

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"sallyport/compartment"
)

// copier copies one value, or the arguments of one call, out of the realm. What things are is asked of the engine, which knows them by their insides;
// their parts are taken by the boundary's own functions. No getter, trap, toString or toJSON of the guest runs. All of it runs inside the guest and
// so inside its limits. What the limits of the copy cut off is counted in the copy.
type copier struct {
	in    *instance
	nodes int // how many more parts may be copied
	bytes int // how much more text
	depth int
	path  []uint32 // the objects the current one is inside of
}

// copyResult copies the result of an evaluation.
func (in *instance) copyResult(h handle) compartment.Value {
	l := in.realm.host.Limits()
	c := copier{in: in, nodes: l.ValueNodes, bytes: l.OutputBytes, depth: l.ValueDepth}
	return c.value(h)
}

// copyArguments copies what the power at index i was called with. All of the arguments share one budget.
func (in *instance) copyArguments(i int, argc, argv uint32) []compartment.Value {
	l, p := in.realm.host.Limits(), in.realm.host.Powers()[i]
	c := copier{in: in, nodes: l.ValueNodes, bytes: l.CallBytes, depth: l.ValueDepth}
	if p.Limits.ArgBytes > 0 {
		c.bytes = min(c.bytes, p.Limits.ArgBytes)
	}
	out := make([]compartment.Value, 0, min(int(argc), c.nodes))
	for j := range argc {
		if c.nodes <= 0 { // very many arguments: the rest is one note
			return append(out, compartment.OfMark(compartment.TypeOther, "more arguments").Omitting(int64(argc-j)))
		}
		out = append(out, c.value(handle(in.word(argv+4*j))))
	}
	return out
}

// The types of qjs_typeof. Anything else is a number.
const (
	tagBigInt      = -9
	tagSymbol      = -8
	tagString      = -7
	tagRope        = -6 // a string that is still in parts
	tagObject      = -1
	tagInteger     = 0
	tagBoolean     = 1
	tagNull        = 2
	tagUndefined   = 3
	tagShortBigInt = 7
)

// sampleTags are the types of boundary.js's list of one value of each; 0 there stands for any number.
var sampleTags = []int32{tagShortBigInt, tagBigInt, tagSymbol, tagString, tagObject, tagObject, tagInteger, tagBoolean, tagNull, tagUndefined}

// value copies one value. The handle stays the caller's.
func (c *copier) value(h handle) compartment.Value {
	c.nodes--
	in := c.in
	switch in.typeOf(h) {
	case tagUndefined:
		return compartment.Value{}
	case tagNull:
		return compartment.OfNull()
	case tagBoolean:
		return compartment.OfBool(in.call(xGetBool, uint64(h)) != 0)
	case tagString, tagRope:
		return c.text(h)
	case tagBigInt, tagShortBigInt:
		return c.bigInt(h)
	case tagSymbol:
		d := in.invoke(in.fixed.describe, h)
		defer in.free(d)
		return c.mark(compartment.TypeSymbol, c.shortText(d))
	case tagObject:
		return c.object(h)
	}
	return compartment.OfNumber(in.number(h))
}

// preview is how much of a text is kept when there is no room for all of it. The whole is then not exact anyhow, and people are shown less than that.
const preview = 16 << 10

// text copies a string, cut to what is left of the budget.
func (c *copier) text(h handle) compartment.Value {
	in, room := c.in, max(c.bytes, 0)
	pair := in.invoke(in.fixed.cut, h, c.number(float64(max(room, 1))))
	defer in.free(pair)
	length := int(in.numberAt(pair, 0))
	if length <= room {
		whole := in.element(pair, 1)
		defer in.free(whole)
		return c.spent(in.text(whole))
	}
	short := in.invoke(in.fixed.cut, h, c.number(float64(max(min(room, preview), 1))))
	beginning := in.element(short, 1)
	defer in.free(short, beginning)
	v := c.spent(in.text(beginning))
	return v.Omitting(int64(length - utf16Length(v)))
}

// number makes a number that the next call takes. It is given back when the instance is; there is one at a time.
func (c *copier) number(f float64) handle {
	in := c.in
	in.free(in.lastNumber)
	in.lastNumber = in.newNumber(f)
	return in.lastNumber
}

// spent takes a text from the budget and makes a value of it.
func (c *copier) spent(s string) compartment.Value {
	c.bytes -= len(s)
	return textValue(s)
}

// textValue makes a value of text of the guest. A lone surrogate is three bytes that are not UTF-8; they become one U+FFFD.
func textValue(s string) compartment.Value {
	if !strings.Contains(s, "\xed") {
		return compartment.OfString(s)
	}
	whole := repairSurrogates(s)
	v := compartment.OfString(whole)
	if whole != s {
		v = v.Lossily()
	}
	return v
}

// repairSurrogates replaces the three bytes of a lone surrogate by U+FFFD.
func repairSurrogates(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == 0xed && i+2 < len(s) && s[i+1] >= 0xa0 {
			b.WriteString("\uFFFD")
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// utf16Length is the length of a text value in the units of the language.
func utf16Length(v compartment.Value) int {
	s, _ := v.AsString()
	n := 0
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// shortName bounds the name of a mark.
const shortName = 1000

// shortText reads a string of which a beginning will do; anything else is empty.
func (c *copier) shortText(h handle) string { return c.in.shortText(h, shortName) }

// shortText reads the first most units of a string, and says so when that is not all; anything but a string is empty.
func (in *instance) shortText(h handle, most int) string {
	if t := in.typeOf(h); t != tagString && t != tagRope {
		return ""
	}
	n := in.newNumber(float64(most))
	pair := in.invoke(in.fixed.cut, h, n)
	beginning := in.element(pair, 1)
	defer in.free(n, pair, beginning)
	s := repairSurrogates(in.text(beginning))
	if length := int(in.numberAt(pair, 0)); length > most {
		s += fmt.Sprintf("… (%d characters in all)", length)
	}
	return s
}

// bigDigits bounds the digits of a BigInt that is copied.
const bigDigits = 20_000

// bigInt copies a BigInt.
func (c *copier) bigInt(h handle) compartment.Value {
	digits := c.in.text(h)
	c.bytes -= len(digits)
	n, ok := new(big.Int).SetString(digits, 10)
	if len(digits) > bigDigits || !ok {
		return compartment.OfMark(compartment.TypeOther, "BigInt of "+numberOf(len(strings.TrimPrefix(digits, "-")))+" digits").Omitting(1)
	}
	return compartment.OfBigInt(n)
}

// numberOf writes a count.
func numberOf(n int) string { return big.NewInt(int64(n)).String() }

// mark makes a mark whose name is cut to what is left of the budget.
func (c *copier) mark(t compartment.Type, name string, parts ...compartment.Value) compartment.Value {
	cut := 0
	if limit := max(min(c.bytes, shortName), 0); len(name) > limit {
		cut = len(name) - limit
		name = strings.ToValidUTF8(name[:limit], "")
	}
	c.bytes -= len(name)
	return compartment.OfMark(t, name, parts...).Omitting(int64(cut))
}

// object copies an object by what it is inside, whatever it says it is.
func (c *copier) object(h handle) compartment.Value {
	in := c.in
	kind := in.classOf(h)
	if kind == classProxy {
		return compartment.OfMark(compartment.TypeProxy, "")
	}
	p := in.pointer(h)
	if name, ours := in.realm.powers[p]; ours {
		return compartment.OfMark(compartment.TypeCapability, name)
	}
	for _, outer := range c.path {
		if outer == p {
			return compartment.OfMark(compartment.TypeCircular, "")
		}
	}
	if len(c.path) >= c.depth || c.nodes < 0 || in.dead != nil {
		return compartment.OfMark(compartment.TypeTooDeep, "").Omitting(1)
	}
	c.path = append(c.path, p)
	v := c.classed(h, kind)
	c.path = c.path[:len(c.path)-1]
	return v
}

// classOf is what an object is inside.
func (in *instance) classOf(h handle) class {
	return in.fixed.classes[uint32(in.call(xClassID, uint64(h)))]
}

// classed copies an object of a class.
func (c *copier) classed(h handle, kind class) compartment.Value {
	in := c.in
	switch kind {
	case classPlain:
		return c.fields(h)
	case classArray:
		return c.array(h)
	case classDate:
		ms := in.invoke(in.fixed.date, h)
		defer in.free(ms)
		return compartment.OfDate(in.number(ms))
	case classMap:
		return c.collection(h, compartment.TypeMap, in.fixed.entries, 2)
	case classSet:
		return c.collection(h, compartment.TypeSet, in.fixed.members, 1)
	case classRegExp:
		text := in.invoke(in.fixed.regexp, h)
		defer in.free(text)
		return c.mark(compartment.TypeRegExp, c.shortText(text))
	case classError:
		return c.mark(compartment.TypeErrorObject, in.errorText(h))
	case classPromise:
		return compartment.OfMark(compartment.TypePromise, promiseStates[in.call(xPromiseState, uint64(h))&3])
	case classBuffer:
		return c.octets(h, 0, math.MaxUint32)
	case classBytes, classView:
		return c.view(h)
	case classNumbers:
		return c.numbers(h)
	case classNumber, classString, classBoolean, classSymbol, classBigInt:
		return c.boxed(h, kind)
	}
	if in.call(xIsFunction, uint64(h)) != 0 {
		return c.mark(compartment.TypeFunction, in.dataText(h, "name"))
	}
	name := handle(in.call(xClassName, uint64(h)))
	defer in.free(name)
	class := c.shortText(name) // a generator, an iterator, a weak map: they have no data of their own
	if strings.Contains(class, "Iterator") || strings.Contains(class, "Generator") {
		class = "iterator" // the word for all of them, on every engine
	}
	return c.mark(compartment.TypeOther, class)
}
