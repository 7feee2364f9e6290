// What a drill for `locklab score` needs beside the library: see docs/score.md. Copy this file, or import it.
//
//     follow({
//       async lock(waitMs, signal) { … },  // true, false, or an error; what else it tells as an object
//       async unlock() { … },
//     });
//
// What the drill has no method for, its library has no call for. The second argument of `follow` says more of `lock`:
// `cancel`, it heeds the signal; `limit`, it keeps `waitMs`; `quorum`, it takes the lock on a majority of the servers.
// And `key` is that of the lock, if the library makes others beside it.

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

export const leaseMs = Number(process.env.LOCKLAB_LEASE_MS);
export const urls = process.env.REDIS_URLS.split(",");

const words = ["lock", "try", "plain", "keep", "extend", "unlock", "again", "abandon"];

function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** The library has told its user that the lock is lost. */
export function lost(how) {
  say({ event: "lost", how });
}

/** Enters a scope of the library, such as `using`. The answer leaves it, as a task that ends, or fails with an error. */
export function enter(scope) {
  return new Promise((entered, failed) => {
    const over = scope(() => new Promise((end, fail) => entered((error) => (error ? fail(error) : end(), over))));
    over.catch(failed);
  });
}

/** Follows the orders on standard input until it ends. */
export async function follow(drill, { key, ...more } = {}) {
  let giveUp = new AbortController();

  async function does(order) {
    if (order.do === "cancel") return giveUp.abort();
    if (order.do === "block") {
      // The event loop itself, as by work that computes.
      for (const until = performance.now() + order.ms; performance.now() < until; );
      return true;
    }
    giveUp = new AbortController();
    return drill[order.do](order.wait_ms, giveUp.signal);
  }

  async function answer(order) {
    try {
      const told = await does(order);
      say({ id: order.id, r: told === false ? "no" : "ok", ...(typeof told === "object" ? told : {}) });
    } catch (error) {
      say({ id: order.id, r: "error", class: `${error?.name}: ${error?.message}`.slice(0, 200) });
    }
  }

  const can = words.filter((word) => drill[word]).concat("block", Object.keys(more).filter((word) => more[word]));
  say({ event: "ready", can, key });
  for await (const line of createInterface({ input: process.stdin })) answer(JSON.parse(line));
  process.exit();
}
