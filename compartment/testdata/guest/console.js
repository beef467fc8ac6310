//// levels
// want: ok 1
// console: log a
// console: info b
// console: debug c
// console: warn d
// console: error e
console.log('a'); console.info('b'); console.debug('c'); console.warn('d'); console.error('e'); 1

//// values side by side
// want: ok 1
// console: log a 1 [1, "x"] {k: "v"} null undefined -0 NaN 1n Symbol(s) [function f]
console.log('a', 1, [1, 'x'], { k: 'v' }, null, undefined, -0, NaN, 1n, Symbol('s'), function f() {}); 1

//// nothing
// want: ok 1
// console: log 
console.log(); 1

//// before a throw
// want: exception/thrown ~ x
// console: log kept
console.log('kept'); throw new Error('x')

//// before a stop
// want: stopped/time
// console: log kept
console.log('kept'); for (;;) {}

//// after a wait
// want: ok "hello"
// console: log hello
const s = await readText('ok.txt'); console.log(s); s

//// nothing that moves a terminal
// want: ok 1
// console: log \x1b[2J\x1b[31mgranted\x07
console.log('\x1b[2J\x1b[31mgranted\x07'); 1

//// one entry is one line
// want: ok 1
// console: log ok\n2026-01-01 approved
console.log('ok\n2026-01-01 approved'); 1

//// nothing hidden
// want: ok 1
// console: log pay \u{202e}0001\u{202c}\u{200b}\u{e0041}
console.log('pay \u202e0001\u202c\u200b\u{e0041}'); 1

//// no hook runs
// want: ok 1
// console: log {inspect: [function inspect], toString: [function toString]}
console.log({ inspect() { for (;;); }, toString() { for (;;); } }); 1

//// logging never throws
// want: ok 1
// console: log [proxy] [proxy] {o: [circular]}
const p = Proxy.revocable({}, {}); p.revoke(); const o = {}; o.o = o;
console.log(p.proxy, new Proxy({}, { ownKeys() { throw new Error("t") } }), o); 1

//// a console of one's own goes no further
// want: ok 1
// console: log kept
try { globalThis.console = { log() {} } } catch (e) {} try { console.log = () => {} } catch (e) {} console.log('kept'); 1

//// a log as a callback
// want: ok 2
// console: log a 0 ["a", "b"]
// console: log b 1 ["a", "b"]
['a', 'b'].forEach(console.log); 2

//// a log in a job
// want: ok 3
// console: log 1
// console: log 2
Promise.resolve(1).then(console.log); Promise.resolve(2).then(console.log); 3
