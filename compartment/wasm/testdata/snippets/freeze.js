//# intrinsics cannot be changed
["Array.prototype.push", "Object.prototype.toString", "JSON.parse", "Promise.prototype.then", "Math.max", "Function.prototype.call", "String.prototype.trim"].map((p) => {
  "use strict"
  const parts = p.split("."), name = parts.pop(), o = parts.reduce((o, k) => o[k], globalThis), was = o[name]
  try { o[name] = () => "mine" } catch (e) {}
  try { Object.defineProperty(o, name, { value: 1 }) } catch (e) {}
  try { delete o[name] } catch (e) {}
  return o[name] === was
}).every((x) => x)
//> ok true
//# nor can hidden ones
[[][Symbol.iterator](), new Map().entries(), "a"[Symbol.iterator](), "a".matchAll(/a/g), Object.getPrototypeOf((function* () {})()), Object.getPrototypeOf((async function* () {})()), [].values().map((x) => x)].map((o) => Object.isFrozen(Object.getPrototypeOf(o)) && Object.isFrozen(Object.getPrototypeOf(Object.getPrototypeOf(o)))).every((x) => x)
//> ok true
//# everything that can be reached is frozen, but for the global object
const seen = new Set(), open = [], ahead = [globalThis, function* () {}, async () => {}, async function* () {}, [][Symbol.iterator](), (function () { "use strict"; return arguments })()]
while (ahead.length) {
  const o = ahead.pop()
  if (o === null || (typeof o !== "object" && typeof o !== "function") || seen.has(o)) continue
  seen.add(o)
  if (!Object.isFrozen(o)) open.push(o)
  ahead.push(Object.getPrototypeOf(o))
  for (const k of Reflect.ownKeys(o)) { const d = Object.getOwnPropertyDescriptor(o, k); ahead.push(d.value, d.get, d.set) }
}
[seen.size > 600, open.includes(globalThis), open.filter((o) => Object.isFrozen(Object.getPrototypeOf(o)) && o !== globalThis && o !== seen && o !== ahead && o !== open).length < 12]
//> ok [true, true, true]
//# assigning over an inherited name works on an object of one's own
"use strict"
const o = {}
o.toString = () => "mine"; o.constructor = 1; o.hasOwnProperty = 2; o.valueOf = () => 3
class E extends Error {}
E.prototype.name = "E"
const e = new E("x"); e.message = "y"
function Old() {}
Old.prototype.toString = function () { return "old" }
Old.prototype.constructor = Old
const counts = {}
for (const w of ["constructor", "a", "toString", "a"]) counts[w] = typeof counts[w] === "number" ? counts[w] + 1 : 1;
[String(o), o.constructor, o.hasOwnProperty, e.name, e.message, e.toString(), String(new Old()), JSON.stringify(counts), Object.keys(o).length]
//> ok ["mine", 1, 2, "E", "y", "E: y", "old", "{\"constructor\":1,\"a\":2,\"toString\":1}", 4]
//# in sloppy code too
const f = function () {}
f.toString = () => "f"; f.call = 1;
[String(f), f.call, Object.keys(f).join()]
//> ok ["f", 1, "toString,call"]
//# but not on the frozen object itself
"use strict"
try { Object.prototype.toString = 1 } catch (e) { e.name }
//> ok "TypeError"
//# nor through a primitive
"use strict"
try { (5).toString = 1 } catch (e) { e.name }
//> ok "TypeError"
//# nor on an object that is not extensible
"use strict"
try { Object.preventExtensions({}).toString = 1 } catch (e) { e.name }
//> ok "TypeError"
//# the prototype of the global object is fixed
const p = new Proxy({}, { has: () => true, get: () => "spied" });
[() => Object.setPrototypeOf(globalThis, p), () => Reflect.setPrototypeOf(globalThis, p), () => { globalThis.__proto__ = p }, () => Object.prototype.__proto__ = p].map((f) => { try { return String(f()) } catch (e) { return e.name } }).join() + typeof undeclared
//> ok /^"TypeError,false,TypeError,.*undefined"$/
//# constants stay constants
globalThis.undefined = 1; globalThis.NaN = 2; [void 0 === undefined, NaN !== NaN]
//> ok [true, true]
//# a program may shadow what it likes, for itself
const JSON = { parse: 1 }, Map = 2; [JSON.parse, Map]
//> ok [1, 2]
//# and what the boundary does with its results stays the same
globalThis.Promise = class { then(f) { f("fake") } }; globalThis.Array = null; (async () => ["real"])()
//> ok ["real"]
//# setters and getters on the global object are not asked
for (const n of ["result", "_", "value", "program", "then"]) Object.defineProperty(globalThis, n, { get() { for (;;); }, set() { for (;;); } })
7
//> ok 7
1 + 1
//> ok 2
//# a frozen global object
Object.freeze(globalThis); 1
//> ok 1
1 + 1
//> ok 2
