// Runs once in every new realm, before any guest code. It is called with an object of the host's functions:
//
//   refuse(kind, text)  throws an error of the boundary
//   date(tools)         the script in date.js
//   checks              by the name of a constructor: what looks at its arguments and gives back those to go on with
(function (host) {
  'use strict';
  const { refuse } = host;
  const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const uncurry = (f) => (self, ...args) => apply(f, self, args);
  const hide = (object, name, value) => defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
  const rename = (f, name, length) => {
    defineProperty(f, 'name', { value: name, configurable: true });
    defineProperty(f, 'length', { value: length, configurable: true });
    return f;
  };

  // Code from text: eval and the three function constructors, wherever they hang (R252). instanceof goes on working.
  const noCode = () => refuse('refused/dynamic_code', 'code cannot be made from text here');
  for (const f of [function () {}, function* () {}, async function () {}]) {
    const proto = getPrototypeOf(f), name = proto.constructor.name;
    const maker = rename(function () { noCode(); }, name, 1);
    defineProperty(maker, 'prototype', { value: proto, writable: false });
    defineProperty(proto, 'constructor', { value: maker, writable: false, enumerable: false, configurable: false });
  }
  hide(globalThis, 'Function', Function.prototype.constructor);
  hide(globalThis, 'eval', rename(() => noCode(), 'eval', 1));

  // Chance and time (R254). Only a power gives them.
  const withheld = (what) => refuse('refused/not_granted', what + ' is not granted');
  hide(Math, 'random', rename(() => withheld('Math.random'), 'random', 0));
  host.date({ refuse: withheld, hide, rename, uncurry });

  // Constructors that could take all memory, or the host's stack, in one call. They are looked at before they run.
  for (const name of ownKeys(host.checks)) {
    const check = host.checks[name], Real = globalThis[name], proto = Real.prototype;
    const Measured = rename(function (...args) {
      const fit = check(...args);
      return new.target === undefined ? apply(Real, undefined, fit) : construct(Real, fit, new.target);
    }, name, Real.length);
    for (const key of ownKeys(Real)) {
      if (key !== 'prototype' && key !== 'name' && key !== 'length') defineProperty(Measured, key, getOwnPropertyDescriptor(Real, key));
    }
    setPrototypeOf(Measured, getPrototypeOf(Real));
    defineProperty(Measured, 'prototype', { value: proto, writable: false });
    if (proto !== undefined) hide(proto, 'constructor', Measured);
    hide(globalThis, name, Measured);
  }
  const { revocable } = Proxy;
  hide(Proxy, 'revocable', rename((...args) => apply(revocable, undefined, host.checks.Proxy(...args)), 'revocable', 2));

  // Not of the language: an error type for errors of Go. And a method that changes frozen patterns.
  deleteProperty(globalThis, 'GoError');
  deleteProperty(RegExp.prototype, 'compile');
})
