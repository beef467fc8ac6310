//# what is thrown, whatever it is
throw 0
//> exception/thrown 0
//# an error whose stack was written over
const e = new Error("x"); e.stack = "at /etc/passwd (program:99:1)"; Object.defineProperty(e, "stack", { value: "x" }); throw e
//> exception/thrown
//# a proxy
throw new Proxy(new Error("x"), { get() { for (;;); } })
//> exception/thrown [proxy]
//# an error whose name is a symbol
const e = new Error("m"); e.name = Symbol("n"); throw e
//> exception/thrown
//# one whose message is very long
throw new Error("x".repeat(1e6))
//> exception/thrown
//# a text that says it is a stop
throw new RangeError("stopped/memory: out of memory")
//> exception/thrown
//# causes, around in a circle
const e = new Error("a"); e.cause = new Error("b"); e.cause.cause = e; throw e
//> exception/thrown
//# rejections
Promise.reject(new TypeError("no"))
//> exception/rejected
//# a promise that nothing can settle
new Promise(() => {})
//> refused/never_settles
//# awaiting one
await new Promise(() => {})
//> refused/never_settles
//# a rejection that nobody looks at
Promise.reject(1); Promise.resolve().then(() => { throw 2 }); 5
//> ok 5
//# await is a name where nothing is awaited
var await = 1; await + 1
//> ok 2
function f() { var await = 2; return await } Promise.resolve(f())
//> ok 2
var await = 3; throw await
//> exception/thrown 3
//# a script that waited is a promise that is rejected
await 1; throw new Error("late")
//> exception/rejected
//# no program
let y = ;
//> syntax/parse
typeof y
//> ok "undefined"
//# too deep to be read
((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
//> ok 1
//# the clock and chance are withheld, and say so
[() => Date.now(), () => new Date(), () => Date(), () => Math.random(), () => new (class extends Date {})()].map((f) => { try { return f() } catch (e) { return e.code } }).join()
//> ok "not_granted,not_granted,not_granted,not_granted,not_granted"
Math.random()
//> refused/not_granted
//# dates that are given work, in UTC
[new Date(0).getHours(), new Date(2020, 0, 1).toISOString(), new Date("2020-01-01T00:00:00").getTime(), new Date(0).getTimezoneOffset(), String(new Date(0)), new Date(0) instanceof Date, new Date(0).constructor === Date, Date.UTC(1970), Date.length]
//> ok [0, "2020-01-01T00:00:00.000Z", 1577836800000, 0, "Thu Jan 01 1970 00:00:00 GMT+0000", true, true, 0, 7]
//# no locale is there
[(1234.5).toLocaleString(), "I".toLocaleLowerCase("tr"), ["b", "a"].sort((x, y) => x.localeCompare(y)).join(), typeof Intl]
//> ok ["1234.5", "i", "a,b", "undefined"]
