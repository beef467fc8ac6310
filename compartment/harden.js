// Makes a fresh realm into one a guest may run in. Every engine runs it once in each new realm (or in the one that the others are copied
// from), before any guest code. It is one expression: a function that is called with an object
//
//   permits      the table of what a guest may see: object -> names (compartment.PermitsJSON)
//   ownGlobal    true: eval and the function constructors work, in the compartment's own global; false: they refuse
//   refuse(kind, text)   throws an error of the boundary
//   plan         what an earlier run in an equal realm returned as its plan: the walk is not made again, but followed. Absent, it is made
//
// and returns one that only the host sees:
//
//   removed      the paths of what was taken away, for the test that compares the table with the engine
//   objects      how many objects were frozen
//   repaired     a list: the getter of a property that was plain data before the override mistake was repaired, its value, the next getter, ...
//   plan         two lists of text, symbols and numbers, roots and steps, with which another run can do without the walk
//   Date         the real constructor of dates, for the boundary's own use
//
// What is done: what the table does not list is removed; eval, the function constructors, Math.random and the present moment are replaced;
// assigning to an own property works although the prototype is frozen (the override mistake); everything but the global object is frozen.
(function (host) {
  'use strict';
  const { permits, ownGlobal, refuse, plan: known } = host;
  const realEval = eval, { defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, apply, construct } = Reflect;
  const { freeze } = Object;
  const global = globalThis;
  const hide = (o, name, value) => defineProperty(o, name, { value, writable: true, enumerable: false, configurable: true });
  const rename = (f, name, length) => {
    defineProperty(f, 'name', { value: name, writable: false, enumerable: false, configurable: true });
    defineProperty(f, 'length', { value: length, writable: false, enumerable: false, configurable: true });
    return f;
  };
  // A method of an object literal is no constructor and has no prototype of its own, like the functions of the language.
  const method = (f, name, length) => rename({ m(...args) { return apply(f, this, args); } }.m, name, length);

  // --- Objects that no global leads to. An engine that lacks the feature lacks the object.
  const hidden = [
    ['%TypedArray%', () => getPrototypeOf(Int8Array)],
    ['%GeneratorFunction%', () => realEval('(function* () {})').constructor],
    ['%AsyncFunction%', () => realEval('(async function () {})').constructor],
    ['%AsyncGeneratorFunction%', () => realEval('(async function* () {})').constructor],
    ['Iterator.prototype', () => getPrototypeOf(getPrototypeOf([][Symbol.iterator]()))],
    ['%ArrayIteratorPrototype%', () => getPrototypeOf([][Symbol.iterator]())],
    ['%StringIteratorPrototype%', () => getPrototypeOf(''[Symbol.iterator]())],
    ['%MapIteratorPrototype%', () => getPrototypeOf(new Map()[Symbol.iterator]())],
    ['%SetIteratorPrototype%', () => getPrototypeOf(new Set()[Symbol.iterator]())],
    ['%RegExpStringIteratorPrototype%', () => getPrototypeOf('a'.matchAll(/a/g))],
    ['%IteratorHelperPrototype%', () => getPrototypeOf([].values().map((x) => x))],
    ['%IteratorHelperPrototype%', () => getPrototypeOf(Iterator.concat([]))],
    ['%IteratorHelperPrototype%', () => getPrototypeOf(Iterator.zip([]))],
    ['%WrapForValidIteratorPrototype%', () => getPrototypeOf(Iterator.from({ next() {} }))],
    ['%AsyncIteratorPrototype%', () => getPrototypeOf(getPrototypeOf(getPrototypeOf(realEval('(async function* () {})()'))))],
    ['%ThrowTypeError%', () => getOwnPropertyDescriptor(realEval('(function () { "use strict"; return arguments; })()'), 'callee').get],
  ];
  // Lists are gone through by index and without callbacks: some engines make a realm for each compartment, and take a millisecond for this script.
  const names = new Map(), found = {}, queue = [];
  const register = (o, name) => {
    if (names.has(o)) return false;
    names.set(o, name);
    found[name] = found[name] || o;
    queue[queue.length] = o;
    return true;
  };
  const isObject = (v) => (typeof v === 'object' && v !== null) || typeof v === 'function';
  const roots = known ? known.roots : [];
  if (known) {
    for (let i = 0; i < roots.length; i++) register(hidden[roots[i]][1](), hidden[roots[i]][0]);
  } else {
    for (let i = 0; i < hidden.length; i++) {
      let o;
      try { o = hidden[i][1](); } catch (e) { continue; }
      if (isObject(o) && register(o, hidden[i][0])) roots.push(i);
    }
  }

  // --- Code from text. The constructors hang on the prototypes of all functions, so they are replaced there; instanceof goes on working.
  if (!ownGlobal) {
    const noCode = () => refuse('refused/dynamic_code', 'code cannot be made from text here');
    const makers = [Function];
    for (const name of ['%GeneratorFunction%', '%AsyncFunction%', '%AsyncGeneratorFunction%']) if (found[name]) makers.push(found[name]);
    for (const real of makers) {
      const proto = real.prototype;
      const maker = rename(function () { noCode(); }, real.name, 1);
      defineProperty(maker, 'prototype', { value: proto, writable: false, enumerable: false, configurable: false });
      if (real !== Function) Object.setPrototypeOf(maker, Function.prototype.constructor);
      defineProperty(proto, 'constructor', { value: maker, writable: false, enumerable: false, configurable: true });
      if (real === Function) { hide(global, 'Function', maker); continue; }
      const name = names.get(real);
      names.delete(real);
      queue.splice(queue.indexOf(real), 1);
      found[name] = undefined;
      register(maker, name);
    }
    hide(global, 'eval', method(noCode, 'eval', 1));
  }

  // --- Chance and time. Only a power gives them.
  const withheld = (what) => refuse('refused/not_granted', what + ' is not granted');
  hide(Math, 'random', method(() => withheld('Math.random'), 'random', 0));
  const RealDate = Date;
  const Dated = rename(function (...args) {
    if (new.target === undefined || args.length === 0) withheld('the clock');
    return construct(RealDate, args, new.target);
  }, 'Date', 7);
  defineProperty(Dated, 'prototype', { value: RealDate.prototype, writable: false, enumerable: false, configurable: false });
  hide(RealDate.prototype, 'constructor', Dated);
  for (const key of ['UTC', 'parse']) hide(Dated, key, RealDate[key]);
  hide(Dated, 'now', method(() => withheld('the clock'), 'now', 0));
  hide(global, 'Date', Dated);

  // --- The prototype of the global object is as fixed as the standard lets it be: a name that nobody declared stays undeclared.
  const { setPrototypeOf } = Object, reflectSet = Reflect.setPrototypeOf;
  const oldProto = getOwnPropertyDescriptor(Object.prototype, '__proto__');
  const fixed = (o, p) => o === global && p !== getPrototypeOf(global);
  const immutable = () => { throw new TypeError('the prototype of the global object cannot be changed'); };
  hide(Object, 'setPrototypeOf', method((o, p) => (fixed(o, p) ? immutable() : setPrototypeOf(o, p)), 'setPrototypeOf', 2));
  hide(Reflect, 'setPrototypeOf', method((o, p) => (fixed(o, p) ? false : reflectSet(o, p)), 'setPrototypeOf', 2));
  if (oldProto && oldProto.set) {
    const set = method(function (p) { return fixed(this, p) && isObject(p) ? immutable() : apply(oldProto.set, this, [p]); }, 'set __proto__', 1);
    defineProperty(Object.prototype, '__proto__', { get: oldProto.get, set, enumerable: false, configurable: true });
  }

  // --- The walk: remove what is not listed. Its steps say how, four items each, which are the number of an object in the queue, a key, what to do,
  // and the name by which the repair below looks for what was found, or ''.
  const VALUE = 0, GET = 1, SET = 2, REMOVE = 3, parts = ['value', 'get', 'set'];
  const repair = {
    'Object.prototype': ['constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'toLocaleString', 'toString', 'valueOf',
      '__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__'],
    'Function.prototype': ['constructor', 'toString', 'bind', 'apply', 'call'],
    'Array.prototype': ['toString', 'toLocaleString'], // not constructor: map, filter and slice look it up each time
    'Iterator.prototype': ['constructor', Symbol.toStringTag],
    'Map.prototype': ['constructor'],
    'Set.prototype': ['constructor'],
    'Date.prototype': ['constructor', 'toString', 'toJSON'],
    'RegExp.prototype': ['toString'],
    'Error.prototype': ['constructor', 'message', 'name', 'toString'],
  };
  for (const name of ['Eval', 'Range', 'Reference', 'Syntax', 'Type', 'URI', 'Aggregate', 'Suppressed', 'Internal']) {
    repair[name + 'Error.prototype'] = ['constructor', 'message', 'name'];
  }
  const removed = [], steps = known ? known.steps : [];
  const text = (key) => (typeof key === 'symbol' ? '@@' + key.description.replace(/^Symbol\./, '') : key);
  const step = (from, key, what, name) => { steps.push(from, key, what, name); };
  const walk = () => {
    const listed = {};
    for (const name of ownKeys(permits)) listed[name] = new Set(permits[name]);
    const remove = (from, key, path) => {
      if (!deleteProperty(queue[from], key)) throw new TypeError('hardening: ' + path + ' cannot be removed');
      removed.push(path);
      step(from, key, REMOVE, '');
    };
    const visit = (o, from) => {
      const name = names.get(o);
      for (const key of ownKeys(o)) {
        const short = text(key);
        const path = o === global && short[0] !== '@' ? short : name + '.' + short;
        if (typeof o === 'function' && (key === 'length' || key === 'name')) continue;
        if (!(listed[name] && listed[name].has(short))) { remove(from, key, path); continue; }
        const d = getOwnPropertyDescriptor(o, key);
        for (let what = VALUE; what <= SET; what++) {
          const v = d[parts[what]];
          if (!isObject(v) || names.has(v)) continue;
          if (typeof v !== 'function' && !listed[path]) { remove(from, key, path); break; }
          const own = what === VALUE ? path : parts[what] + ' ' + path;
          register(v, own);
          step(from, key, what, repair[own] ? own : '');
        }
      }
    };
    for (let i = 0; i < queue.length; i++) visit(queue[i], i);
    names.forEach((name, o) => {
      const p = getPrototypeOf(o);
      if (p !== null && !names.has(p)) throw new TypeError('hardening: the prototype of ' + name + ' is not in the table');
    });
  };
  const follow = () => {
    for (let i = 0; i < steps.length; i += 4) {
      const o = queue[steps[i]], key = steps[i + 1], what = steps[i + 2];
      if (what === REMOVE) { deleteProperty(o, key); continue; }
      const v = what === VALUE ? o[key] : getOwnPropertyDescriptor(o, key)[parts[what]];
      if (!isObject(v)) throw new TypeError('hardening: the plan is of another realm');
      queue[queue.length] = v;
      if (steps[i + 3] !== '') found[steps[i + 3]] = v;
    }
  };
  register(global, 'globalThis');
  if (known) follow(); else walk();

  // --- The override mistake: where a prototype's property is frozen, an object that inherits it cannot be assigned one of its own. The
  // properties that programs do assign become accessors that define it. The others stay data, because they are called often.
  const repaired = [];
  const tame = (o, key) => {
    const d = getOwnPropertyDescriptor(o, key);
    if (!d || !('value' in d) || !d.configurable) return;
    const { value } = d;
    const { get, set } = getOwnPropertyDescriptor({
      get [key]() { return value; },
      set [key](v) {
        if (!isObject(this) || this === o) throw new TypeError(text(key) + ' is read-only');
        const own = getOwnPropertyDescriptor(this, key);
        if (own === undefined) {
          if (!defineProperty(this, key, { value: v, writable: true, enumerable: true, configurable: true })) throw new TypeError(text(key) + ' cannot be added');
        } else if (!reflectSetProperty(this, key, v)) throw new TypeError(text(key) + ' is read-only');
      },
    }, key);
    queue.push(get, set);
    repaired.push(get, value);
    defineProperty(o, key, { get, set, enumerable: d.enumerable, configurable: true });
  };
  const reflectSetProperty = Reflect.set;
  for (const name of ownKeys(repair)) {
    if (!found[name]) continue;
    for (const key of repair[name]) tame(found[name], key);
  }

  // --- Freeze. The functions above are frozen too: they were queued, or the walk met them.
  for (let i = 0; i < queue.length; i++) if (queue[i] !== global) freeze(queue[i]);
  return { removed, objects: queue.length - 1, repaired, plan: { roots, steps }, Date: RealDate };
})
