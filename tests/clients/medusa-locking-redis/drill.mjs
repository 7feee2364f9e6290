// Does with the lock of @medusajs/locking-redis what it is told, for `locklab score`; see README.md.

import { RedisLockingProvider } from "@medusajs/locking-redis/dist/services/redis-lock.js";
import { Redis } from "ioredis";
import { enter, follow, leaseMs, lost } from "./locklab_drill.mjs";

// As its loader connects.
const redisClient = new Redis(process.env.REDIS_URL, { lazyConnect: true });
redisClient.on("error", () => {});
await redisClient.connect();
const locking = new RedisLockingProvider({ redisClient }, {});
const owned = { ownerId: `process-${process.pid}`, expire: leaseMs / 1000 };
let leave;

// A conflict says that another has the lock, or that the limit of the wait is over.
async function told(call) {
  try {
    await call;
  } catch (error) {
    if (error.type === "conflict") return false;
    throw error;
  }
}

async function keep(settings) {
  leave = await enter((work) =>
    locking.execute(
      "lock",
      (signal) => {
        signal.addEventListener("abort", () => lost("signal"));
        return work();
      },
      settings,
    ),
  );
}

// Only the wait of `execute` has a limit, and that renews what it holds.
function lock(waitMs) {
  if (waitMs) return told(keep({ timeout: waitMs / 1000, expire: owned.expire }));
  return told(locking.acquire("lock", { ...owned, awaitQueue: true }));
}

follow(
  {
    lock,
    try: () => told(locking.acquire("lock", owned)),
    again: () => told(locking.acquire("lock", owned)),
    // The first example is `execute`.
    plain: () => told(keep({})),
    keep: () => told(keep({ expire: owned.expire })),
    unlock: () => (leave ? leave().then(() => true) : locking.release("lock", owned)),
    // A job that fails leaves `execute`.
    abandon: () => leave(new Error("abandoned")).catch(() => true),
  },
  { limit: true },
);
