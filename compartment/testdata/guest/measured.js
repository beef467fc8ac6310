//// lists as text
// want: ok ["1,,2,,,a","1-2","","1.5,0,1,true,o","1,2,3","a"]
[[1, , [2, [null]], undefined, 'a'].join(), [1, 2].join('-'), [].join(), [1.5, -0, 1n, true, { toString() { return 'o' } }].join(), String([[1, [2]], 3]), [, 'a'].join('')]

//// lists inside of themselves
// want: ok "1,,2" || exception ~ call stack
const a = [1]; a.push(a, 2); String(a)

//// what has no text, in a list
// want: ok ["TypeError"]
[(() => { try { return [Symbol()].join() } catch (e) { return e.name } })()]

//// what is no list, as one
// want: ok ["a+b","1,2","TypeError"]
[Array.prototype.join.call({ length: 2, 0: 'a', 1: 'b' }, '+'), Array.prototype.join.call('12'), (() => { try { [].join.call(null) } catch (e) { return e.name } })()]

//// lists in the words of the place
// want: ok ["1,2,a","1,3"]
[[1, 2, 'a'].toLocaleString(), [1, [3]].toLocaleString()]

//// JSON by a function, a list of names, with indents
// want: ok ["{\"b\":2,\"a\":[{\"c\":2}]}","{\"a\":[{\"b\":2,\"c\":1}],\"b\":1}","[\n 1,\n {\n  \"x\": 2\n }\n]"]
[JSON.stringify({ b: 1, a: [{ c: 1 }] }, (k, v) => typeof v === 'number' ? v + 1 : v), JSON.stringify({ b: 1, a: [{ c: 1, b: 2, d: 3 }] }, ['a', 'b', 'c']), JSON.stringify([1, { x: 2 }], null, 1)]

//// JSON of what is none
// want: ok ["[1,null,null,\"3!\"]",true,true,"\"x\"","{}","TypeError","TypeError"]
const c = {}; c.c = c; const name = (f) => { try { return f() } catch (e) { return e.name } };
[JSON.stringify([1, undefined, () => 1, { toJSON(k) { return k + '!' } }]), JSON.stringify(undefined) === undefined, JSON.stringify(() => 1) === undefined, JSON.stringify('x'), JSON.stringify({ u: undefined }),
 name(() => JSON.stringify(c)), name(() => JSON.stringify(1n))]

//// a function that replaces sees where it is
// want: ok ["","a","0","b"]
const keys = []; JSON.stringify({ a: [1], b: 2 }, function (k, v) { keys.push(k); if (k && this[k] !== v) keys.push('?'); return v }); keys

//// JSON inside of JSON
// want: ok "{\"a\":\"{\\\"b\\\":1}\"}"
JSON.stringify({ a: { toJSON: () => JSON.stringify({ b: 1 }) } })

//// lists made flat
// want: ok [[1,2,[3]],[1,2,3,4],[1,[2]],[1],[[1]]]
[[1, [2, [3]]].flat(), [1, [2, [3, [4]]]].flat(Infinity), [1, [2]].flat(0), [, [1]].flat(), [[[1]]].flat(1)]

//// lists and texts put together
// want: ok [[1,2,3,[4]],"a12[object Object]"]
[[1].concat(2, [3, [4]]), 'a'.concat(1, 2n, {})]

//// texts taken apart
// want: ok [["a","b"],["a","n"],3,["x","x"],["1","2"]]
['a,b'.split(','), ['an'[0], ...'n'], [...'añ😀'].length, 'xyx'.match(/x/g), '1 2'.split(' ')]

//// iterators of lists
// want: ok [[0,1],[[0,"a"]],["b"],[1,2],true]
[[...['a', 'b'].keys()], [...['a'].entries()], [...['b'].values()], [...{ length: 2, 0: 1, 1: 2, [Symbol.iterator]: [][Symbol.iterator] }], [].values === [][Symbol.iterator]]

//// templates by hand
// want: ok ["a1b","x1y2z"]
[String.raw`a${1}b`, String.raw({ raw: 'xyz' }, 1, 2)]

//// shifts and powers of every kind
// want: ok ["1099511627776",10,32,2,25,134217727,8,20,"243",8,"16","-2"]
let s = 40n, w = 5, x = 3n, y = 2; x **= 5n; y <<= y; [String(1n << s), w << 1, 1 << w, w >> 1, w ** 2, -8 >>> w, 256 >> w, '5' << '2', String(x), y, String((2n ** 64n) >> 60n), String(-8n >> 2n)]

//// a shift of two kinds
// want: ok "TypeError"
try { const n = 2; 1n << n } catch (e) { e.name }

//// bits of a BigInt
// want: ok ["18446744073709551615","-1","5"]
[String(BigInt.asUintN(64, -1n)), String(BigInt.asIntN(64, 2n ** 64n - 1n)), String(BigInt.asUintN(8, 5n))]

//// typed arrays from what is listed, and from a length
// want: ok [[1,2],[0,0,0],[2,4]]
[[...Uint8Array.from([1, 2])], [...Uint8Array.from({ length: 3 })], [...Int16Array.from(new Set([1, 2]), (x) => x * 2)]]
