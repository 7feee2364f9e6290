// Does with redlock's lock what it is told, for `locklab score`; see README.md.

import Redis from "ioredis";
import Redlock from "redlock";
import { follow, leaseMs, urls } from "./locklab_drill.mjs";

const servers = urls.map((url) => new Redis(url));
const redlock = new Redlock(servers);
// The number of attempts is one of the settings of a manager; a call cannot ask for none after the first.
const once = new Redlock(servers, { retryCount: 0 });
for (const redis of servers) redis.on("error", () => {});
let held;

// A LockError says neither whether another has the lock nor which server failed: to its user all are busy.
async function take(manager, ms, options = {}) {
  try {
    held = await manager.lockWithOptions("lock", ms, options);
    return { valid_ms: held.expiration - Date.now() };
  } catch (error) {
    if (error instanceof Redlock.LockError) return false;
    throw error;
  }
}

function lock(waitMs) {
  // Its limit of the wait is a number of retries, 200 ms apart; -1 stands for none.
  return take(redlock, leaseMs, { retryCount: waitMs ? Math.ceil(waitMs / redlock.retryDelay) : -1 });
}

follow(
  {
    lock,
    again: lock,
    try: () => take(once, leaseMs),
    plain: () => take(redlock, 1000),
    async extend() {
      held = await held.extend(leaseMs);
      return { valid_ms: held.expiration - Date.now() };
    },
    unlock: () => held.unlock(),
  },
  { quorum: true },
);
