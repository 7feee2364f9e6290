// Locks on one node, right and wrong, for `locklab attack`: `worker.mjs NAME`. The names mean what they mean in `worker.py`.

import { connect } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { tell } from "../../docs/attack/locklab_tell.mjs";

const name = process.argv[2];
const LEASE_MS = 1000;
const DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/** A connection: a function that sends a request and returns the reply, of one line. */
function server(url) {
  const { hostname, port } = new URL(url);
  const socket = connect(port, hostname);
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const line = async () => (await lines.next()).value;
  return async (...words) => {
    const parts = words.map(String).map((word) => `$${word.length}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${parts.join("")}`);
    const head = await line();
    if (head[0] !== "$") return head.slice(1);
    return head === "$-1" ? null : line();
  };
}

const node = server(process.env.REDIS_URL);
const resource = server(process.env.LOCKLAB_RESOURCE);

for (;; await sleep(10)) {
  const me = `${process.env.LOCKLAB_HOST}-${process.hrtime.bigint()}`;
  tell("acquiring");
  const asked = process.hrtime.bigint();
  const token = name === "tokens" ? Number(await node("INCR", "token")) : undefined;
  const nx = name === "set-without-nx" ? [] : ["NX"];
  const px = name === "no-expiry" ? [] : ["PX", LEASE_MS];
  const reply = await node("SET", "lock", me, ...nx, ...px);
  if (reply !== "OK" && name !== "never-looks-at-the-reply") {
    tell("refused");
    continue;
  }
  const ns = process.hrtime.bigint();
  const ttl_ms = name === "no-expiry" ? undefined : LEASE_MS - Number(ns - asked) / 1e6;
  tell("acquired", { ns, ttl_ms, token });
  const show = token === undefined ? [] : ["TOKEN", token];
  const value = Number(await resource("GET", "c", ...show));
  await sleep(300);
  if (name !== "looks-at-its-deadline" || Number(process.hrtime.bigint() - asked) < 0.9e6 * LEASE_MS) {
    await resource("SET", "c", value + 1, ...show);
  }
  tell("releasing");
  const deletesAny = ["deletes-any", "never-looks-at-the-reply"].includes(name);
  const removed = deletesAny ? await node("DEL", "lock") : await node("EVAL", DELETE, 1, "lock", me);
  tell("released", { removed: Number(removed) });
}
