//// await at the top
// want: ok 1
await 1

//// the last expression is the result there too
// want: ok 3
const a = await 1; const b = await 2; a + b

//// an object
// want: ok {"a":1}
({ a: await 1 })

//// in a try, too
// want: ok "caught"
try { await Promise.reject(new Error('x')); 'not' } catch (e) { 'caught' }

//// and in an if
// want: ok 2
if (await 0) 1; else { 2 }

//// no expression at the end
// want: ok ~ undefined
const a = await 1;

//// await in a block
// want: ok [1]
const out = []; if (true) { out.push(await 1) } out

//// await in a loop
// want: ok 6
let n = 0; for (const p of [1, 2, 3]) n += await p; n

//// a function that is called await
// want: ok 2
function await_(x) { return x + 1 } await_(1)

//// await is a name where nothing is awaited
// want: ok 1
var await = 1; await

//// await inside a function that is not asynchronous
// want: syntax
function f() { await 1 } f()

//// await inside an asynchronous one is its own matter
// want: ok 1
(async () => await 1)()

//// return at the top is none there either
// want: syntax/parse ~ return
await 1; return 2

//// a return in a function inside is one
// want: ok 2
await 1; (() => { return 2 })()

//// this and arguments are as without
// want: ok [true,"undefined"]
[await 1, this === globalThis][1] && [this === globalThis, typeof arguments]

//// a throw is placed in the author's own lines
// want: exception/rejected ~ here
await 1;
throw new Error('here')

//// a syntax error too
// want: syntax/parse
const a = await 1;
const b = ;

//// strict mode can be asked for
// want: exception/rejected
'use strict'; await 1; undeclared = 1

//// a var stays
// want: ok 2
var kept = await 1; kept + 1
// then same: ok 1
kept

//// a function stays, and is there before its line
// want: ok [2,"add","function"]
const r = add(await 1); function add(n) { return n + 1 } [r, add.name, typeof add]
// then same: ok 6
add(5)

//// a function sees what is not kept
// want: ok 7
const a = await 3; let b = 4; function both() { return a + b } both()
// then same: ok ["undefined",7] || ok ["number",7]
[typeof b, both()]

//// var in a block, a loop and a try
// want: ok [1,2,"b",9,3]
if (await 1) { var one = 1 } for (var i = 0; i < 2; i++) {} for (var k in { a: 1, b: 2 }) {} for (var o of [8, 9]) {} try { var t = 3 } catch (e) {} [one, i, k, o, t]
// then same: ok [1,2,"b",9,3]
[one, i, k, o, t]

//// var by a pattern, with defaults, in their order
// want: ok [1,5,[3,4],{"z":6},"kq"]
let seen = ''; var { a, b: { c = (seen += 'k', 5) }, ...rest } = await { a: 1, b: {}, z: 6 }, [, ...more] = [(seen += 'q', 2), 3, 4]; [a, c, more, rest, seen]
// then same: ok [1,5,[3,4],6]
[a, c, more, rest.z]

//// a var is there before its line, and undefined
// want: ok ["undefined",true,1]
const before = [typeof later, 'later' in globalThis]; var later = await 1; [...before, later]

//// a var that is declared again keeps its value
// want: ok 5
var n = await 5; n
// then same: ok 5
var n; await 0; n

//// an async function and a generator
// want: ok [1,[2]]
async function one() { return 1 } function* two() { yield 2 } [await one(), [...two()]]
// then same: ok [1,[2]]
[await one(), [...two()]]

//// a function can be replaced from inside
// want: ok 2
function f() { f = () => 2; return 1 } await f(); f()
// then same: ok 2
f()

//// in strict code too
// want: ok [1,true]
'use strict'; var s = await 1; function strict() { return this === undefined } [s, strict()]
// then same: ok [1,true]
[s, strict()]

//// a name that is declared twice
// want: syntax/parse
let twice = await 1; var twice = 2

//// a function with the name of a power
// want: syntax/parse || exception
await 1; function sum() {}

//// the same without await
// want: syntax/parse || exception
function sum() {}

//// a var over a variable of a block
// want: syntax/parse
await 1; { let inner = 1; { var inner = 2 } }

//// what a function of another function declares is its own
// want: ok "undefined"
await (async () => { var inner = 1; function within() {} return inner })(); typeof inner + typeof within === 'undefinedundefined' ? 'undefined' : 'seen'
