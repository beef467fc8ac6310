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
