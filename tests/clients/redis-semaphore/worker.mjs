// Increments a counter under redis-semaphore's Mutex, which extends its lease, for `locklab attack`; see README.md.

import Redis from "ioredis";
import { Mutex } from "redis-semaphore";
import { tell } from "./locklab_tell.mjs";

const lease = Number(process.env.LOCKLAB_LEASE_MS ?? 1000);
const nodes = process.env.REDIS_CLUSTER?.split(",").map((address) => `redis://${address}`);
// Without a limit a command to a node that is gone waits for ever.
const options = { slotsRefreshInterval: 1000, redisOptions: { commandTimeout: 1000 } };
const servers = nodes ? new Redis.Cluster(nodes, options) : new Redis(process.env.REDIS_URL);
// In a cluster it works for longer than a failover takes, and begins anew when the replica knows that it has ended. The
// library's key has the slot of `lock`.
const [name, work, pause, renewals] = nodes ? ["{lock}", 4000, 300, 10] : ["counter-lock", Number(process.env.WORK_MS ?? 100), 30, 2];
const resource = new Redis(process.env.LOCKLAB_RESOURCE);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
for (const redis of [servers, resource]) redis.on("error", () => {});

async function round() {
  let isLost = false;
  const mutex = new Mutex(servers, name, {
    lockTimeout: lease,
    refreshInterval: lease / renewals,
    onLockLost: () => {
      isLost = true;
      tell("lost");
    },
  });
  tell("acquiring");
  if (!(await mutex.tryAcquire().catch(() => false))) return tell("refused");
  // How long a holder may rely on it the library does not say: it is to hear of a loss.
  tell("acquired");
  const value = Number(await resource.get("counter"));
  await sleep(work);
  // The library knows before the write whether it still has the lock.
  if (!isLost && mutex.isAcquired) await resource.set("counter", value + 1);
  if (isLost) return;
  tell("releasing");
  await mutex.release().catch(() => {});
  tell("released");
}

for (;;) {
  await round().catch(() => {});
  await sleep(pause);
}
