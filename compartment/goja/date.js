// The Date of a realm without a time zone: everything local is UTC, so that a program gives the same answer on every host. The clock is withheld by
// the hardening script, which comes after this one.
(function (tools) {
  'use strict';
  const { hide, rename, uncurry } = tools;
  const Real = Date, proto = Date.prototype, { construct, ownKeys } = Reflect;
  const { UTC, parse: realParse } = Date;
  const test = uncurry(RegExp.prototype.test), text = String;
  const pad = (n, w) => { let s = text(n); while (s.length < w) s = '0' + s; return s; };

  // A text without a zone is read as UTC, by adding one. A date alone is UTC already.
  const parse = (s) => {
    const t = realParse(s);
    if (t !== t || test(/^[+-]?\d{4,6}(-\d\d(-\d\d)?)?$/, s)) return t;
    if (test(/(\b(utc|gmt)\b|\dz|:\d\d.*[+-]\d\d:?\d\d|gmt[+-]\d{4})\s*(\(.*\))?\s*$/i, s)) return t;
    for (const zone of ['Z', ' UTC']) {
      const utc = realParse(s + zone);
      if (utc === utc) return utc;
    }
    return t;
  };

  const primitive = (v) => {
    if (v === null || (typeof v !== 'object' && typeof v !== 'function')) return v;
    try { return valueOf(v); } catch (e) { /* not a date: as the language says */ }
    const f = v[Symbol.toPrimitive];
    if (f !== undefined && f !== null) return apply(f, v, ['default']);
    return typeof v.valueOf() === 'object' ? text(v) : v.valueOf();
  };
  const valueOf = uncurry(proto.valueOf), { apply } = Reflect;

  const Without = rename(function (...args) {
    if (args.length > 1) return construct(Real, [apply(UTC, undefined, args)], new.target);
    const v = primitive(args[0]);
    return construct(Real, [typeof v === 'string' ? parse(v) : v], new.target);
  }, 'Date', 7);
  Object.defineProperty(Without, 'prototype', { value: proto, writable: false });
  hide(proto, 'constructor', Without);
  hide(Without, 'UTC', UTC);
  hide(Without, 'parse', rename((s) => parse(text(s)), 'parse', 1));
  hide(globalThis, 'Date', Without);

  // Methods that would look at the host's zone or language.
  for (const unit of ['Date', 'Day', 'FullYear', 'Hours', 'Milliseconds', 'Minutes', 'Month', 'Seconds']) {
    for (const verb of ['get', 'set']) {
      const utc = proto[verb + 'UTC' + unit];
      if (utc === undefined) continue;
      hide(proto, verb + unit, rename({ m(...args) { return apply(utc, this, args); } }.m, verb + unit, utc.length));
    }
  }
  const get = {};
  for (const unit of ['Date', 'Day', 'FullYear', 'Hours', 'Minutes', 'Month', 'Seconds']) get[unit] = uncurry(proto['getUTC' + unit]);
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
  const year = (d) => { const y = get.FullYear(d); return y < 0 ? '-' + pad(-y, 6) : pad(y, 4); };
  const clock = (d) => pad(get.Hours(d), 2) + ':' + pad(get.Minutes(d), 2) + ':' + pad(get.Seconds(d), 2);
  const forms = {
    toDateString: (d) => days[get.Day(d)] + ' ' + months[get.Month(d)] + ' ' + pad(get.Date(d), 2) + ' ' + year(d),
    toTimeString: (d) => clock(d) + ' GMT+0000 (Coordinated Universal Time)',
    toString: (d) => forms.toDateString(d) + ' ' + forms.toTimeString(d),
    toLocaleDateString: (d) => (get.Month(d) + 1) + '/' + get.Date(d) + '/' + year(d),
    toLocaleTimeString: (d) => clock(d),
    toLocaleString: (d) => forms.toLocaleDateString(d) + ', ' + clock(d),
    getTimezoneOffset: () => 0,
    getYear: (d) => get.FullYear(d) - 1900,
  };
  for (const name of ownKeys(forms)) {
    if (!(name in proto)) continue;
    const f = forms[name];
    hide(proto, name, rename({
      m() { // a method, since these are no constructors
        const t = valueOf(this); // a TypeError when this is not a date
        if (t !== t) return name === 'getTimezoneOffset' || name === 'getYear' ? NaN : 'Invalid Date';
        return f(this);
      },
    }.m, name, 0));
  }
  delete proto.setYear;

  // The engine takes the locale for a radix. There are no locales here, so a number is written as it is everywhere.
  for (const holder of [Number.prototype, BigInt.prototype]) {
    const plain = holder.toString;
    hide(holder, 'toLocaleString', rename({ m() { return apply(plain, this, []); } }.m, 'toLocaleString', 0));
  }
})
