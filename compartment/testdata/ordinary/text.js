//// parse CSV with quotes
// want: [{"name":"Ann \"the\" Ant","age":"31","city":"Rome, Italy"},{"name":"Bob","age":"27","city":"Oslo"}]
const text = 'name,age,city\n"Ann ""the"" Ant",31,"Rome, Italy"\nBob,27,Oslo\n';
function parseCSV(input) {
  const rows = [];
  let row = [], cell = '', quoted = false;
  for (let i = 0; i < input.length; i++) {
    const c = input[i];
    if (quoted) {
      if (c === '"' && input[i + 1] === '"') { cell += '"'; i++; }
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ',') { row.push(cell); cell = ''; }
    else if (c === '\n') { row.push(cell); rows.push(row); row = []; cell = ''; }
    else cell += c;
  }
  const [head, ...body] = rows;
  return body.map((r) => Object.fromEntries(r.map((v, i) => [head[i], v])));
}
parseCSV(text)

//// lines of a log, by level
// want: {"byLevel":{"INFO":[{"at":0,"message":"start pid=12"},{"at":2000,"message":"stop"}],"ERROR":[{"at":1000,"message":"disk full path=/var"},{"at":3000,"message":"net down"}]},"bad":1}
const log = `2026-01-02T10:00:00Z INFO  start pid=12
2026-01-02T10:00:01Z ERROR disk full path=/var
2026-01-02T10:00:02Z INFO  stop
garbage
2026-01-02T10:00:03Z ERROR net down`;
const line = /^(?<time>\S+)\s+(?<level>[A-Z]+)\s+(?<message>.*)$/;
const byLevel = {};
let bad = 0;
for (const l of log.split('\n')) {
  const m = line.exec(l);
  if (!m) { bad++; continue; }
  const { level, message, time } = m.groups;
  (byLevel[level] ??= []).push({ at: Date.parse(time) % 10000, message });
}
({ byLevel, bad })

//// JSON lines, with errors counted
// want: [[["a",1],["b",2]],[[2,"SyntaxError",true]]]
const lines = ['{"id":1,"tags":["a","b"]}', '{"id":2,"tags":[]}', '{oops', '{"id":3,"tags":["b"]}'];
const tags = new Map();
let errors = [];
for (const [i, l] of lines.entries()) {
  try {
    for (const t of JSON.parse(l).tags) tags.set(t, (tags.get(t) || 0) + 1);
  } catch (e) {
    errors.push([i, e.name, e instanceof SyntaxError]);
  }
}
[[...tags].sort(), errors]

//// wrap text at a width
// want: ["The quick brown fox","jumps over the lazy","dog and runs away","from it"]
function wrap(text, width) {
  const out = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line && line.length + 1 + word.length > width) { out.push(line); line = word; }
    else line = line ? line + ' ' + word : word;
  }
  if (line) out.push(line);
  return out;
}
wrap('The quick brown fox jumps over the lazy dog and runs away from it', 20)

//// a table in columns
// want: "name       | qty | price\napple      |   3 |   1.5\nwatermelon |  12 |  0.25"
const rows = [['name', 'qty', 'price'], ['apple', 3, 1.5], ['watermelon', 12, 0.25]];
const widths = rows[0].map((_, i) => Math.max(...rows.map((r) => String(r[i]).length)));
rows.map((r) => r.map((c, i) => typeof c === 'number' ? String(c).padStart(widths[i]) : String(c).padEnd(widths[i])).join(' | ').trimEnd()).join('\n')

//// count the words
// want: ["the:3","and:2","bat:1","cat:1","hat:1"]
const words = 'the cat and the hat and the bat'.split(' ');
const counts = words.reduce((m, w) => m.set(w, (m.get(w) ?? 0) + 1), new Map());
[...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([w, n]) => `${w}:${n}`)

//// a template with placeholders
// want: "Dear ANN, you owe 0. {{ nothing.here }}"
const render = (t, data) => t.replace(/\{\{\s*([\w.]+)\s*(?:\|\s*(\w+))?\s*\}\}/g, (all, path, filter) => {
  const v = path.split('.').reduce((o, k) => o?.[k], data);
  return v === undefined ? all : filter === 'upper' ? String(v).toUpperCase() : v;
});
render('Dear {{ user.name | upper }}, you owe {{user.owes}}. {{ nothing.here }}', { user: { name: 'ann', owes: 0 } })

//// a tagged template
// want: {"text":"select * from t where id = $1 and name = $2","values":[7,"O'Neil"],"raw":3}
function sql(strings, ...values) {
  return { text: strings.reduce((a, s, i) => a + '$' + i + s), values, raw: strings.raw.length };
}
const id = 7, name = "O'Neil";
sql`select * from t where id = ${id} and name = ${name}`

//// slugs, and marks taken off
// want: ["creme-brulee","unicode-more","plain"]
const slug = (s) => s.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase().trim().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
['Crème Brûlée!', '  Ünïcode  & more ', 'plain'].map(slug)

//// camel, snake and title case
// want: [["helloWorld","hello_world","Hello World"],["someThingElseHere","some_thing_else_here","Some Thing Else Here"],["x","x","X"]]
const words = (s) => s.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[\s_-]+/).map((w) => w.toLowerCase());
const camel = (s) => words(s).map((w, i) => i ? w[0].toUpperCase() + w.slice(1) : w).join('');
const snake = (s) => words(s).join('_');
const title = (s) => words(s).map((w) => w.charAt(0).toUpperCase() + w.substring(1)).join(' ');
['helloWorld', 'some-thing_else here', 'X'].map((s) => [camel(s), snake(s), title(s)])

//// a query string, there and back
// want: [{"a":"1","b":"x y&z","c":"é"},"a=1&b=x%20y%26z&c=%C3%A9"]
const parse = (q) => Object.fromEntries(q.replace(/^\?/, '').split('&').filter(Boolean).map((p) => p.split('=').map((x) => decodeURIComponent(x.replace(/\+/g, ' ')))));
const write = (o) => Object.entries(o).map(([k, v]) => encodeURIComponent(k) + '=' + encodeURIComponent(v)).join('&');
const o = parse('?a=1&b=x+y%26z&c=%C3%A9');
[o, write(o)]

//// a difference of two texts, by lines
// want: [" a","-b"," c","+x"," d"]
function diff(a, b) {
  const n = a.length, m = b.length, t = Array.from({ length: n + 1 }, () => new Array(m + 1).fill(0));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) t[i][j] = a[i] === b[j] ? t[i + 1][j + 1] + 1 : Math.max(t[i + 1][j], t[i][j + 1]);
  const out = [];
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i] === b[j]) { out.push(' ' + a[i]); i++; j++; }
    else if (j < m && (i === n || t[i][j + 1] >= t[i + 1][j])) out.push('+' + b[j++]);
    else out.push('-' + a[i++]);
  }
  return out;
}
diff(['a', 'b', 'c', 'd'], ['a', 'c', 'x', 'd'])

//// patterns of many kinds
// want: [["1","22","333"],"02.01.2026",["x","y","z"],[["k1","v1",0],["k2","v2",6]],true,7,"aBBC","1999",2]
[
  'a1b22c333'.match(/\d+/g), '2026-01-02'.replace(/(\d+)-(\d+)-(\d+)/, '$3.$2.$1'), 'x,y;z'.split(/[,;]/),
  [...'k1=v1;k2=v2'.matchAll(/(\w+)=(\w+)/g)].map((m) => [m[1], m[2], m.index]), /^(?:(\d{1,3})\.){3}\d+$/.test('10.0.0.1'),
  'price: $5'.search(/\$/), 'aBC'.replace(/b/i, (c) => c + c), /(?<y>\d{4})/.exec('in 1999').groups.y, 'a\nb'.match(/^b$/m).index,
]

//// a pattern that remembers where it was
// want: [[true,2,true,false],[1,2,5,6],0]
const r = /o/y, g = /o/g, s = 'foo boo';
r.lastIndex = 1;
const out = [r.test(s), r.lastIndex, r.test(s), r.test(s)];
let m, at = [];
while ((m = g.exec(s))) at.push(m.index);
[out, at, g.lastIndex]

//// characters and code points
// want: [5,4,56832,5,"😀漢éa","😀",56832,"😀",2]
const s = 'aé漢😀';
[s.length, [...s].length, s.codePointAt(4), s.split('').length, [...s].reverse().join(''), String.fromCodePoint(128512), s.at(-1).charCodeAt(0), s.slice(-2), s.indexOf('漢')]

//// hexadecimal and base 64
// want: ["48692c20c3a921","SGksIMOpIQ=="]
const bytes = [...'Hi, é!'].flatMap((c) => [...encodeURIComponent(c).matchAll(/%(..)|(.)/g)].map((m) => m[1] ? parseInt(m[1], 16) : m[2].charCodeAt(0)));
const hex = bytes.map((b) => b.toString(16).padStart(2, '0')).join('');
const abc = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
let b64 = '';
for (let i = 0; i < bytes.length; i += 3) {
  const n = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
  b64 += abc[n >> 18] + abc[(n >> 12) & 63] + (i + 1 < bytes.length ? abc[(n >> 6) & 63] : '=') + (i + 2 < bytes.length ? abc[n & 63] : '=');
}
[hex, b64]
