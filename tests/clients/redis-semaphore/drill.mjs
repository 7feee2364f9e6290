// Does with redis-semaphore's Mutex what it is told, or with its RedlockMutex, for `locklab score`; see README.md.

import Redis from "ioredis";
import { Mutex, RedlockMutex } from "redis-semaphore";
import { follow, leaseMs, lost, urls } from "./locklab_drill.mjs";

const kind = process.argv[2];
const servers = urls.map((url) => new Redis(url));
for (const redis of servers) redis.on("error", () => {});
let held;

function mutex(options) {
  return kind === "redlock" ? new RedlockMutex(servers, "lock", options) : new Mutex(servers[0], "lock", options);
}

async function take(it, signal) {
  const ok = await it.tryAcquire(signal);
  if (ok) held = it;
  return ok;
}

// The callback is an option: by default a loss is an error that nobody can catch, and ends the process.
const heeding = process.argv[3] === "onLockLost" ? { onLockLost: () => lost("callback") } : {};

// It renews by default; without that a lock has the lease that was asked for.
const still = { lockTimeout: leaseMs, refreshInterval: 0 };

follow(
  {
    lock: (waitMs, signal) => take(mutex({ ...still, ...(waitMs && { acquireTimeout: waitMs }) }), signal),
    // An option of the mutex is the limit of the wait, so this one has the limit of `lock`.
    again: () => held.tryAcquire(),
    try: () => take(mutex({ ...still, acquireAttemptsLimit: 1 })),
    plain: () => take(mutex()),
    keep: () => take(mutex({ lockTimeout: leaseMs, ...heeding })),
    unlock: () => held.release(),
    // Its user forgets it, as one who fails before the release.
    abandon: () => (held = undefined),
  },
  { cancel: true, limit: true, quorum: kind === "redlock" },
);
