//// eval
// want: refused/dynamic_code
eval('1 + 1')

//// eval, indirectly
// want: refused/dynamic_code
(0, eval)('1 + 1')

//// eval, by a made-up name
// want: refused/dynamic_code
globalThis['ev' + 'al']('1 + 1')

//// the Function constructor
// want: refused/dynamic_code
Function('return 1')()

//// with new
// want: refused/dynamic_code
new Function('return 1')

//// through any function
// want: refused/dynamic_code
(() => {}).constructor('return 1')

//// through the constructor of constructors
// want: refused/dynamic_code
({}).constructor.constructor('return 1')()

//// of async functions
// want: refused/dynamic_code
(async () => {}).constructor('return 1')

//// of generators
// want: refused/dynamic_code
(function* () {}).constructor('yield 1')

//// through Reflect
// want: refused/dynamic_code || exception
Reflect.construct(Function, ['return 1'])()

//// through a class that extends it
// want: refused/dynamic_code || exception
class F extends Function { constructor() { super('return 1') } } new F()

//// through a power
// want: refused/dynamic_code
readText.constructor('return 1')()

//// through what a power returns
// want: refused/dynamic_code
hostList().constructor.constructor('return 1')()

//// through an error the engine makes
// want: refused/dynamic_code
try { null.x } catch (e) { e.constructor.constructor('return 1')() }

//// through an error the boundary makes
// want: refused/dynamic_code
try { take('x') } catch (e) { e.constructor.constructor('return 1')() }

//// a refusal can be caught, has a code, and cannot be forged
// want: ok ["dynamic_code",true]
try { eval('1') } catch (e) { [e.code, e instanceof Error] }

//// instanceof goes on working
// want: ok [true,true,true]
[(() => {}) instanceof Function, (async () => {}) instanceof Function, (class {}) instanceof Function]

//// the tag of a function too
// want: ok "[object Function]"
Object.prototype.toString.call(Function)

//// import
// want: syntax || refused || exception
import('fs').then(() => 'loaded')

//// import with a path says the same, whether it is there or not
// want: syntax || refused || exception
import('/etc/passwd').then(() => 'loaded')

//// import as a statement
// want: syntax
import fs from 'fs'

//// a source map in a comment is a comment
// want: ok 2
1 + 1
//# sourceMappingURL=file:///etc/passwd

//// also one that rewrites positions
// want: exception ~ x
throw new Error('x')
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIi9ob3N0L3RydXN0ZWQuZ28iXSwibmFtZXMiOltdLCJtYXBwaW5ncyI6IkFBQUEifQ==

//// the clock
// want: refused/not_granted
Date.now()

//// the clock through new
// want: refused/not_granted
new Date()

//// the clock through a call
// want: refused/not_granted
Date()

//// the clock through Reflect
// want: refused/not_granted
Reflect.construct(Date, [])

//// the clock through the constructor of a date
// want: refused/not_granted
new (new Date(0).constructor)()

//// the clock through a class
// want: refused/not_granted
class D extends Date {} new D()

//// the clock by a date that is undefined is not asked
// want: ok ~ Invalid Date
new Date(undefined)

//// chance
// want: refused/not_granted
Math.random()

//// dates are of no place
// want: ok [0,"1970-01-01T00:00:00.000Z",true,0]
const d = new Date(0); [d.getTimezoneOffset(), d.toISOString(), /1970 00:00:00 GMT\+0000/.test(String(d)), new Date(1970, 0, 1).getTime()]

//// dates are read as UTC when they do not say
// want: ok [1577836800000,1577836800000,1577829600000,1577836800000]
['2020-01-01T00:00', '2020-01-01', '2020-01-01T00:00+02:00', 'Jan 1 2020'].map((s) => Date.parse(s))

//// dates go on working
// want: ok [2024,1,29,true,"2024-02-29","NaN"]
const d = new Date(2024, 1, 29, 12); [d.getFullYear(), d.getMonth(), d.getDate(), d instanceof Date, d.toJSON().slice(0, 10), String(new Date(NaN).getTime())]

//// a date of a date
// want: ok [5,7,2]
[new Date(new Date(5)).getTime(), new Date({ valueOf() { return 7 } }).getTime(), new Date(Object(2)).getTime()]
