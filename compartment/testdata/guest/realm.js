//// no names but the language's
// want: ok []
['process', 'require', 'module', 'exports', 'fetch', 'XMLHttpRequest', 'WebSocket', 'setTimeout', 'setInterval', 'queueMicrotask', 'setImmediate',
 'window', 'self', 'global', 'document', 'navigator', 'performance', 'crypto', 'Deno', 'Bun', 'std', 'os', 'print', 'load', 'WebAssembly',
 'SharedArrayBuffer', 'Atomics', 'GoError', 'importScripts', 'Buffer', 'env', '__dirname'].filter((n) => n in globalThis)

//// this at the top is the global, and the global is the guest's own
// want: ok true
this === globalThis

//// arguments at the top
// want: ok "undefined" || syntax
typeof arguments

//// no wrapper by new.target
// want: syntax/parse
new.target

//// no wrapper by return
// want: syntax/parse
return 1

//// no wrapper by caller
// want: ok true
(function f() { try { return f.caller === null || f.caller === undefined } catch (e) { return true } })()

//// the source closes a bracket that is not its own
// want: syntax/parse
}); globalThis.__broke = 1; (async () => {
// then same: ok "undefined"
typeof __broke

//// the same, with await, which is understood otherwise
// want: syntax/parse
await 1}); globalThis.__broke = 1; (async () => {
// then same: ok "undefined"
typeof __broke

//// and called at once
// want: syntax/parse
await 1})(); globalThis.__broke = 1; (async () => { await 2
// then same: ok "undefined"
typeof __broke

//// and as one expression
// want: syntax/parse
await 1}, globalThis.__broke = 1, async () => { await 2
// then same: ok "undefined"
typeof __broke

//// and by a default
// want: syntax/parse
await 1}) + (async (x = globalThis.__broke = 1) => { await 2
// then same: ok "undefined"
typeof __broke

//// a comment that is not closed
// want: syntax/parse
42 /* never closed

//// the same, with await
// want: syntax/parse
await 42 /* never closed

//// a comment at the end is closed by the end
// want: ok 42
await 42 // fine

//// a template that is not closed
// want: syntax/parse
await `${1

//// a global of one is not seen by another
// want: ok 1
globalThis.leak = 'secret'; 1
// then other: ok "undefined"
typeof leak

//// nor a change of what all have
// want: ok || exception
Array.prototype.map = () => 'changed'; Object.prototype.added = 1; String.prototype.trim = null; 1
// then other: ok [[2],null,"a"]
[[1].map((x) => x + 1), ({}).added === undefined ? null : 'seen', ' a '.trim()]

//// nor a change behind syntax
// want: ok || exception || refused
Object.getPrototypeOf(function* () {}).added = 1; Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true }); 1
// then other: ok [null,[1,2]]
[Object.getPrototypeOf(function* () {}).added === undefined ? null : 'seen', [...[1, 2]]]

//// nor a note on a power
// want: ok 1
try { readText.note = 'psst'; store.get.note = 'psst'; store.note = 'psst' } catch (e) {} 1
// then other: ok [null,null]
[readText.note === undefined ? null : 'seen', store.note === undefined ? null : 'seen']

//// freezing the global spoils this compartment at most
// want: ok 1 || exception
Object.freeze(globalThis); 1
// then other: ok 2
1 + 1

//// undefined and NaN are what they are
// want: ok [true,true]
try { globalThis.undefined = 1; globalThis.NaN = 2 } catch (e) {} [undefined === void 0, NaN !== NaN]

//// declarations stay in their compartment
// want: ok 1
let kept = 1; kept
// then same: ok 2
kept + 1

//// and are not in another
// want: ok 1
let kept = 1; kept
// then other: ok "undefined"
typeof kept

//// a job that throws after the result
// want: ok 5
Promise.resolve().then(() => { throw new Error('late') }); 5

//// a rejection nobody looks at
// want: ok 5
Promise.reject(new Error('lost')); 5

//// a frozen pattern stays what it is
// want: ok "a"
const r = Object.freeze(/a/); try { r.compile('b') } catch (e) {} r.source
