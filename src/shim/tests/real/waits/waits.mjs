// Every wait that Node.js offers, all at the same time: 200 ms. For each a line: its name, the clock that it goes by, and
// how long it took by the monotonic clock, in milliseconds.
import { execFile, spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { createServer, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker, isMainThread, workerData } from "node:worker_threads";

const LENGTH = 200;
const now = () => Number(process.hrtime.bigint()) / 1e6;

const word = () => new Int32Array(new SharedArrayBuffer(4));

// Of these each has a thread of its own.
const blocking = {
  "Atomics.wait": () => Atomics.wait(word(), 0, 0, LENGTH),
  "spawnSync timeout": () => spawnSync("sleep", ["60"], { timeout: LENGTH }),
  "spawnSync sleep": () => spawnSync("sleep", [String(LENGTH / 1000)]),
};

const waiting = {
  setTimeout: () => new Promise((done) => setTimeout(done, LENGTH)),
  setInterval: () => new Promise((done) => { const timer = setInterval(() => { clearInterval(timer); done(); }, LENGTH); }),
  "timers/promises": () => sleep(LENGTH),
  "AbortSignal.timeout": () => new Promise((done) => {
    const signal = AbortSignal.timeout(LENGTH);
    signal.onabort = done;
    sleep(60_000, undefined, { ref: true }).catch(() => {});
  }),
  "Atomics.waitAsync": () => Atomics.waitAsync?.(word(), 0, 0, LENGTH).value ?? sleep(LENGTH),
  "socket.setTimeout": () => new Promise((done) => connected.setTimeout(LENGTH, done)),
  "execFile timeout": () => new Promise((done) => execFile("sleep", ["60"], { timeout: LENGTH }, done)),
};

async function measure(name, wait) {
  const begin = now();
  await wait();
  writeSync(1, `${name.replaceAll(" ", "_")} mono ${(now() - begin).toFixed(3)}\n`);
}

let connected;

if (isMainThread) {
  connected = await new Promise((done) => {
    const server = createServer(() => {}).listen(0, "127.0.0.1", () => {
      const socket = connect(server.address().port, "127.0.0.1", () => done(socket));
    });
  });
  writeSync(1, "begin\n");
  const all = Object.entries(waiting).map(([name, wait]) => measure(name, wait));
  const threads = Object.keys(blocking).map((name) => new Promise((done) => {
    new Worker(new URL(import.meta.url), { workerData: name }).on("exit", done);
  }));
  await Promise.all([...all, ...threads]);
  process.exit(0);
} else {
  await measure(workerData, blocking[workerData]);
}
