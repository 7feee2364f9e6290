// Does with warlock's lock what it is told, for `locklab score`; see README.md.

import Warlock from "node-redis-warlock";
import redis from "redis";
import { follow, leaseMs } from "./locklab_drill.mjs";

const client = redis.createClient(process.env.REDIS_URL);
client.on("error", () => {});
const warlock = Warlock(client);
let held;

// An unlock that is no function says that another has the lock.
function attempt(ms = leaseMs) {
  return new Promise((resolve, reject) =>
    warlock.lock("lock", ms, (error, unlock, id) => {
      if (error) return reject(error);
      if (unlock) held = { unlock, id };
      resolve(typeof unlock === "function");
    }),
  );
}

// Its limit of the wait is a number of attempts; those of the README are four, a second apart.
function optimistic(waitMs) {
  const [attempts, delayMs] = [waitMs ? Math.floor(waitMs / 1000) + 1 : 4, 1000];
  return new Promise((resolve, reject) =>
    warlock.optimistic("lock", leaseMs, attempts, delayMs, (error, unlock) => {
      // Only the error of one who has waited in vain has the number of attempts.
      if (error) return error.maxAttempts ? resolve(false) : reject(error);
      held = { unlock };
      resolve(true);
    }),
  );
}

// The result of both scripts is 0 if the lock is not, or no longer, this one's.
function told(call) {
  return new Promise((resolve, reject) => call((error, result) => (error ? reject(error) : resolve(result !== 0))));
}

const common = {
  plain: () => attempt(10000),
  unlock: () => told((callback) => held.unlock(callback)),
};

follow(
  process.argv[2] === "optimistic"
    ? { ...common, lock: optimistic, again: optimistic }
    : {
        ...common,
        lock: () => attempt(),
        try: () => attempt(),
        again: () => attempt(),
        extend: () => told((callback) => warlock.touch("lock", held.id, leaseMs, callback)),
      },
);
