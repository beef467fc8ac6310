package goja

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"sallyport/compartment"

	"github.com/dop251/goja"
)

// The sizes above which a built-in is not begun. Nothing can stop one that runs: the engine looks for a stop between
// instructions of the guest only.
const (
	maxText    = 16 << 20 // UTF-16 units one call may make: 32 MB at most, at once
	maxItems   = 16 << 20 // elements one call may visit: about a tenth of a second
	maxBuffer  = 64 << 20 // bytes of one buffer
	maxSpread  = 1 << 16  // arguments made out of a list
	maxDigits  = 10_000   // digits of a BigInt read or written: both take the square of it
	maxNesting = 500      // brackets inside each other, in JSON
	maxPattern = 10_000   // characters of a regular expression made at run time
	maxGroups  = 100      // groups in it
	maxProxies = 100      // proxies around each other: looking through them recurses on the stack of the host

	maxBits       = 1 << 20 // bits of a BigInt that one operation may make out of a count
	maxPrototypes = 1000    // prototypes of one object
	maxReplaced   = 1 << 28 // characters a replacement could make at worst
)

// check looks at a call before it is made. It may replace arguments by what they convert to, so that they cannot convert to something else
// afterwards, and says what is too large, or nothing.
type check func(r *realm, call *goja.FunctionCall) string

// look has a call looked at, on arguments of our own, and throws when something is too large.
func (r *realm) look(call *goja.FunctionCall, c check) {
	call.Arguments = append([]goja.Value(nil), call.Arguments...)
	if why := c(r, call); why != "" {
		r.throw(tooLarge("%s", why))
	}
}

// throw throws an error of the boundary into the guest.
func (r *realm) throw(f *compartment.Failure) { panic(r.throwable(f, nil)) }

// guard is one built-in that is looked at before it runs.
type guard struct {
	path  string
	check check
	why   string
}

// guards are all of them.
var guards = []guard{
	{"String.prototype.repeat", (*realm).checkRepeat, "one call asks for 2^40 characters"},
	{"String.prototype.padStart", (*realm).checkPad, "as repeat"},
	{"String.prototype.padEnd", (*realm).checkPad, "as repeat"},
	{"String.prototype.normalize", (*realm).checkNormalize, "grows eighteenfold and takes long"},
	{"String.prototype.replace", (*realm).checkReplace, "a million matches times a long text"},
	{"String.prototype.replaceAll", (*realm).checkReplace, "as replace"},
	{"JSON.parse", (*realm).checkJSON, "recurses on the host's stack"},
	{"Array.from", (*realm).checkFrom, "a length of 2^53 takes years"},
	{"Function.prototype.apply", checkListAt(1), "a list of 2^30 arguments is made at once"},
	{"Reflect.apply", checkListAt(2), "as apply"},
	{"Reflect.construct", checkListAt(1), "as apply"},
	{"Object.setPrototypeOf", (*realm).checkPrototype, "a proxy that is its own prototype recurses for ever"},
	{"Reflect.setPrototypeOf", (*realm).checkPrototype, "as above"},
	{"BigInt.prototype.toString", (*realm).checkDigits, "takes the square of the digits"},
	{"BigInt.asIntN", (*realm).checkBits, "2^53 bits of a negative number are made at once"},
	{"BigInt.asUintN", (*realm).checkBits, "as asIntN"},
}

// visitors are the built-ins of arrays that visit every index up to a length, which may be a lie of 2^53 - 1.
var visitors = strings.Fields(`concat copyWithin every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes
	indexOf lastIndexOf map reduce reduceRight reverse slice some sort splice toReversed toSorted toSpliced unshift with`)

// sums are more guards, of what is small for each part and large in all.
var sums = []guard{
	{"Array.prototype.concat", (*realm).checkConcat, "65,000 times a long list"},
	{"Array.prototype.flat", (*realm).checkFlat, "a million times a long list, or lists a million deep"},
	{"Array.prototype.values", (*realm).checkVisit, "spreading a list of 2^32 fills the memory in one step"},
	{"Array.prototype.keys", (*realm).checkVisit, "as values"},
	{"Array.prototype.entries", (*realm).checkVisit, "as values"},
	{"String.prototype.concat", (*realm).checkTexts, "65,000 times a long text"},
	{"String.prototype.split", (*realm).checkText, "a list of as many parts as there are characters"},
	{"String.prototype.match", (*realm).checkMatch, "as split; and a text is made a pattern"},
	{"String.prototype.matchAll", (*realm).checkMatch, "as match"},
	{"String.prototype.search", (*realm).checkMatch, "as match"},
	{"String.raw", (*realm).checkRaw, "a length of 2^53 takes years"},
}

// guard puts the guards in front of the built-ins. One that this engine does not have is left out.
func (r *realm) guard() error {
	for _, g := range slices.Concat(guards, sums) {
		if err := r.guardOne(g); err != nil {
			return fmt.Errorf("guard %s: %w", g.path, err)
		}
	}
	for _, name := range visitors {
		if r.object("Array.prototype").Get(name) == nil {
			continue
		}
		if err := r.guardOne(guard{path: "Array.prototype." + name, check: (*realm).checkVisit}); err != nil {
			return fmt.Errorf("guard Array.prototype.%s: %w", name, err)
		}
	}
	return errors.Join(r.guardProto(), r.guardText(), r.guardStringify(), r.guardIterators())
}

// guardOne replaces one built-in by a function of the same name that looks first.
func (r *realm) guardOne(g guard) error {
	at := strings.LastIndexByte(g.path, '.')
	holder, name := r.object(g.path[:at]), g.path[at+1:]
	object := holder.Get(name).(*goja.Object)
	inner := asBuiltin(object)
	f := r.native(name, int(object.Get("length").ToInteger()), func(call goja.FunctionCall) goja.Value {
		r.look(&call, g.check)
		return inner(call)
	})
	return holder.DefineDataProperty(name, f, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// fix replaces the argument at i by a primitive.
func fix(call *goja.FunctionCall, i int, v goja.Value) {
	if i < len(call.Arguments) {
		call.Arguments[i] = v
	}
}

// fixThis replaces this by its text. undefined and null are left for the built-in to complain of.
func fixThis(call *goja.FunctionCall) (length int64, ok bool) {
	if call.This == nil || goja.IsUndefined(call.This) || goja.IsNull(call.This) {
		return 0, false
	}
	s, ok := call.This.ToString().(goja.String)
	if ok {
		call.This = s
		length = int64(s.Length())
	}
	return length, ok
}

func (r *realm) checkRepeat(call *goja.FunctionCall) string {
	length, ok := fixThis(call)
	n := call.Argument(0).ToInteger()
	fix(call, 0, r.vm.ToValue(n))
	if ok && length > 0 && n > maxText/length {
		return fmt.Sprintf("repeat asks for a text of %.0f characters; %d are allowed at once", float64(n)*float64(length), maxText)
	}
	r.take(float64(n) * float64(length))
	return ""
}

func (r *realm) checkPad(call *goja.FunctionCall) string {
	n := call.Argument(0).ToInteger()
	fix(call, 0, r.vm.ToValue(n))
	if n > maxText {
		return fmt.Sprintf("padding asks for a text of %d characters; %d are allowed at once", n, maxText)
	}
	r.take(float64(n))
	return ""
}

func (r *realm) checkNormalize(call *goja.FunctionCall) string {
	if length, ok := fixThis(call); ok && length > maxText/18 {
		return fmt.Sprintf("normalize of %d characters; %d are allowed at once", length, maxText/18)
	}
	return ""
}

// checkReplace looks at what the replacement could make at worst. Without the g flag, and without a $ that stands for
// the match, it is put in once.
func (r *realm) checkReplace(call *goja.FunctionCall) string {
	length, ok := fixThis(call)
	with, isText := call.Argument(1).(goja.String)
	if !ok || !isText {
		return ""
	}
	most := float64(length+1) * float64(with.Length())
	if t := strings.ReplaceAll(with.String(), "$$", ""); strings.Contains(t, "$`") || strings.Contains(t, "$'") { // each stands for up to the whole text
		most += float64(length+1) * float64(length) * float64(strings.Count(t, "$`")+strings.Count(t, "$'"))
	}
	if most <= maxReplaced {
		return ""
	}
	if o, isObject := call.Argument(0).(*goja.Object); isObject && o.ClassName() == "RegExp" && !strings.Contains(with.String(), "$") {
		if global, ok := r.ask(r.kept.regexpFlags[0], o); ok && !global.ToBoolean() {
			return ""
		}
	}
	return fmt.Sprintf("a replacement of %d characters in a text of %d", with.Length(), length)
}

// checkJSON counts brackets inside each other. In JSON it is certain which ones are in a text.
func (r *realm) checkJSON(call *goja.FunctionCall) string {
	s, ok := call.Argument(0).ToString().(goja.String)
	if !ok {
		return ""
	}
	fix(call, 0, s)
	if s.Length() > maxItems {
		return fmt.Sprintf("JSON of %d characters; %d are read", s.Length(), maxItems)
	}
	depth, quoted := 0, false
	for i, n := 0, s.Length(); i < n; i++ {
		switch c := s.CharAt(i); {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxNesting {
				return fmt.Sprintf("JSON nests more than %d deep", maxNesting)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return ""
}

// checkVisit looks at the length of what is visited.
func (r *realm) checkVisit(call *goja.FunctionCall) string {
	if n := r.lengthOf(call.This); n > maxItems {
		return fmt.Sprintf("a list of %.0f elements cannot be visited; %d are allowed", n, maxItems)
	}
	return ""
}

func (r *realm) checkFrom(call *goja.FunctionCall) string {
	if n := r.lengthOf(call.Argument(0)); n > maxItems {
		return fmt.Sprintf("a list of %.0f elements cannot be made; %d are allowed", n, maxItems)
	}
	return ""
}

// checkListAt makes the check of a function whose argument at i is a list of arguments.
func checkListAt(i int) check {
	return func(r *realm, call *goja.FunctionCall) string {
		if n := r.lengthOf(call.Argument(i)); n > maxSpread {
			return fmt.Sprintf("a call with %.0f arguments; %d are allowed", n, maxSpread)
		}
		return ""
	}
}

// lengthOf is the length a built-in will read off v. A getter would give another one the second time, so a length
// that is computed counts as endless, but for that of a typed array. A proxy is asked; see the package comment.
func (r *realm) lengthOf(v goja.Value) float64 {
	o, ok := v.(*goja.Object)
	if !ok {
		return 0 // a text, or nothing: as long as it is
	}
	switch typ := o.ExportType(); {
	case typ == typeProxy:
		n := o.Get("length")
		if n == nil {
			return 0
		}
		return n.ToFloat()
	case isTypedArray(typ):
		return 0
	case o.ClassName() == "Array":
		return o.Get("length").ToFloat() // always data, and its own
	}
	n, plain := r.dataField(o, "length")
	switch {
	case plain:
		return n.ToFloat()
	case n == nil && !r.hasField(o, "length"):
		return 0
	}
	return math.Inf(1)
}

// checkPrototype refuses a prototype that is, or has, a proxy: such a proxy could be made its own prototype.
func (r *realm) checkPrototype(call *goja.FunctionCall) string {
	return r.proxyIn(call.Argument(1))
}

// proxyIn looks for a proxy among v and its prototypes.
func (r *realm) proxyIn(v goja.Value) string {
	o, _ := v.(*goja.Object)
	for range maxPrototypes {
		switch {
		case o == nil:
			return ""
		case o.ExportType() == typeProxy:
			return "a proxy cannot become a prototype afterwards"
		}
		o = o.Prototype()
	}
	return fmt.Sprintf("an object with more than %d prototypes", maxPrototypes)
}

// guardProto puts checkPrototype before the setter of __proto__.
func (r *realm) guardProto() error {
	holder := r.object("Object.prototype")
	d := r.kept.descriptor(goja.FunctionCall{Arguments: []goja.Value{holder, r.vm.ToValue("__proto__")}}).(*goja.Object)
	set := asBuiltin(d.Get("set").(*goja.Object))
	f := r.native("set __proto__", 1, func(call goja.FunctionCall) goja.Value {
		if why := r.proxyIn(call.Argument(0)); why != "" {
			r.throw(tooLarge("%s", why))
		}
		return set(call)
	})
	return holder.DefineAccessorProperty("__proto__", d.Get("get"), f, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// checkDigits looks at how long a BigInt is.
func (r *realm) checkDigits(call *goja.FunctionCall) string {
	if !goja.IsBigInt(call.This) {
		return ""
	}
	if n, ok := call.This.Export().(*big.Int); ok && n.BitLen() > maxDigits*4 {
		return fmt.Sprintf("a BigInt of more than %d digits cannot be written", maxDigits)
	}
	return ""
}

// checkBits looks at how many bits are asked for. To read fewer than there are is always possible.
func (r *realm) checkBits(call *goja.FunctionCall) string {
	n := call.Argument(0).ToNumber().ToFloat()
	fix(call, 0, r.vm.ToValue(n))
	if n > maxBits {
		return fmt.Sprintf("a BigInt of %.0f bits; %d are allowed", n, maxBits)
	}
	return ""
}
