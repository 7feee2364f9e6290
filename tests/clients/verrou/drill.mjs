// Does with Verrou's lock what it is told, for `locklab score`; see README.md.

import { Verrou } from "@verrou/core";
import { redisStore } from "@verrou/core/drivers/redis";
import { Redis } from "ioredis";
import { follow, leaseMs } from "./locklab_drill.mjs";

const connection = new Redis(process.env.REDIS_URL);
connection.on("error", () => {});
const verrou = new Verrou({ default: "redis", stores: { redis: { driver: redisStore({ connection }) } } });
const taken = verrou.createLock("lock", leaseMs);

async function lock(waitMs) {
  return (await taken.acquire(waitMs ? { retry: { timeout: waitMs } } : {})) && { valid_ms: taken.getRemainingTime() };
}

follow(
  {
    lock,
    again: lock,
    try: async () => (await taken.acquireImmediately()) && { valid_ms: taken.getRemainingTime() },
    // The first example is `run`, which takes it so.
    plain: () => verrou.createLock("lock").acquire(),
    async extend() {
      await taken.extend();
      return { valid_ms: taken.getRemainingTime() };
    },
    unlock: () => taken.release(),
  },
  { limit: true },
);
