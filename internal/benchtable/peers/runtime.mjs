// Times true in the sandbox of Anthropic's Node runtime (npm's @anthropic-ai/sandbox-runtime, installed in the current directory), which needs bubblewrap,
// socat and ripgrep, and the same plain, in turn. It prints the medians as Go's benchmarks do.
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const { SandboxManager } = await import(pathToFileURL(`${process.cwd()}/node_modules/@anthropic-ai/sandbox-runtime/dist/index.js`));
const rounds = 30;

const run = (command) => new Promise((done, failed) => {
  const child = spawn(command, { shell: true, stdio: 'ignore' });
  child.on('error', failed);
  child.on('exit', (code) => (code === 0 ? done() : failed(new Error(`${command.slice(0, 80)} exited with ${code}`))));
});

async function timed(list, f) {
  const begun = process.hrtime.bigint();
  await f();
  list.push(Number(process.hrtime.bigint() - begun) / 1000);
}

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1].toFixed(0);

await SandboxManager.initialize({
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
});
const confined = [], plain = [];
for (let i = 0; i < rounds; i++) {
  await timed(plain, () => run('true'));
  await timed(confined, async () => run(await SandboxManager.wrapWithSandbox('true')));
}
await SandboxManager.reset();
console.log(`BenchmarkRuntime 1 ${median(confined)} runtime-µs ${median(plain)} plain-µs`);
process.exit(0);
