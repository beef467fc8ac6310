// Runs in every new realm before the hardening script, for what only this engine needs. It returns the function that looks at the counts of shifts, and is
// called with
//
//   date(tools)   the script in date.js
//   checks        by the name of a constructor: what looks at its arguments and gives back those to go on with
//   mostBits      what a shift may be by; tooLarge() throws the error that says so
//   code          the same for the constructors that make functions of text; absent when they are refused anyway
(function (host) {
  'use strict';
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, setPrototypeOf } = Reflect;
  const uncurry = (f) => (self, ...args) => apply(f, self, args);
  const hide = (object, name, value) => defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
  const rename = (f, name, length) => {
    defineProperty(f, 'name', { value: name, configurable: true });
    defineProperty(f, 'length', { value: length, configurable: true });
    return f;
  };
  host.date({ hide, rename, uncurry });

  // Constructors that could take all memory, or the host's stack, in one call. They are looked at before they run.
  const bind = uncurry(Function.prototype.bind);
  const measure = (Real, check) => {
    let Measured = function (...args) {
      const fit = check(...args);
      return new.target === undefined ? apply(Real, undefined, fit) : construct(Real, fit, new.target);
    };
    if (Real.prototype === undefined) Measured = bind(Measured); // a constructor that has no property prototype either
    else defineProperty(Measured, 'prototype', { value: Real.prototype, writable: false });
    rename(Measured, Real.name, Real.length);
    const keys = ownKeys(Real);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (key !== 'prototype' && key !== 'name' && key !== 'length') defineProperty(Measured, key, getOwnPropertyDescriptor(Real, key));
    }
    setPrototypeOf(Measured, getPrototypeOf(Real));
    return Measured;
  };
  const names = ownKeys(host.checks);
  for (let i = 0; i < names.length; i++) {
    const Real = globalThis[names[i]], Measured = measure(Real, host.checks[names[i]]);
    if (Real.prototype !== undefined) hide(Real.prototype, 'constructor', Measured);
    hide(globalThis, names[i], Measured);
  }
  const { revocable } = Proxy;
  hide(Proxy, 'revocable', rename((...args) => apply(revocable, undefined, host.checks.Proxy(...args)), 'revocable', 2));

  if (host.code) {
    for (const f of [function () {}, function* () {}, async function () {}]) {
      const proto = getPrototypeOf(f), Real = proto.constructor, Measured = measure(Real, host.code);
      if (Real === Function) hide(globalThis, 'Function', Measured);
      else setPrototypeOf(Measured, Function);
      defineProperty(proto, 'constructor', { value: Measured, writable: false, enumerable: false, configurable: true });
    }
  }

  // What the count of a shift, or a power, goes through. A number that is added to becomes what the operator would make of it.
  const most = BigInt(host.mostBits);
  return (n) => {
    if (typeof n === 'number') return n;
    const count = n++;
    if (typeof count === 'bigint' && (count > most || count < -most)) host.tooLarge();
    return count;
  };
})
