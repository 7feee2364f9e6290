"""Does with redis-py's own Lock what it is told, for `cargo xtask clients --ports`; see README.md."""

import os
import sys

import redis
from redis.exceptions import LockError, RedisError

LEASE_S = int(os.environ["LOCKLAB_LEASE_MS"]) / 1000
lock = redis.Redis.from_url(os.environ["REDIS_URL"]).lock("lock", timeout=LEASE_S)


def does(order):
    """The answer to an order."""
    try:
        if order in ("lock", "try"):
            return "ok" if lock.acquire(blocking=order == "lock") else "no"
        {"extend": lock.reacquire, "unlock": lock.release}[order]()
        return "ok"
    except (LockError, RedisError):
        return "error"


print("ready", flush=True)
for line in sys.stdin:
    print(does(line.strip()), flush=True)
