// Does with redlock's lock what it is told, for `locklab score`; see README.md.

import Redis from "ioredis";
import Redlock from "redlock";
import { enter, follow, leaseMs, lost, urls } from "./locklab_drill.mjs";

const servers = urls.map((url) => new Redis(url));
for (const redis of servers) redis.on("error", () => {});
const redlock = new Redlock(servers);
let held;
let leave;

// An ExecutionError stands for both a lock that is taken and servers that fail, and carries the error of each server:
// it remains an error here.
async function take(settings, ms = leaseMs) {
  held = await redlock.acquire(["lock"], ms, settings);
  return { valid_ms: held.expiration - Date.now() };
}

function lock(waitMs) {
  // Its limit of the wait is a number of retries, 200 ms apart; -1 stands for none.
  return take({ retryCount: waitMs ? Math.ceil(waitMs / 200) : -1 });
}

follow(
  {
    lock,
    again: lock,
    try: () => take({ retryCount: 0 }),
    // The first example is `using` with five seconds.
    plain: () => keep(5000),
    keep: () => keep(leaseMs),
    async extend() {
      held = await held.extend(leaseMs);
      return { valid_ms: held.expiration - Date.now() };
    },
    unlock: () => (leave ? leave() : held.release()).then(() => true),
    // A task that fails leaves the scope.
    abandon: () => leave(new Error("abandoned")).catch(() => true),
  },
  { quorum: true },
);

async function keep(ms) {
  leave = await enter((work) =>
    redlock.using(["lock"], ms, (signal) => {
      signal.addEventListener("abort", () => lost("signal"));
      return work();
    }),
  );
}
