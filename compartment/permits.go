package compartment

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// Permit is a row of the table of what a guest may see: one object of the language and its properties.
type Permit struct {
	// Object is a global by its name, "globalThis" for the names of the globals themselves, a path from a global ("Array.prototype"), or a
	// name between percent signs for an object that no global leads to.
	Object string
	// Names are the properties, with a space between. A symbol is written "@@iterator". Every function also has length and name.
	Names string
	// Why says why a guest may have it.
	Why string
}

// Denial is a row of the table of what engines have and a guest must not see. It changes nothing, since what is not permitted is removed; it
// tells a name that was thought about from one that is new.
type Denial struct {
	// Name is a path: "Date.now" is not one of them, since it is replaced; "WeakRef" is.
	Name string
	// Why says why a guest must not have it.
	Why string
}

// Permits is the table of what a guest may see. Engines lack parts of it; none has more.
func Permits() []Permit { return append([]Permit(nil), permits...) }

// Denials is the table of what is known and removed.
func Denials() []Denial { return append([]Denial(nil), denials...) }

//go:embed harden.js
var hardenSource string

// HardeningScript is the source of the script that makes a fresh realm into one a guest may run in: it is one expression, a function. What it
// is called with and what it returns is in the comment at its head. It is for engines, which run it once before any guest code.
func HardeningScript() string { return hardenSource }

// PermitsJSON is the table as the hardening script wants it: an object of arrays of names.
func PermitsJSON() string {
	table := map[string][]string{}
	for _, p := range permits {
		if table[p.Object] == nil {
			table[p.Object] = []string{}
		}
		table[p.Object] = append(table[p.Object], strings.Fields(p.Names)...)
	}
	b, err := json.Marshal(table)
	if err != nil {
		panic(err) // strings can always be written
	}
	return string(b)
}

// Reasons that come again.
const (
	whyPure      = "computes from its arguments and nothing else"
	whyContainer = "holds values of the guest"
	whyError     = "errors are how the language, and the boundary, say no"
	whyInherited = "behind literals and syntax of the language; frozen with the rest"
	whyElements  = "an element type of binary data"
)

// permits is the table. The order is that of the language's standard.
var permits = []Permit{
	{"globalThis", "globalThis Infinity NaN undefined", "the one object that a guest may change, and constants"},
	{"globalThis", "eval Function", "refused, or bound to the compartment's own global, as the configuration says; the names stay, for typeof and instanceof"},
	{"globalThis", "isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape", whyPure},
	{"globalThis", "Object Boolean Symbol Number BigInt String RegExp Math JSON Reflect Proxy Iterator", "the language's own types; no state of their own once frozen"},
	{"globalThis", "Array ArrayBuffer DataView Map Set WeakMap WeakSet Promise DisposableStack AsyncDisposableStack", whyContainer},
	{"globalThis", "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array", whyElements},
	{"globalThis", "Float16Array Float32Array Float64Array", whyElements},
	{"globalThis", "Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError SuppressedError", whyError},
	{"globalThis", "InternalError", "QuickJS throws it; a thrown one leads to it, so it is frozen with the others"},
	{"globalThis", "Date", "computes with dates it is given; the present moment is withheld"},

	{"Object", "assign create defineProperties defineProperty entries freeze fromEntries getOwnPropertyDescriptor getOwnPropertyDescriptors", whyPure},
	{"Object", "getOwnPropertyNames getOwnPropertySymbols getPrototypeOf groupBy hasOwn is isExtensible isFrozen isSealed keys", whyPure},
	{"Object", "preventExtensions prototype seal setPrototypeOf values", whyPure},
	{"Object.prototype", "constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf", whyInherited},
	{"Object.prototype", "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ __proto__", "old programs use them; no more than Object.defineProperty can do"},
	{"Function", "prototype", whyInherited},
	{"Function.prototype", "apply bind call constructor toString @@hasInstance", whyInherited},
	{"%GeneratorFunction%", "prototype", whyInherited},
	{"%GeneratorFunction%.prototype", "constructor prototype @@toStringTag", whyInherited},
	{"%GeneratorFunction%.prototype.prototype", "constructor next return throw @@toStringTag", whyInherited},
	{"%AsyncFunction%", "prototype", whyInherited},
	{"%AsyncFunction%.prototype", "constructor @@toStringTag", whyInherited},
	{"%AsyncGeneratorFunction%", "prototype", whyInherited},
	{"%AsyncGeneratorFunction%.prototype", "constructor prototype @@toStringTag", whyInherited},
	{"%AsyncGeneratorFunction%.prototype.prototype", "constructor next return throw @@toStringTag", whyInherited},

	{"Boolean", "prototype", whyPure},
	{"Boolean.prototype", "constructor toString valueOf", whyPure},
	{"Symbol", "asyncDispose asyncIterator dispose hasInstance isConcatSpreadable iterator match matchAll replace search species split toPrimitive toStringTag unscopables", "the names of the language's protocols"},
	{"Symbol", "for keyFor prototype", "the registry belongs to the compartment alone"},
	{"Symbol.prototype", "constructor description toString valueOf @@toPrimitive @@toStringTag", whyPure},
	{"Error", "captureStackTrace isError prototype", whyError},
	{"Error.prototype", "constructor message name stack toString", "stacks name the guest's own lines and no others"},
	{"EvalError", "prototype", whyError},
	{"EvalError.prototype", "constructor message name", whyError},
	{"RangeError", "prototype", whyError},
	{"RangeError.prototype", "constructor message name", whyError},
	{"ReferenceError", "prototype", whyError},
	{"ReferenceError.prototype", "constructor message name", whyError},
	{"SyntaxError", "prototype", whyError},
	{"SyntaxError.prototype", "constructor message name", whyError},
	{"TypeError", "prototype", whyError},
	{"TypeError.prototype", "constructor message name", whyError},
	{"URIError", "prototype", whyError},
	{"URIError.prototype", "constructor message name", whyError},
	{"AggregateError", "prototype", whyError},
	{"AggregateError.prototype", "constructor message name", whyError},
	{"SuppressedError", "prototype", whyError},
	{"SuppressedError.prototype", "constructor message name", whyError},
	{"InternalError", "prototype", whyError},
	{"InternalError.prototype", "constructor message name", whyError},

	{"Number", "EPSILON MAX_SAFE_INTEGER MAX_VALUE MIN_SAFE_INTEGER MIN_VALUE NaN NEGATIVE_INFINITY POSITIVE_INFINITY", whyPure},
	{"Number", "isFinite isInteger isNaN isSafeInteger parseFloat parseInt prototype", whyPure},
	{"Number.prototype", "constructor toExponential toFixed toLocaleString toPrecision toString valueOf", "no locale is there, so the answer is the same on every host"},
	{"BigInt", "asIntN asUintN prototype", whyPure},
	{"BigInt.prototype", "constructor toLocaleString toString valueOf @@toStringTag", whyPure},
	{"Math", "E LN10 LN2 LOG10E LOG2E PI SQRT1_2 SQRT2 @@toStringTag", whyPure},
	{"Math", "abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 f16round floor fround hypot imul log log10 log1p log2", whyPure},
	{"Math", "max min pow round sign sin sinh sqrt sumPrecise tan tanh trunc", whyPure},
	{"Math", "random", "withheld: it refuses, and says who can grant it"},
	{"Date", "UTC parse prototype", whyPure},
	{"Date", "now", "withheld: it refuses, and says who can grant it"},
	{"Date.prototype", "constructor getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getTime getTimezoneOffset getYear", "the time zone is UTC on every host"},
	{"Date.prototype", "getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMilliseconds getUTCMinutes getUTCMonth getUTCSeconds", whyPure},
	{"Date.prototype", "setDate setFullYear setHours setMilliseconds setMinutes setMonth setSeconds setTime setYear", whyPure},
	{"Date.prototype", "setUTCDate setUTCFullYear setUTCHours setUTCMilliseconds setUTCMinutes setUTCMonth setUTCSeconds", whyPure},
	{"Date.prototype", "toDateString toGMTString toISOString toJSON toLocaleDateString toLocaleString toLocaleTimeString toString toTimeString toUTCString valueOf @@toPrimitive", whyPure},

	{"String", "fromCharCode fromCodePoint prototype raw", whyPure},
	{"String.prototype", "at charAt charCodeAt codePointAt concat constructor endsWith includes indexOf isWellFormed lastIndexOf length localeCompare match matchAll", whyPure},
	{"String.prototype", "normalize padEnd padStart repeat replace replaceAll search slice split startsWith substr substring toLocaleLowerCase toLocaleUpperCase", whyPure},
	{"String.prototype", "toLowerCase toString toUpperCase toWellFormed trim trimEnd trimLeft trimRight trimStart valueOf @@iterator", whyPure},
	{"String.prototype", "anchor big blink bold fixed fontcolor fontsize italics link small strike sub sup", whyPure},
	{"RegExp", "escape prototype @@species", whyPure},
	{"RegExp.prototype", "constructor dotAll exec flags global hasIndices ignoreCase multiline source sticky test toString unicode unicodeSets", whyPure},
	{"RegExp.prototype", "@@match @@matchAll @@replace @@search @@split", whyPure},

	{"Array", "from fromAsync isArray of prototype @@species", whyContainer},
	{"Array.prototype", "at concat constructor copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes", whyContainer},
	{"Array.prototype", "indexOf join keys lastIndexOf length map pop push reduce reduceRight reverse shift slice some sort splice toLocaleString toReversed toSorted", whyContainer},
	{"Array.prototype", "toSpliced toString unshift values with @@iterator @@unscopables", whyContainer},
	{"Array.prototype.@@unscopables", "at copyWithin entries fill find findIndex findLast findLastIndex flat flatMap includes keys toReversed toSorted toSpliced values", whyInherited},
	{"%TypedArray%", "from of prototype @@species", whyContainer},
	{"%TypedArray%.prototype", "at buffer byteLength byteOffset constructor copyWithin entries every fill filter find findIndex findLast findLastIndex forEach", whyContainer},
	{"%TypedArray%.prototype", "includes indexOf join keys lastIndexOf length map reduce reduceRight reverse set slice some sort subarray toLocaleString", whyContainer},
	{"%TypedArray%.prototype", "toReversed toSorted toString values with @@iterator @@toStringTag", whyContainer},
	{"Int8Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Int8Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Uint8Array", "BYTES_PER_ELEMENT fromBase64 fromHex prototype", whyElements},
	{"Uint8Array.prototype", "BYTES_PER_ELEMENT constructor setFromBase64 setFromHex toBase64 toHex", whyElements},
	{"Uint8ClampedArray", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Uint8ClampedArray.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Int16Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Int16Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Uint16Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Uint16Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Int32Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Int32Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Uint32Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Uint32Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"BigInt64Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"BigInt64Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"BigUint64Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"BigUint64Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Float16Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Float16Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Float32Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Float32Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"Float64Array", "BYTES_PER_ELEMENT prototype", whyElements},
	{"Float64Array.prototype", "BYTES_PER_ELEMENT constructor", whyElements},
	{"ArrayBuffer", "isView prototype @@species", whyContainer},
	{"ArrayBuffer.prototype", "byteLength constructor detached immutable maxByteLength resizable resize slice sliceToImmutable", whyContainer},
	{"ArrayBuffer.prototype", "transfer transferToFixedLength transferToImmutable @@toStringTag", whyContainer},
	{"DataView", "prototype", whyContainer},
	{"DataView.prototype", "buffer byteLength byteOffset constructor @@toStringTag", whyContainer},
	{"DataView.prototype", "getBigInt64 getBigUint64 getFloat16 getFloat32 getFloat64 getInt16 getInt32 getInt8 getUint16 getUint32 getUint8", whyContainer},
	{"DataView.prototype", "setBigInt64 setBigUint64 setFloat16 setFloat32 setFloat64 setInt16 setInt32 setInt8 setUint16 setUint32 setUint8", whyContainer},
	{"Map", "groupBy prototype @@species", whyContainer},
	{"Map.prototype", "clear constructor delete entries forEach get getOrInsert getOrInsertComputed has keys set size values @@iterator @@toStringTag", whyContainer},
	{"Set", "prototype @@species", whyContainer},
	{"Set.prototype", "add clear constructor delete difference entries forEach has intersection isDisjointFrom isSubsetOf isSupersetOf keys size", whyContainer},
	{"Set.prototype", "symmetricDifference union values @@iterator @@toStringTag", whyContainer},
	{"WeakMap", "prototype", "what is collected cannot be seen through it"},
	{"WeakMap.prototype", "constructor delete get getOrInsert getOrInsertComputed has set @@toStringTag", whyContainer},
	{"WeakSet", "prototype", "what is collected cannot be seen through it"},
	{"WeakSet.prototype", "add constructor delete has @@toStringTag", whyContainer},
	{"JSON", "isRawJSON parse rawJSON stringify @@toStringTag", whyPure},

	{"Iterator", "concat from prototype zip zipKeyed", whyPure},
	{"Iterator.zip", "prototype", whyInherited},
	{"Iterator.zip.prototype", "constructor", whyInherited},
	{"Iterator.zipKeyed", "prototype", whyInherited},
	{"Iterator.zipKeyed.prototype", "constructor", whyInherited},
	{"Iterator.prototype", "constructor drop every filter find flatMap forEach map reduce some take toArray @@dispose @@iterator @@toStringTag", whyInherited},
	{"Iterator.prototype", "chunks includes join windows", "proposals that QuickJS has; they compute from their arguments"},
	{"%ArrayIteratorPrototype%", "next @@toStringTag", whyInherited},
	{"%StringIteratorPrototype%", "next @@toStringTag", whyInherited},
	{"%MapIteratorPrototype%", "next @@toStringTag", whyInherited},
	{"%SetIteratorPrototype%", "next @@toStringTag", whyInherited},
	{"%RegExpStringIteratorPrototype%", "next @@toStringTag", whyInherited},
	{"%IteratorHelperPrototype%", "next return @@toStringTag", whyInherited},
	{"%WrapForValidIteratorPrototype%", "next return", whyInherited},
	{"%AsyncIteratorPrototype%", "@@asyncDispose @@asyncIterator", whyInherited},
	{"%ThrowTypeError%", "", "behind arguments.callee in strict code; it throws"},

	{"Promise", "all allSettled any prototype race reject resolve try withResolvers @@species", whyContainer},
	{"Promise.prototype", "catch constructor finally then @@toStringTag", whyContainer},
	{"DisposableStack", "prototype", whyContainer},
	{"DisposableStack.prototype", "adopt constructor defer dispose disposed move use @@dispose @@toStringTag", whyContainer},
	{"AsyncDisposableStack", "prototype", whyContainer},
	{"AsyncDisposableStack.prototype", "adopt constructor defer disposeAsync disposed move use @@asyncDispose @@toStringTag", whyContainer},
	{"Reflect", "apply construct defineProperty deleteProperty get getOwnPropertyDescriptor getPrototypeOf has isExtensible ownKeys preventExtensions", whyPure},
	{"Reflect", "set setPrototypeOf @@toStringTag", whyPure},
	{"Proxy", "revocable", "a guest may deceive itself; the boundary looks at what things are inside"},
}

// denials is what the engines have besides.
var denials = []Denial{
	{"WeakRef", "tells when memory is collected: a clock, and different on every run"},
	{"FinalizationRegistry", "as WeakRef"},
	{"SharedArrayBuffer", "with a worker it is a clock; there are no workers"},
	{"Atomics", "waits, and is of no use without shared memory"},
	{"performance", "a clock"},
	{"queueMicrotask", "not of the language; Promise does the same"},
	{"DOMException", "not of the language; a constructor of the host"},
	{"atob", "not of the language; Uint8Array.fromBase64 is"},
	{"btoa", "not of the language; Uint8Array.prototype.toBase64 is"},
	{"globalThis.@@toStringTag", "not of the language"},
	{"GoError", "shows errors of the host"},
	{"Array.prototype.@@unscopables.groupBy", "as groupByToMap"},
	{"Array.prototype.@@unscopables.groupByToMap", "a withdrawn proposal; Map.groupBy is in the language"},
	{"Error.stackTraceLimit", "state that all code of a realm shares"},
	{"Error.prepareStackTrace", "code of one part of a program that runs at the errors of another"},
	{"Function.prototype.caller", "leads from a function to the one that called it"},
	{"Function.prototype.arguments", "leads from a function to what it was called with"},
	{"Function.prototype.fileName", "not of the language; names of files"},
	{"Function.prototype.lineNumber", "not of the language"},
	{"Function.prototype.columnNumber", "not of the language"},
	{"BigInt.prototype.length", "not of the language; goja takes the prototype for a function"},
	{"BigInt.prototype.name", "as BigInt.prototype.length"},
	{"RegExp.prototype.compile", "changes a regular expression, a frozen one too"},
}
