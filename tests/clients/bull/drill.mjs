// Does with the lock of a job of Bull what it is told, for `locklab score`; see README.md.

import Queue from "bull";
import { follow, leaseMs } from "./locklab_drill.mjs";

const queue = new Queue("queue", process.env.REDIS_URL, { settings: { lockDuration: leaseMs } });
queue.on("error", () => {});
const job = await queue.add({}, { jobId: "job" });

// It has no call that waits.
const take = async () => (await job.takeLock()) === 1;

follow({
  lock: take,
  try: take,
  again: take,
  extend: async () => (await job.extendLock(leaseMs)) === 1,
  unlock: () => job.releaseLock(),
});
