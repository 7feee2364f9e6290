// Increments a counter under redlock's lock, for `locklab attack` (docs/attack.md).
//
// To attack a lock of yours, put it in the place of `redlock`: where it is made, locked and unlocked.

import Redis from "ioredis";
import Redlock from "redlock";
import { tell } from "./locklab_tell.mjs";

const lease = Number(process.env.LOCKLAB_LEASE_MS ?? 1000);
const servers = process.env.REDIS_URLS.split(",").map((url) => new Redis(url));
const resource = new Redis(process.env.LOCKLAB_RESOURCE);
const redlock = new Redlock(servers, { retryCount: 0 });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
for (const emitter of [...servers, resource, redlock]) {
  emitter.on(emitter === redlock ? "clientError" : "error", () => {});
}

async function round() {
  tell("acquiring");
  const lock = await redlock.lock("counter-lock", lease).catch(() => null);
  if (!lock) return tell("refused");
  // The library says until when, by the clock of the wall.
  tell("acquired", { ttl_ms: lock.expiration - Date.now() });
  const value = Number(await resource.get("counter"));
  await sleep(100);
  await resource.set("counter", value + 1);
  tell("releasing");
  await lock.unlock().catch(() => {});
  tell("released");
}

for (;;) {
  await round().catch(() => {});
  await sleep(30);
}
