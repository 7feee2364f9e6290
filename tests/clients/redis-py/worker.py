"""Increments a counter under redis-py's own Lock, for `locklab attack` (docs/attack.md).

To attack a lock of yours, put it in the place of `lock`: where it is made, acquired and released.
"""

import os
import time

import redis
from redis.exceptions import LockError, RedisError

from locklab_tell import tell

LEASE_S = int(os.environ.get("LOCKLAB_LEASE_MS", "1000")) / 1000
servers = redis.Redis.from_url(os.environ["REDIS_URL"])
resource = redis.Redis.from_url(os.environ["LOCKLAB_RESOURCE"])
lock = servers.lock("counter-lock", timeout=LEASE_S)


def attempt():
    """Tries once to take the lock; the lease counts from before the request."""
    tell("acquiring")
    asked = time.monotonic()
    try:
        has_it = lock.acquire(blocking=False)
    except RedisError:
        has_it = False
    if has_it:
        tell("acquired", ttl_ms=1000 * (LEASE_S - (time.monotonic() - asked)))
    else:
        tell("refused")
    return has_it


while True:
    if attempt():
        try:
            value = int(resource.get("counter") or 0)
            time.sleep(0.1)
            resource.set("counter", value + 1)
        except RedisError:
            pass
        tell("releasing")
        try:
            lock.release()
            tell("released", removed=1)
        except (LockError, RedisError):
            tell("released")
    time.sleep(0.03)
