//// fan out over a power
// want: {"names":["item3","item1","item2"],"total":9}
(async () => {
  const items = await Promise.all([3, 1, 2].map((id) => lookup(id)));
  return { names: items.map((i) => i.name), total: items.reduce((t, i) => t + i.price, 0) };
})()

//// no more than two at once
// want: [[1.5,3,4.5,6,7.5],2]
(async () => {
  let running = 0, most = 0;
  const pool = async (xs, n, f) => {
    const out = [], left = xs.entries();
    await Promise.all(Array.from({ length: n }, async () => { for (const [i, x] of left) out[i] = await f(x); }));
    return out;
  };
  const got = await pool([1, 2, 3, 4, 5], 2, async (id) => { most = Math.max(most, ++running); const v = await lookup(id); running--; return v.price; });
  return [got, most];
})()

//// failures that are settled
// want: [[1,2,"no 3"],1,2,["AggregateError",["no 8","no 9"]]]
(async () => {
  const safe = async (id) => { if (id > 2) throw new RangeError('no ' + id); return (await lookup(id)).id; };
  const all = await Promise.allSettled([1, 2, 3].map(safe));
  const any = await Promise.any([safe(9), safe(1)]);
  const race = await Promise.race([safe(2), new Promise(() => {})]);
  const none = await Promise.any([safe(8), safe(9)]).catch((e) => [e.name, e.errors.map((x) => x.message)]);
  return [all.map((r) => r.status === 'fulfilled' ? r.value : r.reason.message), any, race, none];
})()

//// try again
// want: ["item5",3,"never"]
(async () => {
  let tries = 0;
  const flaky = async () => { if (++tries < 3) throw new Error('busy ' + tries); return (await lookup(5)).name; };
  const retry = async (f, n) => { for (let i = 1; ; i++) try { return await f() } catch (e) { if (i >= n) throw e } };
  return [await retry(flaky, 5), tries, await retry(async () => { throw new Error('never') }, 2).catch((e) => e.message)];
})()

//// the order of jobs
// want: "in order"
(async () => {
  const log = [];
  const job = (n) => log.push(n);
  Promise.resolve().then(() => job(2)).then(() => job(4));
  (async () => { job(0); await null; job(3); })();
  job(1);
  await new Promise((r) => Promise.resolve().then(() => {}).then(r));
  await null;
  return log.slice().sort().length === log.length && log[0] === 0 && log[1] === 1 ? 'in order' : log;
})()

//// finally, and errors through it
// want: [["ok","caught",1],["try","finally","try","catch x","finally","p"]]
(async () => {
  const log = [];
  const f = async (fail) => { try { log.push('try'); if (fail) throw new Error('x'); return 'ok' } catch (e) { log.push('catch ' + e.message); return 'caught' } finally { log.push('finally') } };
  const r = [await f(false), await f(true), await Promise.reject(1).finally(() => log.push('p')).catch((e) => e)];
  return [r, log];
})()

//// a cache of promises
// want: [true,2,[1,2,1]]
(async () => {
  const cache = new Map();
  let calls = 0;
  const cached = (id) => { if (!cache.has(id)) cache.set(id, (calls++, lookup(id))); return cache.get(id); };
  const r = await Promise.all([cached(1), cached(2), cached(1)]);
  return [r[0] === r[2], calls, r.map((x) => x.id)];
})()

//// a queue, one after the other
// want: [[3,1,2],[3,1,2]]
(async () => {
  let tail = Promise.resolve();
  const log = [];
  const queue = (f) => (tail = tail.then(f, f));
  const done = [3, 1, 2].map((id) => queue(async () => { const v = await lookup(id); log.push(v.id); return v.id; }));
  return [await Promise.all(done), log];
})()

//// an async generator over pages
// lacks: goja
// want: ["item1","item2","item3",1,2]
(async () => {
  async function* pages() { for (let id = 1; id <= 3; id++) yield await lookup(id); }
  const out = [];
  for await (const p of pages()) out.push(p.name);
  for await (const x of [Promise.resolve(1), 2]) out.push(x);
  return out;
})()

//// promises made outside
// lacks: goja
// want: [6,[1,2]]
(async () => {
  const { promise, resolve } = Promise.withResolvers();
  lookup(4).then((v) => resolve(v.price));
  return [await promise, await Array.fromAsync([lookup(1), 2], async (x) => (await x).id ?? x)];
})()

//// a thenable of one's own
// want: [42,41,41]
(async () => {
  const t = { then(resolve) { resolve(41) } };
  return [await t + 1, await Promise.resolve(t), await (async () => t)()];
})()
