//// generators, lazily
// want: [1,9,25,49,81]
function* naturals() { for (let n = 1; ; n++) yield n; }
function* map(it, f) { for (const x of it) yield f(x); }
function* filter(it, f) { for (const x of it) if (f(x)) yield x; }
function* take(it, n) { if (n > 0) for (const x of it) { yield x; if (--n <= 0) return; } }
[...take(filter(map(naturals(), (x) => x * x), (x) => x % 2), 5)]

//// a generator that is spoken to
// want: [0,1,2,["a","b","threw x","done"],{"value":9,"done":true},true]
function* talk() {
  const log = [];
  try { for (;;) log.push(yield log.length); } catch (e) { log.push('threw ' + e); yield log; } finally { log.push('done'); }
}
const g = talk();
[g.next().value, g.next('a').value, g.next('b').value, g.throw('x').value, g.return(9), g.next().done]

//// walking a tree with yield*
// want: [[1,0],[2,1],[3,2],[4,1]]
const tree = { v: 1, kids: [{ v: 2, kids: [{ v: 3 }] }, { v: 4 }] };
function* walk({ v, kids = [] }, depth = 0) { yield [v, depth]; for (const k of kids) yield* walk(k, depth + 1); }
[...walk(tree)]

//// an object that can be iterated
// want: [[0,3,6,9],0,[3,6,9],9,[1,-2,-5,-8],4,4]
class Range {
  constructor(a, b, step = 1) { Object.assign(this, { a, b, step }); }
  *[Symbol.iterator]() { for (let i = this.a; i < this.b; i += this.step) yield i; }
  get size() { return Math.ceil((this.b - this.a) / this.step); }
}
const r = new Range(0, 10, 3);
const [first, ...rest] = r;
[[...r], first, rest, Math.max(...r), Array.from(r, (x) => 1 - x), new Set(r).size, r.size]

//// an iterator by hand, closed early
// want: [[0,1,2],0,1,2]
let closed = 0;
const it = { [Symbol.iterator]: () => ({ n: 0, next() { return { value: this.n++, done: false }; }, return() { closed++; return {}; } }) };
const seen = [];
for (const x of it) { if (x > 2) break; seen.push(x); }
const [a, b] = it;
[seen, a, b, closed]

//// labels, switch and odd loops
// want: [[0,1,10,11],"abbccxy",[0,1,2]]
const out = [];
outer: for (let i = 0; i < 4; i++) {
  for (let j = 0; j < 4; j++) {
    if (j === 2) continue outer;
    if (i === 2) break outer;
    out.push(i * 10 + j);
  }
}
let n = 3, s = '';
do { switch (n) { case 3: s += 'a'; case 2: s += 'b'; break; default: s += 'c'; } } while (n--);
for (const k in { x: 1, y: 2 }) s += k;
[out, s, (() => { var f = []; for (let i = 0; i < 3; i++) f.push(() => i); return f.map((g) => g()); })()]

//// combinations and permutations
// want: [["abc","acb","bac","bca","cab","cba"],6]
const perms = (xs) => xs.length < 2 ? [xs] : xs.flatMap((x, i) => perms([...xs.slice(0, i), ...xs.slice(i + 1)]).map((p) => [x, ...p]));
const combos = (xs, k) => k === 0 ? [[]] : xs.flatMap((x, i) => combos(xs.slice(i + 1), k - 1).map((c) => [x, ...c]));
[perms(['a', 'b', 'c']).map((p) => p.join('')), combos([1, 2, 3, 4], 2).length]

//// array methods, old and new
// want: [4,4,[5,5,1,1,4,4],[1,2,[3]],true,"4,1,4",[7],"414",["aa","bb"],3,[1,0,0],2,[0,"a"],false,true]
const xs = [5, 1, 4];
[xs.at(-1), xs.findLast((x) => x > 1), xs.flatMap((x) => [x, x]), [[1, [2, [3]]]].flat(2), xs.includes(4), xs.copyWithin(0, 2).join(), Array.of(7), xs.reduceRight((a, x) => a + x, ''),
  Array.from('ab', (c) => c + c), [3, , 1].length, [1, 2, 3].fill(0, 1), xs.lastIndexOf(4), [..."ab"].entries().next().value, xs.some((x) => x > 4), xs.every(Number.isInteger)]

//// methods that leave the array alone
// lacks: goja
// want: [[1,2,3],[2,1,3],[9,1,2],[3,2],[3,1,2],{"odd":[3,1],"even":[2]},2]
const xs = [3, 1, 2];
[xs.toSorted(), xs.toReversed(), xs.with(0, 9), xs.toSpliced(1, 1), xs, Object.groupBy(xs, (x) => x % 2 ? 'odd' : 'even'), [...Map.groupBy(xs, (x) => x > 1)].length]

//// iterator helpers
// lacks: goja
// want: [[6,12,18],3,true]
function* n() { let i = 0; while (true) yield i++; }
[n().filter((x) => x % 3 === 0).map((x) => x * 2).drop(1).take(3).toArray(), new Set([1, 2]).union(new Set([3])).size, [1, 2].values().some((x) => x > 1)]
