// Takes redis-semaphore's Semaphore, which extends its lease, for `locklab attack`; see README.md.

import Redis from "ioredis";
import { Semaphore } from "redis-semaphore";
import { tell } from "./locklab_tell.mjs";

const lease = Number(process.env.LOCKLAB_LEASE_MS ?? 1000);
const permits = 2;
const servers = new Redis(process.env.REDIS_URL);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
servers.on("error", () => {});

async function round() {
  let isLost = false;
  const semaphore = new Semaphore(servers, "counter-lock", permits, {
    lockTimeout: lease,
    refreshInterval: lease / 2,
    onLockLost: () => {
      isLost = true;
      tell("lost");
    },
  });
  tell("acquiring");
  if (!(await semaphore.tryAcquire().catch(() => false))) return tell("refused");
  tell("acquired", { permits });
  await sleep(150);
  if (isLost) return;
  tell("releasing");
  await semaphore.release().catch(() => {});
  tell("released");
}

for (;;) {
  await round().catch(() => {});
  await sleep(30);
}
