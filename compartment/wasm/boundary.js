// The boundary's own functions inside the realm. It runs once, before the image is taken: it hardens the realm and returns an object of functions that
// only the host holds. They use built-ins as they were before any guest code, they never run code of the guest, and they are not called
// with proxies, which the host sorts out first.
(function (harden, permits, ownGlobal) {
  'use strict';
  const { apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { freeze } = Object;
  const uncurry = (f) => (self, ...args) => apply(f, self, args);
  const getter = (proto, name) => uncurry(getOwnPropertyDescriptor(proto, name).get);
  const errors = { Error, TypeError, RangeError, SyntaxError };
  const Bytes = Uint8Array, Big = BigInt, undeclared = ReferenceError.prototype;

  // --- Errors of the boundary are known again by identity. A kind stands for one that the realm made itself, a number for one of the host.
  const failures = new WeakMap(), remember = uncurry(WeakMap.prototype.set), recall = uncurry(WeakMap.prototype.get);
  const fail = (name, code, text, id) => {
    const e = new (errors[name] || Error)(text);
    defineProperty(e, 'code', { value: code, writable: true, enumerable: false, configurable: true });
    remember(failures, e, id);
    return e;
  };
  const after = uncurry(String.prototype.slice), indexOf = uncurry(String.prototype.indexOf);
  const refuse = (kind, text) => { throw fail('TypeError', after(kind, indexOf(kind, '/') + 1), text, kind); };

  const typed = getPrototypeOf(Int8Array.prototype);
  const valueOf = {};
  for (const C of [Number, String, Boolean, Symbol, BigInt]) valueOf[C.name] = uncurry(C.prototype.valueOf);
  const dateValue = uncurry(Date.prototype.getTime);
  const size = { map: getter(Map.prototype, 'size'), set: getter(Set.prototype, 'size') };
  const entries = uncurry(Map.prototype.entries), members = uncurry(Set.prototype.values);
  const next = { map: uncurry(getPrototypeOf(new Map().entries()).next), set: uncurry(getPrototypeOf(new Set().values()).next) };
  const typedName = getter(typed, Symbol.toStringTag), typedLength = getter(typed, 'length');
  const source = getter(RegExp.prototype, 'source');
  const flags = [['hasIndices', 'd'], ['global', 'g'], ['ignoreCase', 'i'], ['multiline', 'm'], ['dotAll', 's'], ['unicode', 'u'], ['unicodeSets', 'v'], ['sticky', 'y']]
    .map(([name, letter]) => ({ get: getter(RegExp.prototype, name), letter }));
  const description = getter(Symbol.prototype, 'description');
  const stackOf = getter(Error.prototype, 'stack');
  const isEnumerable = uncurry(Object.prototype.propertyIsEnumerable);

  // --- One of each kind of object, from which the host learns the engine's numbers for them. The order is that of the host's list.
  const samples = [{}, (0, eval)('(function () { return arguments; })()'), (function () { 'use strict'; return arguments; })(), globalThis, Math, [], new Date(0), new Map(),
    new Set(), /a/, new Error(), Promise.resolve(), new ArrayBuffer(1), new DataView(new ArrayBuffer(1)), new Uint8Array(1), new Uint8ClampedArray(1),
    new Int8Array(1), new Int16Array(1), new Uint16Array(1), new Int32Array(1), new Uint32Array(1), new BigInt64Array(1), new BigUint64Array(1),
    new Float16Array(1), new Float32Array(1), new Float64Array(1), new Proxy({}, {}), Object(1), Object('a'), Object(true), Object(Symbol()), Object(1n)];

  const { removed, objects, repaired, Date: RealDate } = harden({ permits: JSON.parse(permits), ownGlobal, refuse });
  const tamed = new WeakMap(); // getter -> [the value that it stands for]
  for (let i = 0; i < repaired.length; i += 2) remember(tamed, repaired[i], [repaired[i + 1]]);

  const kept = {
    // Looking. Each returns a new array whose first element says how much there is.
    fields(o, most) { // [left out, key, kind, value, ...]: the enumerable properties; kind 0 is a value, 1 an accessor
      const keys = ownKeys(o), out = [0];
      let left = 0, n = 0;
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        if (n >= most) { left += keys.length - i; break; }
        if (typeof key === 'symbol') { if (isEnumerable(o, key)) left++; continue; }
        const d = getOwnPropertyDescriptor(o, key);
        if (d === undefined || !d.enumerable) continue;
        n++;
        if ('value' in d) out[out.length] = key, out[out.length] = 0, out[out.length] = d.value;
        else out[out.length] = key, out[out.length] = 1, out[out.length] = undefined;
      }
      out[0] = left;
      return out;
    },
    elements(a, most) { // [length, kind, value, ...]; kind 2 is a hole
      const { length } = a, out = [length];
      for (let i = 0; i < length && i < most; i++) {
        const d = getOwnPropertyDescriptor(a, i);
        if (d === undefined) out[out.length] = 2, out[out.length] = undefined;
        else if ('value' in d) out[out.length] = 0, out[out.length] = d.value;
        else out[out.length] = 1, out[out.length] = undefined;
      }
      return out;
    },
    entries(m, most) { // [size, key, value, ...]
      const out = [size.map(m)], it = entries(m);
      for (let i = 0; i < most; i++) {
        const r = next.map(it);
        if (r.done) break;
        out[out.length] = r.value[0], out[out.length] = r.value[1];
      }
      return out;
    },
    members(s, most) { // [size, value, ...]
      const out = [size.set(s)], it = members(s);
      for (let i = 0; i < most; i++) {
        const r = next.set(it);
        if (r.done) break;
        out[out.length] = r.value;
      }
      return out;
    },
    numbers(v, most) { // [length, number, ...]
      const length = typedLength(v), out = [length];
      for (let i = 0; i < length && i < most; i++) out[out.length] = v[i];
      return out;
    },
    cut(s, most) { // [length, the text or its beginning]
      if (s.length <= most) return [s.length, s];
      const last = after(s, most - 1, most);
      return [s.length, after(s, 0, last >= '\ud800' && last <= '\udbff' ? most - 1 : most)];
    },
    date: (d) => dateValue(d),
    unbox: (name, o) => valueOf[name](o),
    typedName: (v) => typedName(v),
    regexp(r) {
      let text = '/' + source(r) + '/';
      for (let i = 0; i < flags.length; i++) if (flags[i].get(r)) text += flags[i].letter;
      return text;
    },
    describe: (s) => description(s),
    own(o, name) { // undefined, [] for an accessor, [value]
      const d = getOwnPropertyDescriptor(o, name);
      if (d === undefined) return undefined;
      if ('value' in d) return [d.value];
      return recall(tamed, d.get) || [];
    },
    proto: (o) => getPrototypeOf(o),
    stack: (e) => stackOf(e),
    where: () => stackOf(new Error('')),

    // Errors.
    fail,
    failure: (e) => recall(failures, e),
    undeclared: (e) => getPrototypeOf(e) === undeclared,

    // Making.
    newDate: (ms) => new RealDate(ms),
    newBigInt: (text) => Big(text),

    // Powers: a function with its own name; alone on the global object, or with others on an object of theirs. Neither can be changed.
    name(f, name, length) {
      defineProperty(f, 'name', { value: name, writable: false, enumerable: false, configurable: false });
      defineProperty(f, 'length', { value: length, writable: false, enumerable: false, configurable: false });
      return freeze(f);
    },
    holder: () => ({}),
    put(o, name, f) { defineProperty(o, name, { value: f, writable: false, enumerable: true, configurable: false }); },
    bind(name, v) { defineProperty(globalThis, name, { value: freeze(v), writable: false, enumerable: false, configurable: false }); },

    constants: [undefined, null, false, true],
    types: [1n, 2n ** 70n, Symbol(), 'a', {}, () => 1, 1, true, null, undefined],
    samples, removed, objects,
  };
  return kept;
})
