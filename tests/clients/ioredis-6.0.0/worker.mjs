// Takes a lock of SET NX PX fifteen times, for `locklab attack`; see README.md.

import { randomUUID } from "node:crypto";
import Redis from "ioredis";
import { tell } from "./locklab_tell.mjs";

const lease = Number(process.env.LOCKLAB_LEASE_MS ?? 1000);
const resends = process.argv[2] === "resend";
const server = new Redis(process.env.REDIS_URL, { autoResendUnfulfilledCommands: resends });
server.on("error", () => {});
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const RELEASE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

async function attempt() {
  const token = randomUUID();
  tell("acquiring");
  const asked = performance.now();
  const reply = await server.set("lock", token, "PX", lease, "NX").catch(() => null);
  if (reply !== "OK") return tell("refused");
  tell("acquired", { ttl_ms: lease - (performance.now() - asked) });
  await sleep(100);
  tell("releasing");
  const removed = await server.eval(RELEASE, 1, "lock", token).catch(() => undefined);
  tell("released", { removed });
  return true;
}

for (let taken = 0; taken < 15; ) {
  if (await attempt()) taken += 1;
  await sleep(30);
}
process.exit(0);
