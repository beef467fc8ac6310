//// group, sum and sort
// want: {"totals":{"n":17.5,"s":6},"items":["a","b"],"top":{"region":"n","item":"a","amount":10},"average":5.875}
const sales = [{ region: 'n', item: 'a', amount: 10 }, { region: 's', item: 'b', amount: 5 }, { region: 'n', item: 'b', amount: 7.5 }, { region: 's', item: 'a', amount: 1 }];
const totals = sales.reduce((acc, { region, amount }) => ({ ...acc, [region]: (acc[region] ?? 0) + amount }), {});
const items = new Set(sales.map((s) => s.item));
({ totals, items: [...items], top: [...sales].sort((a, b) => b.amount - a.amount)[0], average: sales.reduce((t, s) => t + s.amount, 0) / sales.length })

//// group with a pivot
// want: {"ann":{"mon":3,"tue":5},"bob":{"mon":4,"tue":0}}
const rows = [['ann', 'mon', 3], ['bob', 'mon', 4], ['ann', 'tue', 5]];
const days = [...new Set(rows.map((r) => r[1]))];
const pivot = {};
for (const [who, day, n] of rows) (pivot[who] ||= Object.fromEntries(days.map((d) => [d, 0])))[day] += n;
pivot

//// two lists joined
// want: {"joined":[{"user":1,"sum":5,"name":"ann"},{"user":1,"sum":6,"name":"ann"},{"user":3,"sum":1,"name":"cy"},{"user":9,"sum":2,"name":null}],"left":[{"name":"ann","orders":2},{"name":"bob","orders":0},{"name":"cy","orders":1}]}
const users = [{ id: 1, name: 'ann' }, { id: 2, name: 'bob' }, { id: 3, name: 'cy' }];
const orders = [{ user: 1, sum: 5 }, { user: 1, sum: 6 }, { user: 3, sum: 1 }, { user: 9, sum: 2 }];
const byId = new Map(users.map((u) => [u.id, u]));
const joined = orders.map((o) => ({ ...o, name: byId.get(o.user)?.name ?? null }));
const left = users.map((u) => ({ name: u.name, orders: orders.filter((o) => o.user === u.id).length }));
({ joined, left })

//// destructuring of every kind
// want: [1,5,{"e":2,"f":3},1,"x",[4,5],2,1,[1,2,0],[3,6,2]]
const { a, b: { c = 5, ...rest }, d: [first, , third = 'x', ...others] } = { a: 1, b: { e: 2, f: 3 }, d: [1, 2, undefined, 4, 5] };
let p = 1, q = 2;
[p, q] = [q, p];
const f = ({ x = 1, y = x * 2 } = {}, ...more) => [x, y, more.length];
[a, c, rest, first, third, others, p, q, f(), f({ x: 3 }, 1, 2)]

//// a default inside a pattern that has a default
// lacks: goja
// want: ["x",[]]
const { d: [third = 'x', ...others] = [] } = {};
[third, others]

//// spread, defaults and optional chains
// want: [2,3,true,"none",3,5,true]
const base = { a: 1, nested: { list: [1, 2] } };
const copy = { ...base, b: 2, nested: { ...base.nested, list: [...base.nested.list, 3] } };
[base.nested.list.length, copy.nested.list.length, base?.missing?.deep === undefined, base.missing?.[0] ?? 'none', copy.nested.list?.at?.(-1), Math.max(...[1, 5, 3]), base.f?.()  === undefined]

//// a sort that is stable, by several keys
// want: [[2,3,4,0,1],["a1","c1","d1","a2","b2"],[1,10,9],3]
const people = [['b', 2], ['a', 2], ['c', 1], ['d', 1], ['a', 1]].map(([n, g], i) => ({ n, g, i }));
const by = (...keys) => (x, y) => keys.reduce((r, k) => r || (x[k] < y[k] ? -1 : x[k] > y[k] ? 1 : 0), 0);
[people.slice().sort(by('g')).map((p) => p.i), people.slice().sort(by('g', 'n')).map((p) => p.n + p.g), [10, 9, 1].sort(), ['b', undefined, 'a'].sort().length]

//// unique, difference, intersection, union
// want: [[1,2,3],[1,2],[3],[1,2,3,4],3]
const a = [1, 2, 3, 3], b = [3, 4];
const sa = new Set(a), sb = new Set(b);
[[...sa], a.filter((x) => !sb.has(x)), [...sa].filter((x) => sb.has(x)), [...new Set([...a, ...b])], sa.size]

//// chunks, windows, zip
// want: [[[1,2],[3,4],[5]],[[1,2,3],[2,3,4]],[[1,"a",true],[2,"b",false]]]
const chunk = (xs, n) => xs.length ? [xs.slice(0, n), ...chunk(xs.slice(n), n)] : [];
const windows = (xs, n) => xs.slice(n - 1).map((_, i) => xs.slice(i, i + n));
const zip = (...xss) => Array.from({ length: Math.min(...xss.map((x) => x.length)) }, (_, i) => xss.map((x) => x[i]));
[chunk([1, 2, 3, 4, 5], 2), windows([1, 2, 3, 4], 3), zip([1, 2, 3], 'ab', [true, false])]

//// a tree out of a flat list
// want: {"id":1,"children":[{"id":2,"children":[]},{"id":3,"children":[{"id":4,"children":[]}]}]}
const flat = [{ id: 1, parent: null }, { id: 2, parent: 1 }, { id: 3, parent: 1 }, { id: 4, parent: 3 }];
const nodes = new Map(flat.map((n) => [n.id, { id: n.id, children: [] }]));
for (const { id, parent } of flat) if (parent !== null) nodes.get(parent).children.push(nodes.get(id));
nodes.get(1)

//// paths in an object, read and written
// want: [1,"none",[["a.b.c",1],["a.d.0",2]]]
const get = (o, path, d) => path.split('.').reduce((x, k) => (x == null ? x : x[k]), o) ?? d;
const set = (o, path, v) => { const ks = path.split('.'), last = ks.pop(); ks.reduce((x, k) => x[k] ??= {}, o)[last] = v; return o; };
const flatten = (o, at = '') => Object.entries(o).flatMap(([k, v]) => v && typeof v === 'object' ? flatten(v, at + k + '.') : [[at + k, v]]);
const o = set(set({}, 'a.b.c', 1), 'a.d', [2]);
[get(o, 'a.b.c'), get(o, 'a.x.y', 'none'), flatten(o)]

//// a deep copy and a deep comparison
// want: [true,true,true,true,5,false]
const clone = (v, seen = new Map()) => {
  if (typeof v !== 'object' || v === null) return v;
  if (seen.has(v)) return seen.get(v);
  const out = Array.isArray(v) ? [] : v instanceof Date ? new Date(v) : v instanceof Map ? new Map(v) : Object.create(Object.getPrototypeOf(v));
  seen.set(v, out);
  for (const k of Reflect.ownKeys(v)) if (!(Array.isArray(v) && k === 'length')) out[k] = clone(v[k], seen);
  return out;
};
const equal = (a, b) => Object.is(a, b) || typeof a === 'object' && typeof b === 'object' && a && b &&
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((k) => equal(a[k], b[k]));
const a = { x: [1, { y: new Date(5) }], n: NaN };
a.self = a.x;
const b = clone(a);
[equal(a, b), a !== b, a.x !== b.x, b.self === b.x, b.x[1].y.getTime(), equal({ a: 1 }, { a: 2 })]

//// JSON with a replacer and a reviver
// want: ["{\n \"when\": \"1970-01-01T00:00:00.000Z\",\n \"big\": \"10n\",\n \"list\": [\n  1,\n  null,\n  null\n ]\n}",{"when":"1970-01-01T00:00:00.000Z","big":10,"list":[1,null,null]},"{\"a\":[2]}","\"\\ud800\""]
const text = JSON.stringify({ when: new Date(0), big: 10n, secret: 'x', list: [1, undefined, () => 1], u: undefined },
  (k, v) => k === 'secret' ? undefined : typeof v === 'bigint' ? `${v}n` : v, 1);
const back = JSON.parse(text, (k, v) => typeof v === 'string' && /^\d+n$/.test(v) ? Number(v.slice(0, -1)) : v);
[text, back, JSON.stringify({ b: 1, a: [2] }, ['a']), JSON.stringify('\ud800')]

//// statistics
// want: [5,2,4.5,"4","0.30","1234.57","ff",31,12,0]
const xs = [2, 4, 4, 4, 5, 5, 7, 9];
const mean = xs.reduce((a, b) => a + b) / xs.length;
const deviation = Math.sqrt(xs.map((x) => (x - mean) ** 2).reduce((a, b) => a + b) / xs.length);
const median = (s => (s[s.length >> 1] + s[(s.length - 1) >> 1]) / 2)([...xs].sort((a, b) => a - b));
const mode = Object.entries(xs.reduce((m, x) => (m[x] = (m[x] || 0) + 1, m), {})).sort((a, b) => b[1] - a[1])[0][0];
[mean, deviation, median, mode, (0.1 + 0.2).toFixed(2), (1234.5678).toPrecision(6), (255).toString(16), Number('0x1f'), parseInt('12px'), Number('')]

//// dates, without a clock
// want: ["2024-03-01T00:00:00.000Z",true,false,"Fr",365,true,"\"1970-01-01T00:00:00.000Z\"",31]
const day = 86400000;
const d = new Date(Date.UTC(2024, 1, 28));
const next = new Date(d.getTime() + 2 * day);
const leap = (y) => new Date(Date.UTC(y, 1, 29)).getUTCMonth() === 1;
const weekday = ['Su', 'Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa'][next.getUTCDay()];
const days = (a, b) => Math.round((Date.parse(b) - Date.parse(a)) / day);
[next.toISOString(), leap(2024), leap(2100), weekday, days('2024-01-01', '2024-12-31'), new Date('2024-02-30T00:00:00Z').getTime() === new Date(Date.UTC(2024, 2, 1)).getTime() || 'refused',
  JSON.stringify(new Date(0)), new Date(2020, 0, 31, 12).getUTCDate()]

//// typed arrays and a view
// want: [[18,52,0,0,0,0,192,63],[255,0,2],18,[1,4464],4,[1.5],"18-52"]
const buffer = new ArrayBuffer(8), view = new DataView(buffer);
view.setUint16(0, 0x1234);
view.setFloat32(4, 1.5, true);
const bytes = new Uint8Array(buffer);
const clamped = Uint8ClampedArray.from([300, -5, 1.6]);
[[...bytes], [...clamped], view.getInt8(0), Array.from(new Int16Array([1, 70000])), bytes.subarray(4).length, [...new Float32Array(buffer, 4)], bytes.slice(0, 2).join('-')]

//// BigInt arithmetic
// want: ["15511210043330985984000000","1024","959082",true,true,"bigint",true,"255"]
const fact = (n) => n < 2n ? 1n : n * fact(n - 1n);
const gcd = (a, b) => b ? gcd(b, a % b) : a;
const power = (b, e, m) => { let r = 1n; for (b %= m; e; e >>= 1n, b = b * b % m) if (e & 1n) r = r * b % m; return r; };
[String(fact(25n)), String(gcd(fact(12n), 2n ** 20n)), String(power(3n, 200n, 1000007n)), 7n / 2n === 3n, BigInt.asUintN(8, 257n) === 1n, typeof 1n, 10n > 9, String(BigInt('0xff'))]

//// Map, Set and their order
// want: [["a","c","b"],["a2","c3","b4"],[3,1],["aa","ccc","bbbb"],1,{"a":2,"c":3,"b":4},3]
const m = new Map([['b', 1], ['a', 2]]);
m.set('c', 3).delete('b');
m.set('b', 4);
const s = new Set([3, 1, 3]);
const seen = [];
m.forEach((v, k) => seen.push(k + v));
[[...m.keys()], seen, [...s], [...m].map(([k, v]) => k.repeat(v)), new Map([[NaN, 1]]).get(NaN), Object.fromEntries(m), m.size]
