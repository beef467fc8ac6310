package compartment

import (
	"math"
	"math/big"
	"time"
)

// Type says what a Value is. The first group is data and may cross the boundary both ways; the second group only says
// what stood at a place where there was no data, and never becomes an argument of a power or a result from one.
type Type uint8

// The types.
const (
	TypeUndefined Type = iota
	TypeNull
	TypeBool
	TypeNumber
	TypeBigInt
	TypeString
	TypeArray
	TypeObject
	TypeBytes // an ArrayBuffer or a view of one, copied
	TypeDate

	// Marks: a picture of something that is not data.
	TypeSymbol
	TypeFunction
	TypeCapability // a power, or an object that holds powers
	TypeGetter     // a property that would run code; it was not run
	TypeProxy      // never looked into: every look would run code
	TypePromise
	TypeMap
	TypeSet
	TypeRegExp
	TypeErrorObject
	TypeBoxed // a String, Number or Boolean object
	TypeOther // anything else: a generator, a WeakMap, an iterator
	TypeHole  // an array element that is not there
	TypeCircular
	TypeTooDeep
	typeCount
)

// typeNames are the words for people and for JSON.
var typeNames = [typeCount]string{"undefined", "null", "boolean", "number", "bigint", "string", "array", "object", "bytes", "date",
	"symbol", "function", "capability", "getter", "proxy", "promise", "map", "set", "regexp", "error", "boxed", "other",
	"hole", "circular", "too_deep"}

// String is the type's name in lower snake case.
func (t Type) String() string {
	if t < typeCount {
		return typeNames[t]
	}
	return "unknown"
}

// IsData tells whether values of this type may cross the boundary.
func (t Type) IsData() bool { return t <= TypeDate }

// Value is a copy of something of a guest, or something for a guest: plain data, of no engine, that changes no more.
// The zero Value is undefined. It shares nothing with the guest it was copied from.
type Value struct {
	typ     Type
	num     float64 // Bool (0 or 1), Number, Date (milliseconds)
	text    string  // String, TypeBigInt (decimal), and the name or source of a mark
	keys    []string
	items   []Value // elements; values of keys; Map: key, value, key, value; Boxed: the one inside
	bytes   []byte
	omitted int64 // how many elements, fields, or bytes of text were left out
	lossy   bool  // text had lone surrogates, which stand as U+FFFD
}

// OfNull is null.
func OfNull() Value { return Value{typ: TypeNull} }

// OfBool is true or false.
func OfBool(b bool) Value {
	v := Value{typ: TypeBool}
	if b {
		v.num = 1
	}
	return v
}

// OfNumber is a number; NaN, the infinities and -0 are kept.
func OfNumber(f float64) Value { return Value{typ: TypeNumber, num: f} }

// OfInt is an integer of the host: a number when a number holds it exactly, and a BigInt when not, so that a 64-bit
// identifier keeps its last digits.
func OfInt(n int64) Value {
	if n >= -1<<53 && n <= 1<<53 {
		return OfNumber(float64(n))
	}
	return OfBigInt(big.NewInt(n))
}

// OfBigInt is a BigInt.
func OfBigInt(n *big.Int) Value { return Value{typ: TypeBigInt, text: n.String()} }

// OfString is a string. Bytes that are not UTF-8 become U+FFFD and the value says so (Lossy).
func OfString(s string) Value {
	t := Value{typ: TypeString, text: s}
	if valid := toValid(s); valid != s {
		t.text, t.lossy = valid, true
	}
	return t
}

// OfArray is an array of items, which the caller gives away.
func OfArray(items ...Value) Value { return Value{typ: TypeArray, items: items} }

// Field is one named part of an object.
type Field struct {
	Name  string
	Value Value
}

// OfObject is a plain object with these own fields, in this order. A name that comes twice keeps its first place and
// its last value.
func OfObject(fields ...Field) Value {
	v := Value{typ: TypeObject}
	at := make(map[string]int, len(fields))
	for _, f := range fields {
		if i, ok := at[f.Name]; ok {
			v.items[i] = f.Value
			continue
		}
		at[f.Name] = len(v.keys)
		v.keys, v.items = append(v.keys, f.Name), append(v.items, f.Value)
	}
	return v
}

// OfBytes is a byte array; b is copied.
func OfBytes(b []byte) Value { return Value{typ: TypeBytes, bytes: append([]byte(nil), b...)} }

// OfTime is a date, to the millisecond, as JavaScript keeps it.
func OfTime(t time.Time) Value { return Value{typ: TypeDate, num: float64(t.UnixMilli())} }

// OfMark is a mark: a picture of what is not data. The engines make them. name is what is shown of it: a function's
// name, a symbol's description, a regular expression's source. parts are what it holds: the elements of a Set, the
// keys and values of a Map in turn, the one value of a Boxed. It returns undefined for a type that is data.
func OfMark(t Type, name string, parts ...Value) Value {
	if t.IsData() || t >= typeCount {
		return Value{}
	}
	v := OfString(name)
	v.typ, v.items = t, parts
	return v
}

// OfDate is a date from the milliseconds JavaScript keeps; NaN is an invalid date.
func OfDate(ms float64) Value { return Value{typ: TypeDate, num: ms} }

// Omitting returns v with a note that n elements, fields, or bytes of text were left out of it.
func (v Value) Omitting(n int64) Value { v.omitted += n; return v }

// Lossily returns v with a note that its text had lone surrogates.
func (v Value) Lossily() Value { v.lossy = true; return v }

// Type says what v is.
func (v Value) Type() Type { return v.typ }

// Omitted is how many elements, fields, or bytes of text were left out of v itself.
func (v Value) Omitted() int64 { return v.omitted }

// Lossy tells whether the text of v could not be kept exactly: it held lone surrogates, or was not UTF-8.
func (v Value) Lossy() bool { return v.lossy }

// AsBool is the boolean, and whether v is one.
func (v Value) AsBool() (b, ok bool) { return v.num != 0 && v.typ == TypeBool, v.typ == TypeBool }

// AsNumber is the number, and whether v is one.
func (v Value) AsNumber() (float64, bool) {
	if v.typ != TypeNumber {
		return 0, false
	}
	return v.num, true
}

// AsString is the text, and whether v is a string primitive that was kept whole and exactly.
func (v Value) AsString() (string, bool) {
	if v.typ != TypeString || v.lossy || v.omitted != 0 {
		return "", false
	}
	return v.text, true
}

// AsBigInt is the integer, and whether v is a BigInt.
func (v Value) AsBigInt() (*big.Int, bool) {
	if v.typ != TypeBigInt {
		return nil, false
	}
	return new(big.Int).SetString(v.text, 10)
}

// AsBytes is a copy of the bytes, and whether v is a byte array that was kept whole.
func (v Value) AsBytes() ([]byte, bool) {
	if v.typ != TypeBytes || v.omitted != 0 {
		return nil, false
	}
	return append([]byte(nil), v.bytes...), true
}

// Millis is the date in milliseconds, as JavaScript keeps it: NaN when v is an invalid date or none.
func (v Value) Millis() float64 {
	if v.typ != TypeDate {
		return math.NaN()
	}
	return v.num
}

// AsTime is the time, and whether v is a valid date.
func (v Value) AsTime() (time.Time, bool) {
	if v.typ != TypeDate || math.IsNaN(v.num) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(v.num)).UTC(), true
}

// Len is how many parts v has: elements, fields, entries.
func (v Value) Len() int { return len(v.items) }

// Item is the part at i, from 0 to Len()-1; undefined when there is none.
func (v Value) Item(i int) Value {
	if i < 0 || i >= len(v.items) {
		return Value{}
	}
	return v.items[i]
}

// Key is the name of the field at i; empty when v is no object or has no such field.
func (v Value) Key(i int) string {
	if i < 0 || i >= len(v.keys) {
		return ""
	}
	return v.keys[i]
}

// Get is the own field of that name, and whether there is one. Nothing is inherited.
func (v Value) Get(name string) (Value, bool) {
	for i, k := range v.keys {
		if k == name {
			return v.items[i], true
		}
	}
	return Value{}, false
}

// Name is what is shown of a mark: a function's name, a symbol's description. Empty for data.
func (v Value) Name() string {
	if v.typ.IsData() {
		return ""
	}
	return v.text
}
