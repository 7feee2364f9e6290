// Does with a lock of redlock-universal what it is told, for `locklab score`; see README.md.

import Redis from "ioredis";
import { createLock, createRedlock, IoredisAdapter } from "redlock-universal";
import { enter, follow, leaseMs, lost, urls } from "./locklab_drill.mjs";

const isRedlock = process.argv[2] === "redlock";
const servers = urls.map((url) => new Redis(url));
for (const redis of servers) redis.on("error", () => {});
const adapters = servers.map((redis) => new IoredisAdapter(redis));
let taken;
let held;
let leave;

function make(options) {
  const settings = { key: "lock", ttl: leaseMs, ...options };
  return isRedlock ? createRedlock({ adapters, ...settings }) : createLock({ adapter: adapters[0], ...settings });
}

const delayMs = isRedlock ? 200 : 100;
// Its limit of the wait is a number of retries, for which there is always one.
const usual = make({ retryAttempts: 1000 });

// A LockAcquisitionError stands for both a lock that is taken and servers that fail. That of the simple lock has the
// error of the server as its cause, and remains an error here; that of the other has "quorum not achieved" for both, so
// that to its user all are busy.
async function take(lock) {
  try {
    held = await lock.acquire();
    taken = lock;
  } catch (error) {
    if (isRedlock && error.code === "LOCK_ACQUISITION_FAILED") return false;
    throw error;
  }
}

async function keep(lock) {
  leave = await enter((work) =>
    lock.using((signal) => {
      signal.addEventListener("abort", () => lost("signal"));
      return work();
    }),
  );
}

function lock(waitMs) {
  return take(waitMs ? make({ retryAttempts: Math.ceil(waitMs / delayMs) }) : usual);
}

follow(
  {
    lock,
    again: lock,
    try: () => take(make({ retryAttempts: 0 })),
    plain: () => keep(make({ ttl: 30000 })),
    keep: () => keep(usual),
    extend: () => taken.extend(held, leaseMs),
    unlock: () => (leave ? leave().then(() => true) : taken.release(held)),
    // A task that fails leaves the scope.
    abandon: () => leave(new Error("abandoned")).catch(() => true),
  },
  { quorum: isRedlock },
);
