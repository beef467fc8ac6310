//// eval
// want: ok 2
eval('1 + 1')

//// eval, indirectly, declares in the compartment's own global
// want: ok 5
(0, eval)('var here = 5'); here
// then same: ok 5
globalThis.here
// then other: ok "undefined"
typeof here

//// what eval declares is of no other compartment
// want: ok 5
(0, eval)('globalThis.here = 5')
// then other: ok "undefined"
typeof here

//// eval of what is no text
// want: ok [1,{"a":2},true]
[eval(1), eval({ a: 2 }), eval() === undefined]

//// the Function constructor, called and with new
// want: ok [3,4,"anonymous"]
[Function('a', 'b', 'return a + b')(1, 2), new Function('return 4')(), Function().name]

//// its global is the compartment's
// want: ok [true,true,"undefined"]
[Function('return this')() === globalThis, new Function('return globalThis')() === globalThis, Function('return typeof process')()]

//// of async functions and generators
// want: ok [7,[1,2]]
const A = (async () => {}).constructor, G = (function* () {}).constructor; [await new A('return await 7')(), [...G('yield 1; yield 2')()]]

//// one constructor, however it is reached
// want: ok [true,true,true,true]
[({}).constructor.constructor === Function, Function.prototype.constructor === Function, Object.getPrototypeOf((async () => {}).constructor) === Function, Function('return 1') instanceof Function]

//// a class that extends it
// want: ok [1,true]
class F extends Function { constructor() { super('return 1') } } const f = new F(); [f(), f instanceof F]

//// through Reflect
// want: ok 1
Reflect.construct(Function, ['return 1'])()

//// what it makes is code like any other: strict when it says so
// want: ok ["TypeError",1]
[Function('"use strict"; try { Array.prototype.push = 1; return "changed" } catch (e) { return e.name }')(), [].push(3)]

//// nor does it see the realm's own constructors
// want: ok ["not_granted","not_granted"]
['Math.random()', 'Date.now()'].map((s) => { try { return eval(s) } catch (e) { return e.code } })

//// what is no program is a SyntaxError that can be caught
// want: ok ["SyntaxError","SyntaxError","SyntaxError"]
['eval', 'Function', 'async'].map((n) => { try { n === 'eval' ? eval('const x = ;') : n === 'Function' ? Function('{') : (async () => {}).constructor(')') } catch (e) { return e.name } })

//// a loop in it is stopped
// want: stopped/time
eval('for (;;);')

//// and one in what a constructor made
// want: stopped/time
Function('for (;;);')()

//// brackets that would fill the parser's stack
// want: exception || refused/source_depth
eval('['.repeat(2e5))

//// the same for a constructor
// want: exception || refused/source_depth
Function('['.repeat(2e5))

//// the same in parameters
// want: exception || refused/source_depth
Function('a = ' + '('.repeat(1e5), 'return 1')

//// the same, caught
// want: ok "SyntaxError"
try { (0, eval)('({a:'.repeat(3e4)) } catch (e) { e.name }

//// eval in eval in eval
// want: ok || exception
let s = '1'; for (let i = 0; i < 12; i++) s = 'eval(' + JSON.stringify(s) + ')'; eval(s)

//// eval that calls itself for ever
// want: exception || stopped
function again() { return eval('again()') } again()

//// a source map in it is a comment
// want: ok 2
eval('1 + 1\n//# sourceMappingURL=file:///etc/passwd')
