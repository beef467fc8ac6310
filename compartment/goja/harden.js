// Runs once in every new realm, before any guest code. It is called with functions of the host and returns what the host keeps for itself:
// built-ins as they were before a guest could change them.
//
//   host.refuse(kind, text)  throws an error of the boundary
//   host.native(name, arity, f)  makes f, a function of the host, into one of the realm: its own name, frozen, no constructor
(function (host) {
  'use strict';
  const { refuse } = host;
  const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { freeze } = Object;
  const uncurry = (f) => (self, ...args) => apply(f, self, args);
  const getter = (proto, name) => uncurry(getOwnPropertyDescriptor(proto, name).get);
  const hide = (object, name, value) => defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
  const rename = (f, name, length) => {
    defineProperty(f, 'name', { value: name, configurable: true });
    defineProperty(f, 'length', { value: length, configurable: true });
    return f;
  };

  // What the host keeps, to look at values without running anything of the guest.
  const kept = {
    ownKeys, freeze, getOwnPropertyDescriptor,
    Date, Uint8Array,
    Error, TypeError, RangeError,
    dateValue: uncurry(Date.prototype.valueOf),
    mapForEach: uncurry(Map.prototype.forEach),
    mapSize: getter(Map.prototype, 'size'),
    setForEach: uncurry(Set.prototype.forEach),
    setSize: getter(Set.prototype, 'size'),
    stringValue: uncurry(String.prototype.valueOf),
    numberValue: uncurry(Number.prototype.valueOf),
    booleanValue: uncurry(Boolean.prototype.valueOf),
    regexpSource: getter(RegExp.prototype, 'source'),
    regexpFlags: ['global', 'ignoreCase', 'multiline', 'dotAll', 'unicode', 'sticky'].map((n) => getter(RegExp.prototype, n)),
  };

  // Code from text: eval and the three function constructors, wherever they hang (R252). instanceof goes on working.
  const noCode = () => refuse('refused/dynamic_code', 'code cannot be made from text here');
  const makers = [function () {}, function* () {}, async function () {}].map((f) => getPrototypeOf(f));
  for (const proto of makers) {
    const name = proto.constructor.name;
    const maker = { [name]: function () { noCode(); } }[name];
    rename(maker, name, 1);
    defineProperty(maker, 'prototype', { value: proto, writable: false });
    defineProperty(proto, 'constructor', { value: maker, writable: false, enumerable: false, configurable: false });
  }
  hide(globalThis, 'Function', Function.prototype.constructor);
  hide(globalThis, 'eval', rename(() => noCode(), 'eval', 1));

  // Chance and time (R254). Only a power gives them.
  const withheld = (what) => refuse('refused/not_granted', what + ' is not granted');
  hide(Math, 'random', rename(() => withheld('Math.random'), 'random', 0));
  host.date({ refuse: withheld, hide, rename, uncurry });

  // Not the language: an error type for errors of Go.
  deleteProperty(globalThis, 'GoError');
  return kept;
})
