//// fibonacci, memoised
// want: [12586269025,55]
const memo = (f, cache = {}) => (n) => cache[n] ??= f(n);
const fib = memo((n) => n < 2 ? n : fib(n - 1) + fib(n - 2));
[fib(50), fib(10)]

//// primes by a sieve
// want: [[2,3,5,7,11,13,17,19,23,29],1229]
const sieve = (n) => { const c = new Uint8Array(n + 1), out = []; for (let i = 2; i <= n; i++) { if (c[i]) continue; out.push(i); for (let j = i * i; j <= n; j += i) c[j] = 1; } return out; };
[sieve(30), sieve(10000).length]

//// a knapsack
// want: 9
const best = (items, room) => {
  const t = Array.from({ length: items.length + 1 }, () => new Array(room + 1).fill(0));
  items.forEach(([w, v], i) => { for (let r = 0; r <= room; r++) t[i + 1][r] = Math.max(t[i][r], r >= w ? t[i][r - w] + v : 0); });
  return t[items.length][room];
};
best([[1, 1], [3, 4], [4, 5], [5, 7]], 7)

//// the distance of two words
// want: [3,3,0]
const distance = (a, b) => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    let last = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) [row[j], last] = [Math.min(row[j] + 1, row[j - 1] + 1, last + (a[i - 1] !== b[j - 1])), row[j]];
  }
  return row[b.length];
};
[distance('kitten', 'sitting'), distance('', 'abc'), distance('same', 'same')]

//// the shortest way
// want: [20,["a","c","f","e"]]
const graph = { a: { b: 7, c: 9, f: 14 }, b: { c: 10, d: 15 }, c: { d: 11, f: 2 }, d: { e: 6 }, f: { e: 9 }, e: {} };
const dist = Object.fromEntries(Object.keys(graph).map((k) => [k, Infinity])), from = {}, open = new Set(Object.keys(graph));
dist.a = 0;
while (open.size) {
  const at = [...open].reduce((x, y) => dist[x] <= dist[y] ? x : y);
  open.delete(at);
  for (const [to, w] of Object.entries(graph[at])) if (dist[at] + w < dist[to]) { dist[to] = dist[at] + w; from[to] = at; }
}
const path = ['e'];
while (from[path[0]]) path.unshift(from[path[0]]);
[dist.e, path]

//// an order of things that need each other
// want: [["socks","pants","trousers","shoes","coat","socks"],"a cycle at coat"]
const needs = { shoes: ['socks', 'trousers'], trousers: ['pants'], socks: [], pants: [], coat: ['shoes'] };
const order = [], state = new Map();
const visit = (n) => {
  if (state.get(n) === 'done') return;
  if (state.get(n) === 'open') throw new Error('a cycle at ' + n);
  state.set(n, 'open');
  needs[n].forEach(visit);
  state.set(n, 'done');
  order.push(n);
};
Object.keys(needs).forEach(visit);
let cycle;
try { needs.pants.push('coat'); state.clear(); visit('coat') } catch (e) { cycle = e.message }
[order, cycle]

//// matrices
// want: [[[7,10],[15,22]],[[1,4],[2,5],[3,6]],0]
const mul = (a, b) => a.map((r) => b[0].map((_, j) => r.reduce((s, x, k) => s + x * b[k][j], 0)));
const transpose = (m) => m[0].map((_, i) => m.map((r) => r[i]));
const det = (m) => m.length === 1 ? m[0][0] : m[0].reduce((s, x, j) => s + (j % 2 ? -x : x) * det(m.slice(1).map((r) => r.filter((_, k) => k !== j))), 0);
const a = [[1, 2], [3, 4]];
[mul(a, a), transpose([[1, 2, 3], [4, 5, 6]]), det([[2, 0, 1], [1, 3, 2], [1, 1, 1]])]

//// eight queens
// want: [4,92]
const solve = (n) => {
  let count = 0;
  const go = (row, cols, d1, d2) => { if (row === n) { count++; return; } for (let c = 0; c < n; c++) { const a = 1 << c, b = 1 << (row + c), d = 1 << (row - c + n); if (!(cols & a || d1 & b || d2 & d)) go(row + 1, cols | a, d1 | b, d2 | d); } };
  go(0, 0, 0, 0);
  return count;
};
[solve(6), solve(8)]

//// a heap, and the sort that it makes
// want: [1,2,3,5,8,9]
class Heap {
  #xs = [];
  push(x) { const a = this.#xs; a.push(x); let i = a.length - 1; while (i && a[(i - 1) >> 1] > a[i]) { const p = (i - 1) >> 1; [a[p], a[i]] = [a[i], a[p]]; i = p; } }
  pop() { const a = this.#xs, top = a[0], last = a.pop(); if (a.length) { a[0] = last; let i = 0; for (;;) { let c = 2 * i + 1; if (c + 1 < a.length && a[c + 1] < a[c]) c++; if (c >= a.length || a[i] <= a[c]) break; [a[i], a[c]] = [a[c], a[i]]; i = c; } } return top; }
  get size() { return this.#xs.length; }
}
const h = new Heap(), out = [];
[5, 3, 8, 1, 9, 2].forEach((x) => h.push(x));
while (h.size) out.push(h.pop());
out

//// binary search, and its edges
// want: [[0,false],[0,true],[2,false],[3,true],[4,false]]
const find = (xs, x) => { let lo = 0, hi = xs.length; while (lo < hi) { const m = (lo + hi) >>> 1; if (xs[m] < x) lo = m + 1; else hi = m; } return lo; };
const xs = [1, 3, 5, 7];
[0, 1, 4, 7, 8].map((x) => [find(xs, x), xs[find(xs, x)] === x])

//// a spreadsheet's numbers of columns, and roman ones
// want: ["A","AB","AAA","MCMXCIV","XLIX"]
const column = (n) => n ? column(Math.floor((n - 1) / 26)) + String.fromCharCode(65 + (n - 1) % 26) : '';
const roman = (n) => [['M', 1000], ['CM', 900], ['D', 500], ['CD', 400], ['C', 100], ['XC', 90], ['L', 50], ['XL', 40], ['X', 10], ['IX', 9], ['V', 5], ['IV', 4], ['I', 1]].reduce((s, [r, v]) => { while (n >= v) { s += r; n -= v; } return s; }, '');
[column(1), column(28), column(703), roman(1994), roman(49)]

//// a parser by combinators
// want: [7,7,12]
const token = (re) => (s) => { const m = re.exec(s); return m && m.index === 0 ? [m[0], s.slice(m[0].length).trimStart()] : null; };
const alt = (...ps) => (s) => { for (const p of ps) { const r = p(s); if (r) return r; } return null; };
const seq = (...ps) => (s) => { const out = []; for (const p of ps) { const r = p(s); if (!r) return null; out.push(r[0]); s = r[1]; } return [out, s]; };
const many = (p) => (s) => { const out = []; for (let r; (r = p(s)); s = r[1]) out.push(r[0]); return [out, s]; };
const apply = (p, f) => (s) => { const r = p(s); return r && [f(r[0]), r[1]]; };
const number = apply(token(/\d+(\.\d+)?/), Number);
const parens = apply(seq(token(/\(/), (s) => sum(s), token(/\)/)), (r) => r[1]);
const atom = alt(number, parens);
const chain = (p, re) => apply(seq(p, many(seq(token(re), p))), ([first, rest]) => rest.reduce((a, [op, b]) => op === '+' ? a + b : op === '-' ? a - b : op === '*' ? a * b : a / b, first));
const product = chain(atom, /[*/]/), sum = chain(product, /[+-]/);
['1 + 2 * 3', '(1+2)*3 - 4/2', '2*(3+(4-1))'].map((s) => sum(s)[0])

//// a tokeniser and a tree of syntax
// want: "id:let id:x1 op:= op:( id:y op:+ num:42 op:) op:* str:\"a b\" op:;"
const tokens = [...'let x1 = (y + 42) * "a b";'.matchAll(/\s*(?:(?<num>\d+)|(?<id>[a-z]\w*)|(?<str>"[^"]*")|(?<op>[-+*=();]))/gy)]
  .map(({ groups }) => Object.entries(groups).find(([, v]) => v !== undefined));
tokens.map(([k, v]) => k + ':' + v).join(' ')

//// the game of life
// want: ["1,3","2,1","2,3","3,2","3,3"]
const step = (cells) => {
  const near = new Map();
  for (const c of cells) { const [x, y] = c.split(',').map(Number); for (let i = -1; i < 2; i++) for (let j = -1; j < 2; j++) if (i || j) { const k = `${x + i},${y + j}`; near.set(k, (near.get(k) || 0) + 1); } }
  return new Set([...near].filter(([k, n]) => n === 3 || n === 2 && cells.has(k)).map(([k]) => k));
};
let glider = new Set(['1,0', '2,1', '0,2', '1,2', '2,2']);
for (let i = 0; i < 4; i++) glider = step(glider);
[...glider].sort()

//// a checksum and a hash
// want: [true,false,"4f9f2cab","cbf43926"]
const luhn = (s) => [...s].reverse().reduce((t, d, i) => { d = +d; if (i % 2) { d *= 2; if (d > 9) d -= 9; } return t + d; }, 0) % 10 === 0;
const fnv = (s) => { let h = 0x811c9dc5; for (const c of s) h = Math.imul(h ^ c.codePointAt(0), 0x01000193) >>> 0; return h.toString(16); };
const crc = (s) => { let c = ~0; for (const ch of s) { c ^= ch.charCodeAt(0); for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1; } return (~c >>> 0).toString(16); };
[luhn('4539578763621486'), luhn('1234'), fnv('hello'), crc('123456789')]
