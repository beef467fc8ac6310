// Runs the programs of the directory that it is given on Node: on QuickJS in WebAssembly (npm's quickjs-emscripten, when it is installed beside the current directory) and on V8
// in a context of its own. It prints lines as Go's benchmarks do, the median of several runs each.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import vm from 'node:vm';

const here = process.argv[2];
const programs = readdirSync(here).filter((f) => f.endsWith('.js')).map((f) => [f.slice(0, -3), readFileSync(`${here}/${f}`, 'utf8')]);

function measure(name, f) {
  f();
  const times = [];
  for (let round = 0; round < 5; round++) {
    let n = 0;
    const begun = process.hrtime.bigint();
    while (process.hrtime.bigint() - begun < 200000000n) { f(); n++; }
    times.push(Number(process.hrtime.bigint() - begun) / n);
  }
  console.log(`Benchmark${name} 1 ${times.sort((a, b) => a - b)[2].toFixed(0)} ns/op`);
}

const v8 = () => vm.createContext({ f: (n) => n });
measure('FreshRealm/node-v8', () => vm.runInContext('1+1', v8()));
for (const [name, source] of programs) {
  const context = v8();
  measure(`Programs/${name}/node-v8`, () => vm.runInContext(source, context));
}

let quickjs;
try {
  quickjs = await createRequire(process.cwd() + '/')('quickjs-emscripten').getQuickJS();
} catch (e) {
  console.error(`quickjs-emscripten is not installed here: ${e.message}`);
}
if (quickjs) {
  const open = () => {
    const context = quickjs.newContext();
    const f = context.newFunction('f', (n) => context.newNumber(context.getNumber(n)));
    context.setProp(context.global, 'f', f);
    f.dispose();
    return context;
  };
  const run = (context, source) => {
    const handle = context.unwrapResult(context.evalCode(source));
    context.dump(handle);
    handle.dispose();
  };
  measure('FreshRealm/node-quickjs', () => { const c = open(); run(c, '1+1'); c.dispose(); });
  for (const [name, source] of programs) {
    const context = open();
    measure(`Programs/${name}/node-quickjs`, () => run(context, source));
    context.dispose();
  }
}
