// Increments a counter under redis-semaphore's Mutex in a Redis Cluster, for `locklab attack --cluster`; see README.md.
//
// It works for longer than a failover takes.

import Redis from "ioredis";
import { Mutex } from "redis-semaphore";
import { tell } from "./locklab_tell.mjs";

const lease = Number(process.env.LOCKLAB_LEASE_MS ?? 10000);
const nodes = process.env.REDIS_CLUSTER.split(",").map((address) => `redis://${address}`);
// Without a limit a command to a node that is gone waits for ever.
const servers = new Redis.Cluster(nodes, { slotsRefreshInterval: 1000, redisOptions: { commandTimeout: 1000 } });
const resource = new Redis(process.env.LOCKLAB_RESOURCE);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
for (const redis of [servers, resource]) redis.on("error", () => {});

async function round() {
  let isLost = false;
  const mutex = new Mutex(servers, "lock", {
    lockTimeout: lease,
    refreshInterval: lease / 10,
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
  await sleep(4000);
  // The library knows before the write whether it still has the lock.
  if (!isLost && mutex.isAcquired) await resource.set("counter", value + 1);
  if (isLost) return;
  tell("releasing");
  await mutex.release().catch(() => {});
  tell("released");
}

for (;;) {
  await round().catch(() => {});
  // What was given back must have reached the replica before the next grant.
  await sleep(300);
}
