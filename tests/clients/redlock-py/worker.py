"""Increments a counter under redlock-py's Redlock, for `locklab attack`; see README.md."""

import os
import sys
import time
from pathlib import Path

import redis
from redis.exceptions import RedisError
from redlock import MultipleRedlockException, Redlock

sys.path.insert(0, str(Path(__file__).parents[3] / "docs/attack"))
from locklab_tell import tell  # noqa: E402

LEASE_MS = int(os.environ.get("LOCKLAB_LEASE_MS", "1000"))
resource = redis.Redis.from_url(os.environ["LOCKLAB_RESOURCE"])
manager = Redlock(os.environ["REDIS_URLS"].split(","), retry_count=1, retry_delay=0.001)


def attempt():
    """Tries once to take the lock, which says for how long it is valid."""
    tell("acquiring")
    try:
        lock = manager.lock("counter-lock", LEASE_MS)
    except (MultipleRedlockException, RedisError):
        lock = None
    if lock:
        tell("acquired", ttl_ms=lock.validity)
    else:
        tell("refused")
    return lock


while True:
    if lock := attempt():
        try:
            value = int(resource.get("counter") or 0)
            time.sleep(0.1)
            resource.set("counter", value + 1)
        except RedisError:
            pass
        tell("releasing")
        try:
            manager.unlock(lock)
            tell("released")
        except (MultipleRedlockException, RedisError):
            tell("released")
    time.sleep(0.03)
