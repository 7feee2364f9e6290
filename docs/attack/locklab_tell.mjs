// Tells `locklab attack` when this process holds its lock; elsewhere it does nothing.

import { appendFileSync } from "node:fs";

const file = process.env.LOCKLAB_FILE;

/**
 * Tells that something happened now: tell("acquired", { ttl_ms: 900, token: 7 }). ns: the reading of
 * process.hrtime.bigint() from which ttl_ms counts, if it was taken before.
 */
export function tell(word, { ns = process.hrtime.bigint(), ...more } = {}) {
  if (file === undefined) return;
  const line = JSON.stringify({ locklab: word, pid: process.pid, ...more });
  // As text, since a number of JavaScript is not exact to the nanosecond for ever.
  appendFileSync(file, `${line.slice(0, -1)},"ns":${ns}}\n`);
}
