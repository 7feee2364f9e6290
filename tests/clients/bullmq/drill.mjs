// Does with the lock of a job of BullMQ what it is told, for `locklab score`; see README.md.

import { Queue, Worker } from "bullmq";
import { follow, leaseMs, lost } from "./locklab_drill.mjs";

const { hostname, port } = new URL(process.env.REDIS_URL);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue("queue", { connection });
// It processes jobs by hand, which its manual shows; the lock is taken together with the job.
const worker = new Worker("queue", null, { connection, lockDuration: leaseMs });
for (const emitter of [queue, worker]) emitter.on("error", () => {});
const token = `process-${process.pid}`;
let job;
let leave;

async function add() {
  await queue.add("job", {}, { jobId: "job", removeOnComplete: true, removeOnFail: true });
}

// A worker that processes jobs by itself, and renews their locks.
async function keep(options) {
  const processor = new Worker(
    "queue",
    () =>
      new Promise((end, fail) => {
        leave = (error) => (error ? fail(error) : end());
        entered();
      }),
    { connection, ...options },
  );
  let entered;
  const begun = new Promise((resolve) => (entered = resolve));
  const over = new Promise((resolve) => {
    processor.on("completed", resolve);
    processor.on("failed", resolve);
  });
  processor.on("error", () => {});
  processor.on("lockRenewalFailed", () => lost("event"));
  await add();
  await begun;
  const end = leave;
  leave = async (error) => {
    end(error);
    await over;
  };
}

follow(
  {
    async lock() {
      await add();
      job = await worker.getNextJob(token);
      return job !== undefined;
    },
    plain: () => keep({}),
    keep: () => keep({ lockDuration: leaseMs }),
    extend: async () => (await job.extendLock(token, leaseMs)) !== 0,
    unlock: async () => void (await (leave ? leave() : job.moveToCompleted("", token, false))),
    // A processor that fails ends its job.
    abandon: () => leave(new Error("abandoned")),
  },
  { key: "bull:queue:job:lock" },
);
