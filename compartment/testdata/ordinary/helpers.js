//// an event emitter
// want: [[2,1],0,0,["a1","b1","a2"]]
class Emitter {
  #handlers = new Map();
  on(name, f) { (this.#handlers.get(name) ?? this.#handlers.set(name, new Set()).get(name)).add(f); return () => this.off(name, f); }
  off(name, f) { this.#handlers.get(name)?.delete(f); }
  once(name, f) { const off = this.on(name, (...a) => { off(); f(...a); }); }
  emit(name, ...args) { let n = 0; for (const f of [...(this.#handlers.get(name) ?? [])]) { f(...args); n++; } return n; }
}
const e = new Emitter(), log = [];
const off = e.on('x', (v) => log.push('a' + v));
e.once('x', (v) => log.push('b' + v));
const counts = [e.emit('x', 1), e.emit('x', 2)];
off();
[counts, e.emit('x', 3), e.emit('nothing'), log]

//// a cache of the last used
// want: [["a","c"],true,1]
class LRU {
  constructor(max) { this.max = max; this.map = new Map(); }
  get(k) { if (!this.map.has(k)) return undefined; const v = this.map.get(k); this.map.delete(k); this.map.set(k, v); return v; }
  set(k, v) { this.map.delete(k); this.map.set(k, v); if (this.map.size > this.max) this.map.delete(this.map.keys().next().value); return this; }
}
const c = new LRU(2).set('a', 1).set('b', 2);
c.get('a');
c.set('c', 3);
[[...c.map.keys()], c.get('b') === undefined, c.get('a')]

//// compose, pipe, curry
// want: [8,7,6,6,0,1]
const pipe = (...fs) => (x) => fs.reduce((v, f) => f(v), x);
const compose = (...fs) => pipe(...fs.reverse());
const curry = (f, ...a) => a.length >= f.length ? f(...a) : (...b) => curry(f, ...a, ...b);
const add = curry((a, b, c) => a + b + c);
[pipe((x) => x + 1, (x) => x * 2)(3), compose((x) => x + 1, (x) => x * 2)(3), add(1)(2)(3), add(1, 2)(3), add.length, ((a, b) => a).bind(null, 1).length]

//// pick, omit, map values, invert
// want: [{"a":1},{"b":2,"c":3},{"a":"a1","b":"b2","c":"c3"},{"1":"a","2":"b","3":"c"},3]
const pick = (o, ks) => Object.fromEntries(ks.filter((k) => k in o).map((k) => [k, o[k]]));
const omit = (o, ks) => Object.fromEntries(Object.entries(o).filter(([k]) => !ks.includes(k)));
const mapValues = (o, f) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, f(v, k)]));
const invert = (o) => Object.fromEntries(Object.entries(o).map(([k, v]) => [v, k]));
const o = { a: 1, b: 2, c: 3 };
[pick(o, ['a', 'z']), omit(o, ['a']), mapValues(o, (v, k) => k + v), invert(o), Object.entries(o).length]

//// a deep merge
// want: {"a":{"x":1,"y":[2],"z":3},"b":1,"c":null}
const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const merge = (a, b) => isObject(a) && isObject(b) ? [...new Set([...Object.keys(a), ...Object.keys(b)])].reduce((o, k) => ({ ...o, [k]: k in b ? (k in a ? merge(a[k], b[k]) : b[k]) : a[k] }), {}) : b;
merge({ a: { x: 1, y: [1] }, b: 1 }, { a: { y: [2], z: 3 }, c: null })

//// a debounced counter by closures
// want: [2,-1,"object",true]
const counter = () => { let n = 0; return { up: () => ++n, down: () => --n, get value() { return n } }; };
const a = counter(), b = counter();
a.up(); a.up(); b.down();
[a.value, b.value, (function () { return typeof this }).call(5), (() => typeof this)() !== 'number']

//// weak maps for what is private
// want: ["gold",true,false,[],true]
const secrets = new WeakMap(), seen = new WeakSet();
class Box { constructor(v) { secrets.set(this, v); seen.add(this); } open() { return secrets.get(this); } }
const b = new Box('gold');
[b.open(), seen.has(b), seen.has({}), Object.keys(b), secrets.has(b)]

//// a state machine
// want: ["idle","busy","no go in broken"]
const machine = (spec, at = spec.start) => ({ at, send: (ev) => { const to = spec.states[at]?.[ev]; if (!to) throw new Error(`no ${ev} in ${at}`); return machine(spec, to); } });
const m = machine({ start: 'idle', states: { idle: { go: 'busy' }, busy: { done: 'idle', fail: 'broken' }, broken: {} } });
let refused;
try { m.send('go').send('fail').send('go') } catch (e) { refused = e.message }
[m.at, m.send('go').at, refused]

//// a validator of schemas
// want: [[],["$.name: not string like /^[a-z]+$/","$.age: not number","$.tags[1]: not string"],["$.tags: missing"],["$: not an object"]]
const check = (schema, v, at = '$') => {
  if (schema.type === 'array') return Array.isArray(v) ? v.flatMap((x, i) => check(schema.items, x, `${at}[${i}]`)) : [`${at}: not an array`];
  if (schema.type === 'object') return typeof v !== 'object' || !v ? [`${at}: not an object`] : Object.entries(schema.fields).flatMap(([k, s]) => k in v ? check(s, v[k], `${at}.${k}`) : s.optional ? [] : [`${at}.${k}: missing`]);
  return typeof v === schema.type && (!schema.pattern || schema.pattern.test(v)) ? [] : [`${at}: not ${schema.type}${schema.pattern ? ' like ' + schema.pattern : ''}`];
};
const user = { type: 'object', fields: { name: { type: 'string', pattern: /^[a-z]+$/ }, age: { type: 'number', optional: true }, tags: { type: 'array', items: { type: 'string' } } } };
[check(user, { name: 'ann', tags: ['x'] }), check(user, { name: 'Ann!', age: '3', tags: ['a', 1] }), check(user, { name: 'b' }), check(user, null)]

//// numbers for people
// want: ["1,234,567","999 B","120.6 KB","01:02:05",3,-2,-1,-1,1,-1,1024,true]
const thousands = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const size = (n) => { const u = ['B', 'KB', 'MB']; let i = 0; while (n >= 1024 && i < 2) { n /= 1024; i++; } return n.toFixed(i ? 1 : 0) + ' ' + u[i]; };
const time = (s) => [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60].map((x) => String(x).padStart(2, '0')).join(':');
[thousands(1234567), size(999), size(123456), time(3725), Math.round(2.5), Math.round(-2.5), Math.trunc(-1.9), Math.sign(-3), 7 % -3, -7 % 3, 2 ** 10, 5 / 0 === Infinity]

//// enums, frozen, with symbols
// want: ["RED",true,"red",true,"Symbol(green)",false]
'use strict';
const Color = Object.freeze({ RED: Symbol('red'), GREEN: Symbol('green'), of(s) { return Object.keys(this).find((k) => this[k] === s) } });
let refused;
try { Color.BLUE = 1 } catch (e) { refused = e instanceof TypeError }
[Color.of(Color.RED), refused, Color.RED.description, Symbol.for('k') === Symbol.for('k'), String(Color.GREEN), 'BLUE' in Color]

//// sorting by the built-in comparators
// want: [["Zoe","adam","bob","Émile"],["adam","bob","Zoe","Émile"],[1,9,10],[false,true],[100,20,3]]
const names = ['Zoe', 'adam', 'Émile', 'bob'];
[[...names].sort(), [...names].sort((a, b) => a.toLowerCase() < b.toLowerCase() ? -1 : 1), ['10', '9', '1'].map(Number).sort((a, b) => a - b), [true, false].sort(), [3, 20, 100].sort()]

//// arguments, rest and the values of missing ones
// want: [[3,[2,3],"object"],[1,2,[]],[1,2,[3]],1,9,2]
function old() { return [arguments.length, Array.prototype.slice.call(arguments, 1), typeof arguments]; }
const f = (a, b = a + 1, ...c) => [a, b, c];
[old(1, 2, 3), f(1), f(1, undefined, 3), f.length, (function (a) { arguments[0] = 9; return a })(1), Math.min.apply(null, [3, 2])]

//// numbers from texts, and the other way
// want: [12.5,7,true,3.14,"11001",1295,"0.000001234",true,9007199254740991,"12.3","0.0000001000",true,0.30000000000000004,0.3333333333333333]
[Number('12.50'), Number(' 7 '), +'abc' !== +'abc', parseFloat('3.14abc'), (25).toString(2), parseInt('zz', 36), (0.000001234).toString(), (1e21).toLocaleString !== undefined, Number.MAX_SAFE_INTEGER, (12.345).toFixed(1),
  (1e-7).toFixed(10), Number.isInteger(5.0), 0.1 * 3, 1 / 3]
