//# group and sum
const orders = [{ c: "a", n: 2 }, { c: "b", n: 3 }, { c: "a", n: 5 }]
const by = Object.groupBy(orders, (o) => o.c)
Object.entries(by).map(([c, os]) => `${c}=${os.reduce((s, o) => s + o.n, 0)}`).sort().join("; ")
//> ok "a=7; b=3"
//# count words
const counts = {}
for (const w of "the cat the dog constructor the".split(" ")) counts[w] = Object.hasOwn(counts, w) ? counts[w] + 1 : 1
Object.entries(counts).sort((a, b) => b[1] - a[1])[0].join(" ")
//> ok "the 3"
//# classes with fields, private names, statics and accessors
class Account { static #count = 0; #balance = 0; constructor(o) { this.owner = o; Account.#count++ } deposit(n) { if (n <= 0) throw new RangeError("amount"); this.#balance += n; return this } get balance() { return this.#balance } static get count() { return Account.#count } toString() { return `${this.owner}: ${this.#balance}` } }
class Savings extends Account { constructor(o, rate) { super(o); this.rate = rate } get interest() { return this.balance * this.rate } }
const s = new Savings("ann", 0.5).deposit(10); [String(s), s.interest, Account.count, s instanceof Account, s.constructor.name]
//> ok ["ann: 10", 5, 1, true, "Savings"]
//# old classes by prototypes
function Shape(n) { this.name = n }
Shape.prototype.area = function () { return 0 }
function Square(n) { Shape.call(this, "square"); this.n = n }
Square.prototype = Object.create(Shape.prototype); Square.prototype.constructor = Square; Square.prototype.area = function () { return this.n * this.n }; Square.prototype.toString = function () { return this.name + this.area() }
String(new Square(3))
//> ok "square9"
//# errors of one's own
class NotFound extends Error { constructor(what) { super(`${what} not found`, { cause: new Error("deep") }); this.name = "NotFound"; this.what = what } }
try { throw new NotFound("x") } catch (e) { [e.name, e.message, e.what, e.cause.message, e instanceof NotFound, e instanceof Error, String(e)] }
//> ok ["NotFound", "x not found", "x", "deep", true, true, "NotFound: x not found"]
//# generators and iterators
function* fib() { let [a, b] = [0, 1]; for (;;) { yield a; [a, b] = [b, a + b] } }
[[...fib().take(10)].join(), fib().filter((x) => x % 2).drop(2).take(3).toArray().join()]
//> ok ["0,1,1,2,3,5,8,13,21,34", "3,5,13"]
//# asynchronous fan-out
const work = async (n) => { await null; if (n === 3) throw new Error("three"); return n * 2 }
const r = await Promise.allSettled([1, 2, 3].map(work)); [r.map((x) => x.status).join(), await Promise.any([work(3), work(4)]), await Promise.race([work(5), work(6)])]
//> ok ["fulfilled,fulfilled,rejected", 8, 10]
//# asynchronous generators
async function* pages() { for (let i = 0; i < 3; i++) { await null; yield i } }
const got = []; for await (const p of pages()) got.push(p); got
//> ok [0, 1, 2]
//# regular expressions
const log = "2024-01-02 ERROR disk /dev/sda\n2024-01-03 WARN cpu";
[...log.matchAll(/^(?<date>\S+) (?<level>[A-Z]+)/gm)].map((m) => m.groups.level + m.groups.date.replaceAll("-", "")).join() + log.replace(/(\w+)$/, (m) => m.toUpperCase()).slice(-3) + "a1b22".split(/\d+/).join("|")
//> ok "ERROR20240102,WARN20240103CPUa|b|"
//# JSON with revivers and replacers
JSON.stringify(JSON.parse('{"d":"1970-01-01","n":[1,{"x":null}]}', (k, v) => k === "d" ? new Date(v) : v), (k, v) => typeof v === "number" ? v + 1 : v, 1).replace(/\s/g, "")
//> ok "{\"d\":\"1970-01-01T00:00:00.000Z\",\"n\":[2,{\"x\":null}]}"
//# numbers
[0.1 + 0.2, (1234.5678).toFixed(2), parseInt("ff", 16), Number("0b101"), Math.hypot(3, 4), Number.MAX_SAFE_INTEGER, (255).toString(2), 7 % -3, -7 % 3, 2 ** -1]
//> ok [0.30000000000000004, "1234.57", 255, 5, 5, 9007199254740991, "11111111", 1, -1, 0.5]
//# maps, sets, sorting
const m = new Map(Object.entries({ b: 2, a: 1 })); const u = new Set([1, 2]).union(new Set([2, 3]));
[[...m].sort().flat().join(), [...u].join(), [5, 1, 10].sort().join(), [5, 1, 10].toSorted((a, b) => a - b).join(), [1, [2, [3]]].flat(Infinity).join(), Array.from({ length: 3 }, (_, i) => i * i).join()]
//> ok ["a,1,b,2", "1,2,3", "1,10,5", "1,5,10", "1,2,3", "0,1,4"]
//# destructuring, spread, defaults, optional chains, labels, tagged templates
const { a = 1, ...rest } = { b: 2, c: 3 }, [x, , y = 9] = [1, 2]; const tag = (s, ...v) => s.raw.join("_") + v.join(); let n = 0; outer: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { if (j === 1) continue outer; n++ }
[a, rest.c, x, y, rest?.d?.e ?? "none", tag`p${1}q${2}`, n, Math.max(...[1, 5, 2])]
//> ok [1, 3, 1, 9, "none", "p_q_1,2", 3, 5]
//# proxies and reflection for one's own use
const seen = []; const p = new Proxy({ a: 1 }, { get(t, k, r) { seen.push(k); return Reflect.get(t, k, r) } }); p.a; "b" in p; [seen.join(), Reflect.ownKeys({ z: 1, [Symbol.iterator]: 1 }).length]
//> ok ["a", 2]
//# symbols, weak collections, accessors, freezing
const k = Symbol("k"), o = { [k]: 1, get d() { return this[k] * 2 } }; const wm = new WeakMap([[o, "w"]]); const f = Object.freeze({ a: [1] }); f.a.push(2); f.b = 1;
[o.d, wm.get(o), f.a.length, "b" in f, Symbol.for("q") === Symbol.for("q")]
//> ok [2, "w", 2, false, true]
//# typed arrays and text as bytes
const f = new Float32Array([1.5, 2.5]); const dv = new DataView(f.buffer);
[dv.getFloat32(4, true), new Uint8Array([3, 1, 2]).sort().join(), new Uint8Array([104, 105]).toBase64(), Uint8Array.fromHex("ff00")[0], encodeURIComponent("é&"), "é".codePointAt(0), "😀".length, [..."😀é"].length]
//> ok [2.5, "1,2,3", "aGk=", 255, "%C3%A9%26", 233, 2, 2]
//# var and function hoisting, closures, this
var log = []; hoisted(); function hoisted() { log.push(typeof later1) } var later1 = 1; var fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); const obj = { n: 4, m() { return [1].map(() => this.n)[0] } };
[log[0], fs.map((f) => f()).join(), obj.m()]
//> ok ["undefined", "0,1,2", 4]
//# using resources
const order = []; { using a = { [Symbol.dispose]() { order.push("a") } }; using b = { [Symbol.dispose]() { order.push("b") } } } order.join()
//> ok "b,a"
//# declarations stay for the next evaluation
let total = 1; const fixed = 2; var v = 3; function inc() { return ++total } class K { static x = 4 }
//> ok undefined
inc(); [total, fixed, v, K.x]
//> ok [2, 2, 3, 4]
