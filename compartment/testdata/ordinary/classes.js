//// private fields and accessors
// want: [15,1,"amount must be positive",true,false,["owner"]]
class Account {
  #balance = 0;
  static #count = 0;
  static get count() { return Account.#count; }
  constructor(owner) { this.owner = owner; Account.#count++; }
  get balance() { return this.#balance; }
  #check(n) { if (!(n > 0)) throw new RangeError('amount must be positive'); }
  deposit(n) { this.#check(n); this.#balance += n; return this; }
  static is(o) { return #balance in o; }
}
const a = new Account('ann').deposit(5).deposit(10);
let refused;
try { a.deposit(-1) } catch (e) { refused = e.message }
[a.balance, Account.count, refused, Account.is(a), Account.is({}), Object.keys(a)]

//// inheritance, super and toString
// want: ["circle: 3.1","square: 4.0!",true,true]
class Shape {
  constructor(name) { this.name = name; }
  area() { return 0; }
  toString() { return `${this.name}: ${this.area().toFixed(1)}`; }
}
class Circle extends Shape {
  constructor(r) { super('circle'); this.r = r; }
  area() { return Math.PI * this.r ** 2; }
}
class Square extends Shape {
  constructor(s) { super('square'); this.s = s; }
  area() { return this.s ** 2; }
  toString() { return super.toString() + '!'; }
}
[...[new Circle(1), new Square(2)].map(String), new Circle(1) instanceof Shape, Object.getPrototypeOf(Square) === Shape]

//// errors of one's own, with causes
// want: ["NotFound","no 3",404,true,true,true,true,"NotFound: no 3","string"]
class AppError extends Error {
  constructor(message, options) { super(message, options); this.name = this.constructor.name; }
}
class NotFound extends AppError { status = 404; }
const load = (id) => { try { null.x } catch (cause) { throw new NotFound('no ' + id, { cause }) } };
try { load(3) } catch (e) {
  [e.name, e.message, e.status, e instanceof NotFound, e instanceof AppError, e instanceof Error, e.cause instanceof TypeError, String(e), typeof e.stack]
}

//// names on errors by assignment, the old way
// want: ["Older/m",true,"[object Object]"]
function Old(message) { this.message = message; }
Old.prototype = Object.create(Error.prototype);
Old.prototype.constructor = Old;
Old.prototype.name = 'Old';
Old.prototype.toString = function () { return this.name + '/' + this.message; };
const e = new Old('m');
e.name = 'Older';
[String(e), e instanceof Error, Object.prototype.toString.call(e)]

//// mixins and symbols
// want: ["{\"type\":\"N\",\"n\":3}",true,"n4","[object N]",5]
const Serial = (B) => class extends B { toJSON() { return { type: this.constructor.name, ...this }; } };
const Compare = (B) => class extends B { [Symbol.toPrimitive](hint) { return hint === 'number' ? this.n : `n${this.n}`; } };
class N extends Serial(Compare(Object)) { constructor(n) { super(); this.n = n; } get [Symbol.toStringTag]() { return 'N'; } }
[JSON.stringify(new N(3)), new N(2) < new N(3), `${new N(4)}`, Object.prototype.toString.call(new N(1)), +new N(5)]

//// static blocks, fields and computed names
// want: [[0,1,4],3,4,["field","computed","handler"]]
const key = 'dynamic';
class C {
  static list = [];
  static { for (let i = 0; i < 3; i++) this.list.push(i * i); }
  [key + 'Method']() { return this.field; }
  field = this.constructor.list.length;
  ['computed'] = 1;
  handler = () => this.field + 1;
}
const { handler } = new C();
[C.list, new C().dynamicMethod(), handler(), Object.keys(new C())]

//// getters and setters on objects
// want: [100,212,["_c","f"],1,true]
const temperature = {
  _c: 20,
  get f() { return this._c * 9 / 5 + 32; },
  set f(v) { this._c = (v - 32) * 5 / 9; },
};
temperature.f = 212;
Object.defineProperty(temperature, 'hidden', { value: 1, enumerable: false });
[temperature._c, temperature.f, Object.keys(temperature), temperature.hidden, 'hidden' in temperature]

//// prototypes, the old way
// want: ["x makes a noise","rex makes a noise: woof","dog d",true,true]
function Animal(name) { if (!(this instanceof Animal)) return new Animal(name); this.name = name; }
Animal.prototype.speak = function () { return this.name + ' makes a noise'; };
function Dog() { Animal.apply(this, arguments); }
Dog.prototype = Object.create(Animal.prototype, { constructor: { value: Dog, writable: true } });
Dog.prototype.speak = function () { return Animal.prototype.speak.call(this) + ': woof'; };
Dog.prototype.toString = function () { return 'dog ' + this.name; };
[Animal('x').speak(), new Dog('rex').speak(), String(new Dog('d')), new Dog('e').hasOwnProperty('name'), Dog.prototype.isPrototypeOf(new Dog())]

//// objects that have the names of built-in methods
// want: ["mine",8,"c",1,{"constructor":2,"toString":1}]
const o = {};
o.toString = () => 'mine';
o.constructor = 'c';
o.valueOf = () => 7;
const p = Object.create(null);
p.hasOwnProperty = 1;
const counts = {};
for (const w of ['constructor', 'toString', 'constructor']) counts[w] = (Object.hasOwn(counts, w) ? counts[w] : 0) + 1;
[`${o}`, o + 1, o.constructor, p.hasOwnProperty, counts]

//// validation by proxy
// want: [["ok","age must be number","unknown field x","ok"],"{\"name\":\"ann\",\"age\":3}",true,[["name","ann"],["age",3]]]
const typed = (shape) => new Proxy({}, {
  set(t, k, v) {
    if (!(k in shape)) throw new TypeError(`unknown field ${String(k)}`);
    if (typeof v !== shape[k]) throw new TypeError(`${k} must be ${shape[k]}`);
    return Reflect.set(t, k, v);
  },
  get: (t, k) => k === 'json' ? JSON.stringify(t) : t[k],
  has: (t, k) => k in shape,
  ownKeys: () => Object.keys(shape),
  getOwnPropertyDescriptor: (t, k) => ({ value: t[k] ?? null, enumerable: true, configurable: true }),
});
const u = typed({ name: 'string', age: 'number' });
const tried = [['name', 'ann'], ['age', '3'], ['x', 1], ['age', 3]].map(([k, v]) => { try { u[k] = v; return 'ok' } catch (e) { return e.message } });
[tried, u.json, 'name' in u, Object.entries(u)]

//// Reflect and descriptors
// want: [true,11,false,4,3,false,true,true]
class A { constructor(...args) { this.args = args; } }
class B extends A {}
const o = { x: 1, get y() { return this.x + 1; } };
[Reflect.construct(A, [1, 2], B) instanceof B, Reflect.get(o, 'y', { x: 10 }), Reflect.has(o, 'z'), Reflect.ownKeys({ b: 1, a: 1, 2: 1, [Symbol.iterator]: 1 }).length,
  Reflect.apply(Math.max, null, [1, 3]), Reflect.deleteProperty(Object.freeze({ a: 1 }), 'a'), Object.getOwnPropertyDescriptor(o, 'y').set === undefined, Object.isFrozen(Object.freeze([]))]

//// method chains that give new objects
// want: [[{"b":"z"},{"b":"x"}],[{"a":3,"b":"x"}]]
class Query {
  constructor(rows, ops = []) { this.rows = rows; this.ops = ops; }
  with(op) { return new Query(this.rows, [...this.ops, op]); }
  where(f) { return this.with((r) => r.filter(f)); }
  select(...keys) { return this.with((r) => r.map((x) => Object.fromEntries(keys.map((k) => [k, x[k]])))); }
  orderBy(k, dir = 1) { return this.with((r) => [...r].sort((a, b) => (a[k] > b[k] ? 1 : -1) * dir)); }
  limit(n) { return this.with((r) => r.slice(0, n)); }
  run() { return this.ops.reduce((r, op) => op(r), this.rows); }
}
const q = new Query([{ a: 3, b: 'x' }, { a: 1, b: 'y' }, { a: 2, b: 'z' }]);
[q.where((r) => r.a > 1).orderBy('a').select('b').run(), q.orderBy('a', -1).limit(1).run()]
