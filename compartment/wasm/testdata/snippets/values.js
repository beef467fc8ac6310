//# undefined
undefined
//> ok undefined
//# nothing
//> ok undefined
//# a declaration
var x = 1
//> ok undefined
//# null
null
//> ok null
//# numbers
[0, -0, 1.5, NaN, Infinity, -Infinity, 1e21, 2 ** 53]
//> ok [0, -0, 1.5, NaN, Infinity, -Infinity, 1e+21, 9007199254740992]
//# integers of any size
[0n, -5n, 2n ** 64n, -(2n ** 70n)]
//> ok [0n, -5n, 18446744073709551616n, -1180591620717411303424n]
//# a BigInt of very many digits is named
10n ** 30000n
//> ok [BigInt of 30001 digits]
//# text
["", "a\n\"b\"", "é€😀", "\u0000\x1b[31m\u202e"]
//> ok ["", "a\n\"b\"", "é€😀", "\x00\x1b[31m\u{202e}"]
//# a lone surrogate
"a\ud800b"
//> ok "a�b"
//# a rope of text
let s = ""; for (let i = 0; i < 3000; i++) s += "ab"; s.length + s.slice(0, 4)
//> ok "6000abab"
//# symbols
[Symbol(), Symbol("a"), Symbol.iterator, Symbol.for("b")]
//> ok [Symbol(), Symbol(a), Symbol(Symbol.iterator), Symbol(b)]
//# dates
[new Date(0), new Date(NaN), new Date(8.64e15)]
//> ok [Date(1970-01-01T00:00:00.000Z), Invalid Date, Date(+275760-09-13T00:00:00.000Z)]
//# a Map and a Set
[new Map([["a", 1], [{}, [2]]]), new Set([1, "x"])]
//> ok [Map(2) {"a" => 1, {} => [2]}, Set(2) {1, "x"}]
//# regular expressions
[/a\/b/dgimsuy, /[\p{L}--a]/v]
//> ok [/a\/b/dgimsuy, /[\p{L}--a]/v]
//# a regular expression that lies about itself
const r = /a/g; Object.defineProperty(r, "source", { value: "lie" }); Object.defineProperty(r, "flags", { get() { throw 1 } }); r
//> ok /a/g
//# errors
[new Error("a"), new TypeError(""), Object.assign(new RangeError("b"), { name: "Mine" })]
//> ok [[Error: a], [TypeError], [Mine: b]]
//# an error with a getter for a message
const e = new Error("x"); Object.defineProperty(e, "message", { get() { for (;;); } }); [e]
//> ok [[Error]]
//# bytes
[new Uint8Array([1, 2, 255]), new Uint8ClampedArray(1), new Uint8Array([9, 8, 7]).subarray(1), new Uint8Array([1, 2]).buffer]
//> ok [bytes[01 02 ff], bytes[00], bytes[08 07], bytes[01 02]]
//# a view whose buffer is gone
const u = new Uint8Array(4); u.buffer.transfer(); [u]
//> ok /^\[(bytes\[\]|\[view\])\]$/
//# other views are named
[new Float64Array([1.5]), new BigInt64Array(2), new DataView(new ArrayBuffer(1))]
//> ok [[Float64Array(1) 1.5], [BigInt64Array(2) 0n, 0n], [view]]
//# promises inside of a value
[Promise.resolve(1), new Promise(() => {})]
//> ok [[promise fulfilled], [promise pending]]
//# functions and classes
[function f() {}, () => 1, class A {}, Math.max, async () => 1, echo]
//> ok [[function f], [function], [function A], [function max], [function], [capability echo]]
//# a function whose name is a getter
const f = () => 1; Object.defineProperty(f, "name", { get() { for (;;); } }); [f]
//> ok [[function]]
//# objects of powers
[store, console.log]
//> ok [[capability store], [capability console.log]]
//# proxies are not looked into
[new Proxy({}, { get() { for (;;); } }), new Proxy([], {}), new Proxy(() => 1, {}), Proxy.revocable({}, {}).proxy]
//> ok [[proxy], [proxy], [proxy], [proxy]]
//# nor is one behind an object
Object.create(new Proxy({}, { ownKeys() { for (;;); }, get() { for (;;); } }))
//> ok {}
//# getters are not run
({ a: 1, get b() { for (;;); }, set c(v) {} })
//> ok {a: 1, b: [getter], c: [getter]}
//# an element that is a getter
const a = [1]; Object.defineProperty(a, 1, { get() { for (;;); }, enumerable: true }); a
//> ok [1, [getter]]
//# hooks are not run
({ toJSON() { for (;;); }, toString() { for (;;); }, valueOf() { for (;;); }, [Symbol.toPrimitive]() { for (;;); }, x: 1 })
//> ok /^\{toJSON: \[function toJSON\], .* x: 1, … 1 more\}$/
//# what an object says of itself does not count
({ [Symbol.toStringTag]: "Map", constructor: Date, __proto__: Array.prototype, length: 3 })
//> ok /^\{constructor: \[function Date\], length: 3, … 1 more\}$/
//# an array that was made to look like something else
Object.setPrototypeOf([1, 2], Date.prototype)
//> ok [1, 2]
//# a date that was made to look like an object
Object.setPrototypeOf(new Date(0), null)
//> ok Date(1970-01-01T00:00:00.000Z)
//# cycles
const o = { a: [] }; o.a.push(o, o.a); o
//> ok {a: [[circular], [circular]]}
//# the same object twice is no cycle
const t = { x: 1 }; [t, t]
//> ok [{x: 1}, {x: 1}]
//# holes
[1, , 3]
//> ok [1, (empty), 3]
//# a very sparse array
const s = []; s.length = 4294967295; s
//> ok /^\[\(empty\), /
//# a very deep object
let d = {}; for (let i = 0; i < 100000; i++) d = { d }; d
//> ok /too deep/
//# a very wide one
Object.fromEntries(Array.from({ length: 15000 }, (_, i) => ["k" + i, i]))
//> ok /^\{k0: 0, k1: 1, /
//# boxed values
[new String("x"), new Number(1), new Boolean(false), Object(1n), Object(Symbol("s"))]
//> ok [[String: "x"], [Number: 1], [Boolean: false], [BigInt: 1n], [Symbol: Symbol(s)]]
//# what has no data of its own is named
[(function* () {})(), new WeakMap(), [][Symbol.iterator]()]
//> ok [[iterator], [WeakMap], [iterator]]
//# arguments
(function () { return arguments })(1, "a")
//> ok {"0": 1, "1": "a"}
//# names that need quotes
({ "": 1, "a b": 2, "\u202e": 3, __proto__: null, ["__proto__"]: 4 })
//> ok {"": 1, "a b": 2, "\u{202e}": 3, __proto__: 4}
//# an object whose then is a function is waited for, inside the budget
(async () => ({ then(r) { r("adopted") } }))()
//> ok "adopted"
//# but one that is the result itself is only shown
({ then(r) { for (;;); } })
//> ok {then: [function then]}
