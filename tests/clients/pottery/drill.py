"""Does with pottery's Redlock what it is told, for `cargo xtask clients --ports`; see README.md."""

import os
import sys

import redis
from pottery import Redlock
from pottery.exceptions import PrimitiveError
from redis.exceptions import RedisError

LEASE_MS = int(os.environ["LOCKLAB_LEASE_MS"])
masters = {redis.Redis.from_url(url) for url in os.environ["REDIS_URLS"].split(",")}
lock = Redlock(key="lock", masters=masters, auto_release_time=LEASE_MS / 1000)


def does(order):
    """The answer to an order."""
    try:
        if order in ("lock", "try"):
            return "ok" if lock.acquire(blocking=order == "lock") else "no"
        {"extend": lock.extend, "unlock": lock.release}[order]()
        return "ok"
    except (PrimitiveError, RedisError):
        return "error"


print("ready", flush=True)
for line in sys.stdin:
    print(does(line.strip()), flush=True)
