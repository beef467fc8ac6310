//# data crosses both ways and stays what it was
echo({ u: undefined, n: null, b: true, i: -0, f: 1.5, nan: NaN, big: 2n ** 70n, s: "é\u0000😀", a: [1, [2]], o: { x: {} }, bytes: new Uint8Array([1, 2]), d: new Date(5) })
//> ok {u: undefined, n: null, b: true, i: -0, f: 1.5, nan: NaN, big: 1180591620717411303424n, s: "é\x00😀", a: [1, [2]], o: {x: {}}, bytes: bytes[01 02], d: Date(1970-01-01T00:00:00.005Z)}
//# what comes back is a copy, of the guest's own kinds
const was = { a: [1] }, is = echo(was); was.a.push(2);
[is !== was, is.a.length, Object.getPrototypeOf(is) === Object.prototype, is.a instanceof Array, echo(new Date(0)) instanceof Date, echo(new Uint8Array(2)) instanceof Uint8Array, Object.isFrozen(is)]
//> ok [true, 1, true, true, true, true, false]
//# a field called __proto__ is a field
const o = echo(JSON.parse('{"__proto__": {"admin": true}}')); [o.admin, Object.keys(o).join(), Object.getPrototypeOf(o) === Object.prototype]
//> ok [undefined, "__proto__", true]
//# bytes are copied
const b = new Uint8Array([1, 2]), c = echo(b); b[0] = 9; c[1] = 8; [b[0], b[1], c[0], c[1]]
//> ok [9, 2, 1, 8]
//# an integer that no number holds
big()
//> ok 1152921504606846976n
//# a promise
later("x")
//> ok "x"
//# many at once, in their order
Promise.all(Array.from({ length: 30 }, (_, i) => later(i))).then((r) => r.join())
//> ok "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29"
//# await at the top level
const a = await later(1); let b = a + await later(2)
a + b
//> ok 4
[a, b]
//> ok [1, 3]
//# arguments are not converted
const bad = [5, null, undefined, {}, [], new String("x"), { toString: () => "x" }, { [Symbol.toPrimitive]: () => "x" }, new Proxy({}, {}), Symbol(), 1n, () => "x"];
bad.map((p) => { try { path(p); return "took" } catch (e) { return e.name + e.code } }).filter((x) => x !== "TypeErrorarguments").length
//> ok 0
//# nor numbers rounded
[-1, 101, 1.5, NaN, Infinity, "5", null, undefined, true, [5], 10n, { valueOf: () => 5 }].map((n) => { try { return percent(n) } catch (e) { return e.code } }).every((x) => x === "arguments") && percent(100)
//> ok 100
//# too many arguments, and too few
[() => path("a", "b"), () => path(), () => percent(1, 2)].map((f) => { try { return f() } catch (e) { return e.code } }).join()
//> ok "arguments,arguments,arguments"
//# functions, powers, symbols, cycles, getters, proxies, maps are not data
const c = []; c.push(c);
[() => 1, echo, store, Symbol("x"), c, { get x() { return 1 } }, new Proxy({}, {}), new Map(), /x/, new Error("x"), [1, , 2], "\ud800", Promise.resolve()].map((v) => { try { echo({ v }); return "took" } catch (e) { return e.code } }).every((x) => x === "arguments")
//> ok true
//# nothing of the guest runs while arguments are looked at
let ran = 0
const spy = new Proxy({}, { get() { ran++ }, ownKeys() { ran++; return [] }, getOwnPropertyDescriptor() { ran++ }, getPrototypeOf() { ran++; return null } })
for (const v of [spy, { get path() { ran++; return "x" } }, Object.create(spy), { toJSON() { ran++ } }, [spy]]) { try { options(v) } catch (e) {} try { echo(v) } catch (e) {} }
ran
//> ok 0
//# only own fields count, and no others may be there
[() => options(Object.create({ path: "inherited" })), () => options({ path: "p", forse: true }), () => options({ force: true }), () => options({ path: "p", force: 1 })].map((f) => { try { return f() } catch (e) { return e.code } }).join() + options({ path: "p" })
//> ok "arguments,arguments,arguments,argumentsp"
//# a list that claims to be long
sum(new Proxy([], { get: (t, k) => k === "length" ? 1e9 : 1 }))
//> refused/arguments
//# one that is
sum(new Array(2e5).fill(1))
//> refused/arguments
//# more than may cross
echo("x".repeat(3e6))
//> refused/arguments
//# a refusal is an error with a code, which may be caught
try { no() } catch (e) { [e instanceof Error, e.code, e.message] }
//> ok [true, "not_today", "not today"]
//# and is known again when it is not
no()
//> refused/by_power
//# also when it comes out of a promise
later({ v: () => 1 })
//> refused/arguments
//# an error that looks like one is not one
const e = new Error("not today"); e.code = "not_today"; throw e
//> exception/thrown
//# trouble of the host is told without its words
try { trouble() } catch (e) { e.message + e.code }
//> ok "trouble could not do iterror"
trouble()
//> host_failure/error
//# a panic too
panics()
//> host_failure/panic
1 + 1
//> ok 2
//# a result of the wrong size
huge()
//> host_failure/result
//# powers are functions of the guest's world, and fixed
[echo.name, echo.length, store.put.name, console.log.name, typeof echo.prototype, Object.isFrozen(echo), Object.isFrozen(store), Object.getPrototypeOf(echo) === Function.prototype]
//> ok ["echo", 1, "put", "log", "undefined", true, true, true]
//# they cannot be constructed, replaced, added to or taken away
"use strict"
const tries = [() => new echo(1), () => { class X extends echo {} }, () => { globalThis.echo = 1 }, () => { delete globalThis.echo }, () => { store.put = 1 }, () => { echo.note = 1 }, () => { store.more = 1 }, () => { Object.setPrototypeOf(store, null) }, () => { Object.defineProperty(globalThis, "echo", { value: 1 }) }]
tries.map((f) => { try { f(); return "did" } catch (e) { return e.name } }).join()
//> ok "TypeError,TypeError,TypeError,TypeError,TypeError,TypeError,TypeError,TypeError,TypeError"
//# nor declared anew
let echo = 1
//> exception/thrown|syntax/parse
//# a power that is kept in a variable is the same power
const keep = echo, bound = echo.bind(null, 1); [keep(2), bound(), [3].map((x) => echo(x))[0], Reflect.apply(echo, undefined, [4]), echo.call(null, 5)]
//> ok [2, 1, 3, 4, 5]
//# calls of powers near the end of the stack
function deep(n) { try { return deep(n + 1) } catch (e) { try { return echo({ n: [n] }).n[0] > 10 } catch (e2) { return e2.name } } }
deep(0)
//> ok /^(true|"RangeError")$/
//# a power keeps a value between evaluations
store.put({ n: 1 }); store.get()
//> ok {n: 1}
store.get().n
//> ok 1
//# logging never throws and runs nothing
console.log(new Proxy({}, { get() { for (;;); } }), Symbol("s"), 1n, undefined, { get x() { for (;;); } }, { [Symbol.for("nodejs.util.inspect.custom")]() { for (;;); } }, "\x1b[2J"); 1
//> ok 1
//# a loop of calls
for (;;) echo(1)
//> stopped/calls
//# very many arguments
console.log(...new Array(60000).fill(1)); 1
//> ok 1
