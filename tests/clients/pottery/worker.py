"""Increments a counter under pottery's Redlock, for `locklab attack`; see README.md."""

import os
import sys
import time
from pathlib import Path

import redis
from pottery import Redlock
from pottery.exceptions import PrimitiveError
from redis.exceptions import RedisError

sys.path.insert(0, str(Path(__file__).parents[3] / "docs/attack"))
from locklab_tell import tell  # noqa: E402

LEASE_MS = int(os.environ.get("LOCKLAB_LEASE_MS", "1000"))
resource = redis.Redis.from_url(os.environ["LOCKLAB_RESOURCE"])
masters = {redis.Redis.from_url(url) for url in os.environ["REDIS_URLS"].split(",")}
lock = Redlock(key="counter-lock", masters=masters, auto_release_time=LEASE_MS / 1000)


def attempt():
    """Tries once to take the lock. It tells no validity: its user is to be done within `auto_release_time`."""
    tell("acquiring")
    asked = time.monotonic()
    try:
        has_it = lock.acquire(blocking=False)
    except (PrimitiveError, RedisError):
        has_it = False
    if has_it:
        tell("acquired", ttl_ms=LEASE_MS - 1000 * (time.monotonic() - asked))
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
            tell("released")
        except (PrimitiveError, RedisError):
            tell("released")
    time.sleep(0.03)
