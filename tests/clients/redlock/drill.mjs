// Does with redlock's lock what it is told, for `cargo xtask clients --ports`; see README.md.

import { createInterface } from "node:readline";
import Redis from "ioredis";
import Redlock from "redlock";

const lease = Number(process.env.LOCKLAB_LEASE_MS);
const servers = process.env.REDIS_URLS.split(",").map((url) => new Redis(url));
// With the library's own delay between attempts, and its own number of attempts to extend and to release.
const managers = { lock: new Redlock(servers, { retryCount: 1000 }), try: new Redlock(servers, { retryCount: 0 }) };
const usual = new Redlock(servers);
for (const redis of servers) redis.on("error", () => {});
for (const manager of [usual, ...Object.values(managers)]) manager.on("clientError", () => {});
let held;

async function does(order) {
  if (managers[order]) {
    const lock = await managers[order].lock("lock", lease).catch(() => null);
    held = lock ?? held;
    return lock ? "ok" : "no";
  }
  const done = order === "extend" ? usual.extend(held, lease) : usual.unlock(held);
  return done.then(() => "ok", () => "error");
}

await Promise.all(servers.map((redis) => redis.ping()));
console.log("ready");
for await (const order of createInterface({ input: process.stdin })) console.log(await does(order));
process.exit();
