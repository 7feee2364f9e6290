// Does with simple-redis-mutex' lock what it is told, for `locklab score`; see README.md.

import { createClient } from "redis";
import { lock, tryLock } from "simple-redis-mutex";
import { follow, leaseMs } from "./locklab_drill.mjs";

const redis = await createClient({ url: process.env.REDIS_URL })
  .on("error", () => {})
  .connect();
const timeout = leaseMs;
let release;

async function wait(waitMs) {
  try {
    release = await lock(redis, "lock", waitMs ? { timeout, failAfter: waitMs } : { timeout });
    return { token: release.fencingToken };
  } catch (error) {
    // The only error that a caller can see is that of the limit: those of the server nobody catches.
    if (error.message.includes("could not be acquired after")) return false;
    throw error;
  }
}

follow(
  {
    lock: wait,
    again: wait,
    async try() {
      const [hasLock, itsRelease] = await tryLock(redis, "lock", { timeout });
      if (hasLock) release = itsRelease;
      return hasLock && { token: release.fencingToken };
    },
    plain: async () => void (release = await lock(redis, "lock")),
    extend: () => release.refreshTimeout(),
    unlock: () => release(),
  },
  { limit: true },
);
