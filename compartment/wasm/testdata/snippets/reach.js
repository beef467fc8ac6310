//# the names of a fresh global object are those of the permits
Object.getOwnPropertyNames(globalThis).filter((n) => !/^(echo|later|path|percent|sum|options|store|no|trouble|panics|big|huge|console)$/.test(n)).length > 60
//> ok true
//# nothing of a host environment is there
[typeof require, typeof process, typeof std, typeof os, typeof bjson, typeof scriptArgs, typeof print, typeof fetch, typeof setTimeout, typeof WebAssembly, typeof Worker, typeof performance, typeof navigator, typeof queueMicrotask, typeof structuredClone].join()
//> ok "undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined"
//# memory collection cannot be watched
[typeof WeakRef, typeof FinalizationRegistry, typeof SharedArrayBuffer, typeof Atomics].join()
//> ok "undefined,undefined,undefined,undefined"
//# the constructor of a function of the host makes no code
echo.constructor("return this")()
//> refused/dynamic_code
//# nor does that of its bound copy
echo.bind(null).constructor("return 1")()
//> refused/dynamic_code
//# nor that of an object of the host
echo({ a: 1 }).constructor.constructor("return 1")()
//> refused/dynamic_code
//# nor that of an error of the host
try { no() } catch (e) { e.constructor.constructor("return 1")() }
//> refused/dynamic_code
//# nor that of a promise of the host
later(1).constructor.constructor("return 1")()
//> refused/dynamic_code
//# all makers of functions refuse
[function () {}, function* () {}, async function () {}, async function* () {}, () => 1, class {}, { m() {} }.m].map((f) => { try { Object.getPrototypeOf(f).constructor("return 1"); return "made" } catch (e) { return e.code } }).join()
//> ok "dynamic_code,dynamic_code,dynamic_code,dynamic_code,dynamic_code,dynamic_code,dynamic_code"
//# a new function by way of construct
Reflect.construct(Object.getPrototypeOf(async () => {}).constructor, ["await 1"])
//> refused/dynamic_code
//# a subclass of Function
class F extends Function {}
new F("return 1")()
//> refused/dynamic_code
//# instanceof and typeof go on working
[(() => 1) instanceof Function, Function.prototype === Object.getPrototypeOf(Math.max), typeof eval, typeof Function].join()
//> ok "true,true,function,function"
//# eval in all its spellings
[() => eval("1"), () => (0, eval)("1"), () => globalThis["ev" + "al"]("1"), () => eval?.("1"), () => Reflect.apply(eval, null, ["1"])].map((f) => { try { return f() } catch (e) { return e.code } }).join()
//> ok "dynamic_code,dynamic_code,dynamic_code,dynamic_code,dynamic_code"
//# import is refused, with one text for all names
Promise.all(["fs", "std", "qjs:os", "./a.js", "/etc/passwd", "data:text/javascript,1", ""].map((n) => import(n).then(() => "loaded", (e) => e.code + e.message))).then((r) => new Set(r).size + r[0])
//> ok "1modulesthere are no modules here"
//# a static import is no program
import x from "fs"
//> syntax/parse
//# a source cannot close a bracket of ours
}); globalThis.out = 1; (() => {
//> syntax/parse
typeof out
//> ok "undefined"
//# no caller, no arguments of a caller
(function f() { return [f.caller, f.arguments, typeof (function () { return arguments.callee.caller })()] })()
//> ok [undefined, undefined, "undefined"]
//# this outside of objects is the compartment's own global
[(function () { return this === globalThis })(), (() => this === globalThis)(), (function () { "use strict"; return this })()]
//> ok [true, true, undefined]
//# a stack names no file of the host and only the guest's lines
(function a() { return new Error("x").stack.split("\n").filter((l) => l && !/program:\d+:\d+\)$/.test(l)).length })()
//> ok 0
//# with does not lead out
with (new Proxy({}, { has: () => true, get: (t, k) => k === Symbol.unscopables ? undefined : typeof k })) { secret }
//> ok "string"
