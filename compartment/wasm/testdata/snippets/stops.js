//# a loop
while (true) {}
//> stopped/time
//# a loop cannot catch it
try { for (;;) {} } catch (e) { globalThis.caught = 1 } finally { globalThis.after = 1 }
//> stopped/time
typeof caught + typeof after
//> ok "undefinedundefined"
//# loops of every kind
do {} while (true)
//> stopped/time
//# a loop of jobs
(async () => { for (;;) await null })()
//> stopped/time
//# a job that loops, with a result already there
Promise.resolve().then(() => { for (;;); }); 1
//> stopped/time
//# an executor that loops is not made into a rejection
new Promise(() => { for (;;); }).catch(() => 1)
//> stopped/time
//# inside a built-in that calls back
[3, 2, 1].sort(() => { for (;;); })
//> stopped/time
//# inside a built-in that does not
Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)
//> stopped/time
//# inside a regular expression
/^(\w+\s?)+$/.test("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")
//> stopped/time
//# inside a regular expression that looks ahead
/(?=(a+))\1*b(?!c)(a|aa)+$/.test("a".repeat(60) + "c")
//> stopped/time|ok
//# inside arithmetic
let b = 3n; for (;;) b = b * b % (2n ** 900000n) + 7n
//> stopped/time|exception/thrown
//# inside JSON
const a = []; for (let i = 0; i < 300; i++) a.push("x".repeat(1000)); for (;;) JSON.parse(JSON.stringify(a))
//> stopped/time
//# inside iteration
new Set((function* () { for (let i = 0; ; i++) yield i & 7 })())
//> stopped/time
//# inside destructuring
const [...all] = { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }
//> stopped/time|stopped/memory
//# inside a getter of the language's own making
const o = { get x() { for (;;); } }; JSON.stringify(o)
//> stopped/time
//# inside normalisation
"\u1100\u1161\u11a8".repeat(200000).normalize("NFC").normalize("NFD").normalize("NFC").normalize("NFD").normalize("NFC").normalize("NFD").length
//> stopped/time|ok
//# a loop of logging
for (;;) console.log("x".repeat(1000))
//> stopped/time
//# memory, in small pieces
const k = []; for (;;) k.push({ a: [1, 2, 3] })
//> stopped/memory|stopped/time
//# memory, in large ones
const k = []; for (;;) k.push(new Uint8Array(4 << 20))
//> stopped/memory|stopped/time
//# memory cannot be caught
const k = []; for (;;) { try { k.push(new ArrayBuffer(8 << 20)) } catch (e) { globalThis.caught = 1 } }
//> stopped/memory
typeof caught
//> ok "undefined"
//# one buffer that is too large
new ArrayBuffer(1 << 30)
//> stopped/memory
//# one text that is too long
"ab".repeat(2 ** 28)
//> stopped/memory|stopped/time
//# one that is longer than any
"x".repeat(2 ** 40)
//> exception/thrown
//# text that doubles
let s = "ab"; for (;;) s += s
//> stopped/memory
//# which no handler sees
let s = "ab"; try { for (;;) s += s } catch (e) { globalThis.caught = 1 } finally { globalThis.after = 1 }
//> stopped/memory
typeof caught + typeof after
//> ok "undefinedundefined"
//# nor one in a job
Promise.resolve().then(() => { let s = "ab"; for (;;) s += s }).catch(() => 1)
//> stopped/memory
//# nor one that a promise waits for
(async () => { await null; try { let s = "ab"; for (;;) s += s } catch (e) { return 1 } })()
//> stopped/memory
//# strings joined
Array(2 ** 20).fill("x".repeat(1000)).join("")
//> stopped/memory|stopped/time|exception/thrown
//# an array of an absurd length
new Array(4294967295).fill(0)
//> stopped/memory|stopped/time
//# stacks of errors
const k = []; const d = (n) => n ? d(n - 1) : new Error("x"); for (;;) k.push(d(100))
//> stopped/memory|stopped/time
//# recursion is a RangeError that may be caught
function f() { return f() + 1 }
try { f() } catch (e) { e.name }
//> ok "RangeError"
//# recursion by way of built-ins
const f = () => [1].map(f); try { f() } catch (e) { e.name }
//> ok "RangeError"
//# by way of conversion
const o = { toString() { return "" + o } }; try { "" + o } catch (e) { e.name }
//> ok "RangeError"
//# by way of a proxy that is its own prototype
const p = new Proxy({}, {}); try { Object.setPrototypeOf(p, p) } catch (e) {}; try { p.x } catch (e) { e.name }
//> ok|stopped/depth|stopped/time
//# by way of many proxies
let p = {}; for (let i = 0; i < 20000; i++) p = new Proxy(p, {}); try { p.x } catch (e) { e.name }
//> ok|stopped/depth
//# by way of nesting
let f = [1]; for (let i = 0; i < 100000; i++) f = [f]; try { String(f.flat(Infinity)) } catch (e) { e.name }
//> ok|stopped/depth|stopped/time
//# deep JSON
JSON.parse("[".repeat(100000) + "]".repeat(100000))
//> exception/thrown|stopped/depth
//# a deep regular expression
new RegExp("(".repeat(50000) + ")".repeat(50000))
//> exception/thrown|stopped/depth
//# recursion that is caught again and again
function g() { try { g() } catch (e) { g() } } g()
//> stopped/time|exception/thrown
//# after a stop the compartment goes on with what it had
let total = 5; function keep() { return total }
//> ok undefined
total = 6; globalThis.extra = 1; for (;;);
//> stopped/time
[total, keep(), typeof extra]
//> ok [5, 5, "undefined"]
const k = []; for (;;) k.push(new Uint8Array(1 << 20))
//> stopped/memory|stopped/time
total++; keep()
//> ok 6
keep()
//> ok 6
