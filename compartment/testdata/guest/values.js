//// a number
// want: ok 1.5
1.5

//// minus zero
// want: ok -0
-0

//// not a number
// want: ok ~ NaN
0 / 0

//// undefined
// want: ok ~ undefined
undefined

//// null is not undefined
// want: ok null
null

//// a statement without a value
// want: ok ~ undefined
var x = 1;

//// the last expression is the result
// want: ok 3
1; 2; 3

//// a text
// want: ok "ä😀\n\""
'ä😀\n"'

//// half a character
// want: ok ~ "�x"
'\ud800x'

//// a BigInt
// want: ok ~ 12345678901234567890n
12345678901234567890n

//// a symbol
// want: ok ~ Symbol(s)
Symbol('s')

//// an array
// want: ok [1,[2,null],"x"]
[1, [2, null], 'x']

//// an array with a hole
// want: ok ~ [1, (empty), 3]
[1, , 3]

//// an array four billion long
// want: ok
const a = []; a.length = 4294967295; a

//// an object
// want: ok {"a":1,"b c":{"d":[]},"":null}
({ a: 1, 'b c': { d: [] }, '': null })

//// an object without a prototype
// want: ok {"a":1}
Object.assign(Object.create(null), { a: 1 })

//// an instance of a class
// want: ok {"x":1}
class P { constructor() { this.x = 1 } get y() { return 2 } } new P()

//// only what is its own and enumerable
// want: ok {"own":1}
Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 2 } })

//// a getter is not run
// want: ok ~ {a: [getter], b: 1}
globalThis.ran = 0; ({ get a() { globalThis.ran++; return 1 }, b: 1 })
// then same: ok 0
ran

//// a getter in an array neither
// want: ok ~ [[getter]]
Object.defineProperty([], 0, { get() { for (;;); }, enumerable: true })

//// toJSON is not run
// want: ok ~ {toJSON: [function toJSON], real: 1}
({ toJSON() { return 'lie' }, real: 1 })

//// nor toString, valueOf and their like
// want: ok ~ {toString: [function toString], valueOf: [function valueOf], … 1 more}
({ toString() { for (;;); }, valueOf() { for (;;); }, [Symbol.toPrimitive]() { for (;;); } })

//// toJSON for everybody neither
// want: ok {"a":1} || exception
Object.prototype.toJSON = function () { return 'hijacked' }; ({ a: 1 })

//// JSON.stringify is not asked
// want: ok {"real":1} || exception
JSON.stringify = () => '{"ok":true}'; ({ real: 1 })

//// a proxy is not looked into
// want: ok ~ [proxy]
new Proxy({ a: 1 }, { get() { for (;;); }, ownKeys() { for (;;); }, getPrototypeOf() { for (;;); } })

//// nor one that was revoked
// want: ok ~ [[proxy]]
const p = Proxy.revocable([], {}); p.revoke(); [p.proxy]

//// nor a proxy behind an object
// want: ok {"a":1}
Object.setPrototypeOf; ({ __proto__: new Proxy({}, { get() { for (;;); } }), a: 1 })

//// a cycle
// want: ok ~ {name: "o", self: [circular]}
const o = { name: 'o' }; o.self = o; o

//// the same thing twice is no cycle
// want: ok [{"a":1},{"a":1}]
const o = { a: 1 }; [o, o]

//// depth without end
// want: ok
let o = {}; for (let i = 0; i < 100000; i++) o = { o }; o

//// two hundred thousand fields
// want: ok
Object.fromEntries(Array.from({ length: 20000 }, (_, i) => ['k' + i, i]))

//// a text of a megabyte
// want: ok
'x'.repeat(1e6)

//// a date
// want: ok ~ Date(1970-01-01T00:00:00.000Z)
new Date(0)

//// a date whose methods were changed
// want: ok ~ Date(1970-01-01T00:00:00.000Z) || exception
Date.prototype.toISOString = Date.prototype.valueOf = () => 'hijacked'; new Date(0)

//// an invalid date
// want: ok ~ Invalid Date
new Date(NaN)

//// a Map
// want: ok ~ Map(2) {"a" => 1, {k: 1} => [2]}
new Map([['a', 1], [{ k: 1 }, [2]]])

//// a Set
// want: ok ~ Set(2) {1, "x"}
new Set([1, 'x'])

//// a Map whose iterator was changed
// want: ok ~ Map(1) {1 => 2} || exception
Map.prototype.forEach = Map.prototype.entries = Map.prototype[Symbol.iterator] = () => { for (;;); }; new Map([[1, 2]])

//// what says it is a Map and is none
// want: ok ~ {constructor: {name: "Date"}, getTime: [function getTime], … 1 more}
({ [Symbol.toStringTag]: 'Map', constructor: { name: 'Date' }, getTime() { return 'lie' } })

//// a pattern
// want: ok ~ /a+/gi
/a+/gi

//// an error
// want: ok ~ [TypeError: wrong]
new TypeError('wrong')

//// an error whose message would run
// want: ok ~ [Error]
Object.defineProperty(new Error('x'), 'message', { get() { for (;;); } })

//// a String object
// want: ok ~ [String: "x"]
new String('x')

//// a function
// want: ok ~ [function f]
(function f() {})

//// a class
// want: ok ~ [function C]
(class C {})

//// a power
// want: ok ~ [[capability readText], [capability store]]
[readText, store]

//// a WeakMap
// want: ok ~ [WeakMap]
new WeakMap()

//// an empty object is one
// want: ok {}
({})

//// numbers of a typed array
// want: ok ~ [Float64Array(2) 1.5, 2]
new Float64Array([1.5, 2])

//// bytes
// want: ok ~ bytes[01 ff]
new Uint8Array([1, 255])

//// a generator is not run
// want: ok ~ [iterator]
globalThis.ran = 0; (function* () { globalThis.ran++; yield 1 })()
// then same: ok 0
ran

//// a then that is a function does not make a promise of an object
// want: ok ~ {then: [function then]}
({ then(r) { for (;;); } })

//// a promise is waited for
// want: ok 1
Promise.resolve(1)

//// a promise in an object is not
// want: ok ~ {p: [promise fulfilled]}
({ p: Promise.resolve(1) })

//// names that a host might use for the result
// want: ok 7
for (const n of ['result', '__result', '$result', '_', 'exports']) Object.defineProperty(globalThis, n, { set() { for (;;) {} }, configurable: true }); 7

//// a getter on the global is not run by the host
// want: ok 1
Object.defineProperty(globalThis, 'trap', { get() { for (;;) {} }, enumerable: true, configurable: true }); 1
// then same: ok 2
1 + 1
