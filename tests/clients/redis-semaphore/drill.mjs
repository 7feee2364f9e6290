// Does with redis-semaphore's Mutex what it is told, for `cargo xtask clients --ports`; see README.md.

import { createInterface } from "node:readline";
import Redis from "ioredis";
import { Mutex } from "redis-semaphore";

const lease = Number(process.env.LOCKLAB_LEASE_MS);
const redis = new Redis(process.env.REDIS_URL);
redis.on("error", () => {});
let held;

async function does(order) {
  if (order === "unlock") return held.release().then(() => "ok");
  // Without refreshing the lease: no lock of the catalogue on one key does it.
  const usual = { lockTimeout: lease, acquireTimeout: 60_000, refreshInterval: 0 };
  const mutex = new Mutex(redis, "lock", order === "try" ? { ...usual, acquireAttemptsLimit: 1 } : usual);
  if (!(await mutex.tryAcquire())) return "no";
  held = mutex;
  return "ok";
}

await redis.ping();
console.log("ready");
for await (const order of createInterface({ input: process.stdin })) {
  console.log(await does(order).catch(() => "error"));
}
process.exit();
