"""Increments a counter under python-redis-lock's Lock, which extends its lease, for `locklab attack`; see README.md."""

import os
import sys
import time
from pathlib import Path

import redis
import redis_lock
from redis.exceptions import RedisError

sys.path.insert(0, str(Path(__file__).parents[3] / "docs/attack"))
from locklab_tell import tell  # noqa: E402

LEASE_MS = int(os.environ.get("LOCKLAB_LEASE_MS", "1000"))
resource = redis.Redis.from_url(os.environ["LOCKLAB_RESOURCE"])
servers = redis.Redis.from_url(os.environ["REDIS_URL"])


def attempt(lock):
    """Tries once to take the lock. A thread extends it, so its user is told no deadline."""
    tell("acquiring")
    try:
        has_it = lock.acquire(blocking=False)
    except RedisError:
        has_it = False
    tell("acquired" if has_it else "refused")
    return has_it


while True:
    # Whole seconds only.
    lock = redis_lock.Lock(servers, "counter", expire=max(1, LEASE_MS // 1000), auto_renewal=True)
    if attempt(lock):
        try:
            value = int(resource.get("counter") or 0)
            time.sleep(int(os.environ.get("WORK_MS", "100")) / 1000)
            resource.set("counter", value + 1)
        except RedisError:
            pass
        tell("releasing")
        try:
            lock.release()
            tell("released")
        except (redis_lock.NotAcquired, RedisError):
            tell("released")
    time.sleep(0.03)
