// Increments a counter in jobs of one BullMQ queue, of which a lock lets one worker process each; see README.md.

import { Queue, Worker } from "bullmq";
import Redis from "ioredis";
import { tell } from "./locklab_tell.mjs";

const lease = Number(process.env.LOCKLAB_LEASE_MS ?? 1000);
const { hostname, port } = new URL(process.env.REDIS_URL);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const resource = new Redis(process.env.LOCKLAB_RESOURCE);
const queue = new Queue("counter", { connection });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let lost = false;

async function increment() {
  lost = false;
  // How long it has the job the library does not say: it renews the lock.
  tell("acquired");
  const value = Number(await resource.get("counter"));
  await sleep(100);
  if (lost) return;
  await resource.set("counter", value + 1);
  tell("releasing");
}

const worker = new Worker("counter", increment, {
  connection,
  lockDuration: lease,
  stalledInterval: lease,
  maxStalledCount: 1_000_000,
});
const done = () => {
  tell("released");
  tell("acquiring");
};
worker.on("completed", done);
worker.on("failed", done);
worker.on("lockRenewalFailed", () => {
  lost = true;
  tell("lost");
});
for (const emitter of [worker, queue, resource]) emitter.on("error", () => {});
tell("acquiring");
// One job at a time for all workers: the next has the same name, which the queue knows once only.
for (;;) {
  await queue.add("increment", {}, { jobId: "counter-lock", removeOnComplete: true, removeOnFail: true }).catch(() => {});
  await sleep(30);
}
