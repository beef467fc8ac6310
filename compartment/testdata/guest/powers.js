//// a power gives a promise
// want: ok "hello"
readText('ok.txt')

//// which can be awaited
// want: ok 5
(await readText('ok.txt')).length

//// and chained
// want: ok "HELLO"
readText('ok.txt').then((s) => s.toUpperCase())

//// and waited for with others
// want: ok [5,5]
const all = await Promise.all([readText('ok.txt'), readText('ok.txt')]); all.map((s) => s.length)

//// in a loop
// want: ok 3
let n = 0; for (const p of ['ok.txt', 'nope', 'ok.txt', 'ok.txt']) { try { await readText(p); n++ } catch (e) {} } n

//// a refusal can be caught and has a code
// want: ok ["not_found","no such text","Error",true]
try { await readText('nope') } catch (e) { [e.code, e.message, e.name, e instanceof Error] }

//// a refusal that is not caught
// want: refused/by_power ~ no such text
await readText('nope')

//// nor awaited
// want: refused/by_power ~ no such text
readText('nope')

//// a refusal that is thrown again is the same one
// want: refused/by_power ~ no such text
try { await readText('nope') } catch (e) { throw e }

//// an error that says the same is not
// want: exception/rejected ~ no such text
try { await readText('nope') } catch (e) { const f = new Error(e.message); f.code = e.code; f.name = e.name; throw f }

//// a refusal whose text was changed is still that refusal
// want: refused/by_power
try { await readText('nope') } catch (e) { e.message = 'all is well'; e.code = 'ok'; throw e }

//// a power that fails tells nothing of the host
// want: host_failure/error ~ fail could not do it
fail()

//// a power that panics too
// want: host_failure/panic ~ panics could not do it
panics()

//// the guest can go on after either
// want: ok ["fail could not do it","panics could not do it",1]
const out = []; for (const f of [fail, panics]) await f().catch((e) => out.push(e.message)); [...out, await echo(1)]

//// no Go in any of it
// want: ok false
try { await panics() } catch (e) { /goroutine|\.go\b|0x[0-9a-f]{6}|\/srv\/|runtime\.|reflect\./.test(String(e.message) + String(e.stack)) }

//// nothing is converted
// want: ok true
[NaN, Infinity, -Infinity, -1, 1.5, 2 ** 53, 2 ** 63, '5', null, undefined, true, [5], {}, 10n, { valueOf() { return 5 } }].every((v) => { try { take(v); return false } catch (e) { return e instanceof TypeError } })

//// what is right is taken
// want: ok [0,100]
[take(0), take(100)]

//// a path whose text changes
// want: refused/arguments ~ path.toString is a function, not data
let n = 0; readText({ toString() { return n++ ? 'ok.txt' : 'nope' } })

//// a path that is a String object
// want: refused/arguments
readText(new String('ok.txt'))

//// a path that is a proxy
// want: refused/arguments
readText(new Proxy(function () {}, { get: () => () => 'ok.txt' }))

//// a path that is half a character
// want: refused/arguments
readText('\ud800')

//// no path
// want: refused/arguments
readText()

//// too many
// want: refused/arguments
readText('ok.txt', 1)

//// an option that changes between check and use is not looked at
// want: refused/arguments
let n = 0; open({ get path() { return n++ ? 'nope' : 'ok.txt' } })

//// an option that is inherited is none
// want: refused/arguments
open(Object.create({ path: 'ok.txt' }))

//// an option that everything inherits is none
// want: refused/arguments || exception
Object.prototype.path = 'ok.txt'; open({})

//// an option that nobody knows
// want: refused/arguments ~ has no field
open({ path: 'ok.txt', approved: true })

//// the options as they should be
// want: ok "hello"
open({ path: 'ok.txt' })

//// functions are not data
// want: refused/arguments ~ not data
echo({ cb: () => 1 })

//// nor powers
// want: refused/arguments ~ not data
echo([readText, store])

//// nor getters
// want: refused/arguments ~ not data
let ran = 0; echo({ get x() { ran++; return 1 } })
// then same: ok 0
ran

//// nor proxies, whose traps do not run
// want: refused/arguments ~ not data
let ran = 0; echo(new Proxy({ a: 1 }, { get() { ran++ }, ownKeys() { ran++; return [] }, getPrototypeOf() { ran++; return null } }))
// then same: ok 0
ran

//// nor symbols
// want: refused/arguments
echo(Symbol('x'))

//// nor what has symbols for keys
// want: refused/arguments
echo({ [Symbol('x')]: 1 })

//// nor cycles
// want: refused/arguments ~ circular
const o = {}; o.o = o; echo(o)

//// nor depth without end
// want: refused/arguments ~ too deeply
let o = {}; for (let i = 0; i < 100000; i++) o = { o }; echo(o)

//// nor holes
// want: refused/arguments ~ hole
echo([1, , 2])

//// nor a list that lies about its length
// want: refused/arguments
echo(new Proxy(['a'], { get(t, k) { return k === 'length' ? 1e9 : t[k] } }))

//// nor a list that is four billion long
// want: refused/arguments
const a = []; a.length = 4294967295; echo(a)

//// nor too much text
// want: refused/arguments
echo('x'.repeat(2e6))

//// nor too many arguments
// want: refused/arguments || exception
echo(...new Array(20000).fill(1))

//// data comes back as it went, and is the guest's own
// want: ok [true,true,true,true,"9007199254740993",3]
const back = echo({ a: [1, null, 'x', -0, 9007199254740993n], b: { __proto__: null }, d: new Date(5), u: undefined, y: new Uint8Array([1, 2, 3]) });
[Array.isArray(back.a), back.a instanceof Array, Object.is(back.a[3], -0), back.d instanceof Date && back.d.getTime() === 5, String(back.a[4]), back.y.length]

//// a field called __proto__ is a field
// want: ok [true,1]
const back = echo(JSON.parse('{"__proto__":{"x":1}}')); [Object.getPrototypeOf(back) === Object.prototype, Object.getOwnPropertyDescriptor(back, '__proto__').value.x]

//// no setter of the guest sees what comes in
// want: ok [[],"a"] || exception
const seen = []; for (const k of ['0', 'name', 'then', 'length']) Object.defineProperty(Object.prototype, k, { set(v) { seen.push(v) }, configurable: true });
const got = [seen, hostList()[0]]; got

//// a change of the copy changes nothing at the host
// want: ok ["a","b"]
const l = hostList(); try { l[0] = 'z'; l.push('x'); l.length = 1 } catch (e) {} hostList()

//// nor of bytes
// want: ok 1
const b = hostBytes(); b[0] = 255; hostBytes()[0]

//// bytes that change after the call
// want: ok 6
const b = new Uint8Array([1, 2, 3]); const p = sum(b); b[0] = 9; p

//// large numbers of the host keep their last digits
// want: ok "9007199254740993"
String(hostId())

//// what comes in has no Go in it
// want: ok []
['Unix', 'String', 'MarshalJSON', 'Lock', 'Password'].filter((k) => hostUser()[k] !== undefined)

//// powers are frozen and stay
// want: ok [true,"hello"]
try { globalThis.readText = () => 'fake' } catch (e) {} try { store.get = () => 'fake' } catch (e) {} try { delete globalThis.readText } catch (e) {}
[[readText, store, store.get, store.put].every(Object.isFrozen), await readText('ok.txt')]

//// objects of powers cannot be turned by their prototype
// want: ok "v"
try { Object.getPrototypeOf(store).put = () => 'patched' } catch (e) {} store.put('k2', 'v'); store.get('k2')

//// powers are no constructors
// want: exception
new readText('ok.txt')

//// nor base classes
// want: exception
class X extends readText {} new X('ok.txt')

//// they have the names they were given, and no prototype
// want: ok ["readText","get",1,"undefined"]
[readText.name, store.get.name, readText.length, typeof readText.prototype]

//// their text says nothing
// want: ok false
/sallyport|goja|func\d|\.go|wasm/.test(String(readText) + String(store.get))

//// names of every object are no names of powers
// want: ok ["undefined","undefined"]
[typeof globalThis['store.get'], typeof store.constructor.get]

//// more calls than may be
// want: stopped/calls
for (let i = 0; ; i++) echo(i)

//// more than may be, without waiting
// want: stopped/calls
Promise.all(Array.from({ length: 1e5 }, () => readText('ok.txt'))).then((r) => r.length)

//// a stop by calls cannot be caught
// want: stopped/calls
for (;;) { try { await readText('ok.txt') } catch (e) {} }

//// many at once, within what may be
// want: ok 40
const all = await Promise.all(Array.from({ length: 40 }, () => readText('ok.txt'))); all.length

//// a power with a limit of its own refuses, and that can be caught
// want: ok [1,1,"calls"]
const out = []; for (let i = 0; i < 3; i++) { try { out.push(twice()) } catch (e) { out.push(e.code) } } out

//// a power that never answers
// want: stopped/time
hang()

//// and one that does not even look whether it is still wanted
// want: stopped/time
await deaf()

//// a promise of a power that nobody waits for is waited for
// want: ok 1
readText('ok.txt'); 1

//// a promise that nothing can settle
// want: refused/never_settles
new Promise(() => {})

//// nor one that waits for another
// want: refused/never_settles
await new Promise(() => {})

//// a lie about then
// want: ok "real" || exception
Promise.prototype.then = function () { return 'lie' }; (async () => 'real')()

//// a power's result with a then is no promise of the guest's
// want: ok 3
try { Object.prototype.then = undefined } catch (e) {} (await echo({ a: 3 })).a
