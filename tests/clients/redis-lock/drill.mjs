// Does with redis-lock's lock what it is told, for `locklab score`; see README.md.

import { createClient } from "redis";
import redisLock from "redis-lock";
import { follow, leaseMs } from "./locklab_drill.mjs";

const client = createClient({ url: process.env.REDIS_URL });
client.on("error", () => {});
await client.connect();
const lock = redisLock(client);
let done;

follow({
  // It has no limit of the wait.
  lock: async () => void (done = await lock("lock", leaseMs)),
  again: async () => void (done = await lock("lock", leaseMs)),
  plain: async () => void (done = await lock("lock")),
  // Its answer is the number of deleted keys, of which its README does not speak.
  unlock: async () => void (await done()),
});
