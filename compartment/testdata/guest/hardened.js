//// what the language has is frozen
// want: ok [true,true,true,true,true,true,true,true]
[Object, Object.prototype, Array.prototype, Function.prototype, Math, JSON, Promise.prototype, Map].map(Object.isFrozen)

//// also what only syntax leads to
// want: ok [true,true,true,true,true,true]
[function* () {}, async () => {}, [].values(), ''[Symbol.iterator](), new Map().keys(), ''.matchAll(/a/g)].map((o) => Object.isFrozen(Object.getPrototypeOf(o)))

//// and every function of it
// want: ok []
const left = []; for (const n of Object.getOwnPropertyNames(globalThis)) { const o = globalThis[n]; if (typeof o !== 'function' || o === globalThis) continue
  for (const h of [o, o.prototype]) for (const k of h ? Reflect.ownKeys(h) : []) { const d = Object.getOwnPropertyDescriptor(h, k); for (const f of [d.value, d.get, d.set]) if (typeof f === 'function' && f.name !== 'x' && !Object.isFrozen(f)) left.push(n + '.' + String(k)) } }
left

//// a change is refused
// want: ok ["TypeError","TypeError","TypeError","TypeError","TypeError"]
'use strict'; [() => { Array.prototype.map = 1 }, () => { Object.prototype.added = 1 }, () => { delete String.prototype.trim }, () => { Math.max = 1 }, () => { Object.defineProperty(JSON, 'parse', { value: 1 }) }]
  .map((f) => { try { f(); return 'changed' } catch (e) { return e.name } })

//// in sloppy code it does nothing
// want: ok [[2],"undefined","a"]
Array.prototype.map = 1; Object.prototype.added = 1; String.prototype.trim = null; [[1].map((x) => x + 1), typeof ({}).added, ' a '.trim()]

//// an own property may have an inherited name
// want: ok ["mine","o",7,"c"]
const o = {}; o.toString = () => 'mine'; o.valueOf = () => 7; o.hasOwnProperty = 'o'; o.constructor = 'c'; [String(o), o.hasOwnProperty, +o, o.constructor]

//// on a class and its instances too
// want: ok ["A!","E","m","Custom","Custom: m"]
function A() {} A.prototype.toString = function () { return 'A!' }; class E extends Error {} E.prototype.name = 'E'
const e = new Error('m'); e.name = 'Custom'; [String(new A()), new E('x').name, e.message, e.name, String(e)]

//// on a function, an array, a date, a map
// want: ok ["f","a","d","m"]
const f = () => 1, a = [1], d = new Date(0), m = new Map(); f.toString = () => 'f'; a.toString = () => 'a'; d.toString = () => 'd'; m.constructor = 'm'; [`${f}`, `${a}`, `${d}`, m.constructor]

//// what is made so is an ordinary property
// want: ok [true,true,true,["toString"]]
const o = {}; o.toString = 1; const d = Object.getOwnPropertyDescriptor(o, 'toString'); [d.writable, d.enumerable, d.configurable, Object.keys(o)]

//// a frozen object stays as it is
// want: ok "TypeError"
'use strict'; const o = Object.freeze({}); try { o.toString = 1 } catch (e) { e.name }

//// the prototype itself stays as it is
// want: ok "TypeError"
'use strict'; try { Object.prototype.toString = 1 } catch (e) { e.name }

//// an error that is thrown tells its inherited name and message
// want: exception/thrown ~ changed
const e = new RangeError('first'); e.message = 'changed'; throw e

//// an error with a name on its class
// want: ok ~ [Named: q]
class Named extends Error {} Named.prototype.name = 'Named'; new Named('q')

//// an error without a message
// want: ok ~ [TypeError]
new TypeError()

//// the constructors are the ones that literals have
// want: ok [true,true,true,true,true,true,true]
[[].constructor === Array, ({}).constructor === Object, /a/.constructor === RegExp, (1n).constructor === BigInt, new Uint8Array(1).constructor === Uint8Array,
 Object.getPrototypeOf(Int8Array).prototype.constructor === Object.getPrototypeOf(Int8Array), Promise.resolve().constructor === Promise]

//// a subclass of each works
// want: ok [3,"v",2,true,"1970"]
class L extends Array { last() { return this[this.length - 1] } } class M extends Map {} class U extends Uint8Array {} class P extends Promise {} class D extends Date {}
[L.from([1, 2, 3]).last(), new M([['k', 'v']]).get('k'), new U([1, 2]).length, P.resolve(1) instanceof P, new D(0).toISOString().slice(0, 4)]

//// species and static methods
// want: ok [[1,2],[2,4],[1],true]
class L extends Array {} [Array.of(1, 2), [...Uint8Array.from([1, 2], (x) => x * 2)], [...Int16Array.of(1)], new L(1, 2).map((x) => x) instanceof L]

//// a proxy has a constructor without a prototype
// want: ok ["undefined","function",2,"TypeError"]
const { proxy, revoke } = Proxy.revocable({ a: 2 }, {}); const got = proxy.a; revoke(); [typeof Proxy.prototype, typeof Proxy.revocable, got, (() => { try { Proxy({}, {}) } catch (e) { return e.name } })()]

//// the prototype of the global object is fixed
// want: ok [false,"TypeError","TypeError","undefined"]
const names = []; for (const f of [() => Object.setPrototypeOf(globalThis, { spied: 1 }), () => { globalThis.__proto__ = { spied: 1 } }]) { try { f(); names.push('set') } catch (e) { names.push(e.name) } }
[Reflect.setPrototypeOf(globalThis, { spied: 1 }), ...names, typeof spied]

//// the boundary's functions are functions of the language
// want: ok ["random","now","Date","eval",7,1]
[Math.random.name, Date.now.name, Date.name, eval.name, Date.length, eval.length]

//// none of them has a prototype of its own, or is a constructor
// want: ok [[],"TypeError"]
[[Math.random, Date.now, Object.setPrototypeOf, Date.prototype.getDay, Date.prototype.toString, String.prototype.repeat].filter((f) => 'prototype' in f).map((f) => f.name), (() => { try { new Math.random() } catch (e) { return e.name } })()]

//// a date by a method of its own
// want: ok ["2024-02-29T00:00:00.000Z","2024-03-01T00:00:00.000Z",4,true,"NaN"]
const d = new Date('2024-02-29'); const was = d.toISOString(), day = d.getDay(); d.setDate(30); d.setUTCDate(1); [was, d.toISOString(), day, d.constructor === Date, String(Date.parse('never'))]

//// a date is not made without new
// want: refused/not_granted ~ the clock is not granted
Date(0)

//// chance is refused in the same words
// want: refused/not_granted ~ Math.random is not granted
Math.random()

//// code of text too
// want: refused/dynamic_code ~ code cannot be made from text here
Function('return 1')
