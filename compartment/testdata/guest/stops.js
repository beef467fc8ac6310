//// a loop
// want: stopped/time
while (true) {}

//// a loop that catches
// want: stopped/time
for (;;) { try { for (;;) {} } catch (e) {} }

//// a loop in finally
// want: stopped/time
try { for (;;) {} } finally { for (;;) {} }

//// a finally that returns
// want: stopped/time
(function () { for (;;) { try { for (;;) {} } finally { continue } } })()

//// a loop of jobs
// want: stopped/time
(async () => { for (;;) await null })()

//// a promise that starts itself again
// want: stopped/time
function go() { return new Promise(() => { for (;;) {} }) } go().catch(go)

//// a loop in a job after the result
// want: stopped/time
Promise.resolve().then(() => { for (;;) {} }); 1

//// a loop in a comparison
// want: stopped/time
[2, 1].sort(() => { for (;;); })

//// a loop in a getter
// want: stopped/time
({ get x() { for (;;); } }).x

//// a loop in toString
// want: stopped/time
'' + { toString() { for (;;); } }

//// a loop in a proxy
// want: stopped/time
new Proxy({}, { get() { for (;;); } }).x

//// a generator that never ends
// want: stopped/time || stopped/memory
[...(function* () { for (;;) yield 1 })()].length

//// a loop while the message is read
// want: exception || stopped/time
const e = new Error('x'); Object.defineProperty(e, 'message', { get() { for (;;); } }); throw e

//// what a handler saw of a stop
// want: stopped/time
globalThis.seen = 'none'; try { for (;;) {} } catch (e) { seen = String(e) } finally { seen = 'finally' } 1

//// recursion
// want: stopped/depth || exception ~ call stack
(function f() { return f() + 1 })()

//// recursion through a built-in
// want: stopped/depth || exception
(function f() { return [1].map(f) })()

//// recursion through toString
// want: stopped/depth || exception
const o = { toString() { return '' + o } }; '' + o

//// recursion through a getter
// want: stopped/depth || exception
const o = { get x() { return this.x } }; o.x

//// one huge text
// want: refused/too_large || exception || stopped/memory
'x'.repeat(2 ** 40).length

//// padded
// want: refused/too_large || exception || stopped/memory
''.padEnd(2 ** 30, 'ab').length

//// one huge buffer
// want: refused/too_large || exception || stopped/memory
new ArrayBuffer(8 * 2 ** 30).byteLength

//// one huge typed array
// want: refused/too_large || exception || stopped/memory
new Float64Array(2 ** 31).length

//// a list that lies about its length
// want: refused/too_large || stopped/time
Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)

//// and filling one
// want: refused/too_large || stopped/time || stopped/memory
Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1)

//// and copying one
// want: refused/too_large || stopped/time || stopped/memory || exception
Array.from({ length: 2 ** 53 - 1 }).length

//// a length that changes when it is looked at again
// want: refused/too_large || stopped/time || ok -1
let n = 0; Array.prototype.indexOf.call({ get length() { return n++ ? 2 ** 53 - 1 : 1 } }, 1)

//// a list of arguments
// want: refused/too_large || exception || stopped/memory
Math.max.apply(null, { length: 2 ** 31 })

//// deep JSON
// want: refused/too_large || exception
JSON.parse('['.repeat(1e5) + ']'.repeat(1e5)).length

//// a proxy that is its own prototype
// want: refused/too_large || exception
const t = {}; const p = new Proxy(t, {}); Object.setPrototypeOf(t, p); p.x

//// by the other way
// want: refused/too_large || exception
const t = {}; const p = new Proxy(t, {}); t.__proto__ = p; p.x

//// a hundred thousand proxies
// want: refused/too_large || exception || ok || stopped
let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x

//// a replacement that grows
// want: refused/too_large || stopped || exception
'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e4)).length

//// a long BigInt
// want: refused/too_large || stopped/time || ok || exception/thrown
BigInt('9'.repeat(1e6)) > 0n
