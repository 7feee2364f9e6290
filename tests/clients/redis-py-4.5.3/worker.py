"""Increments a counter under the Lock of redis.asyncio, with a time limit for each call; see README.md."""

import asyncio
import os
import sys
import time
from pathlib import Path

import redis.asyncio as redis
from redis.exceptions import LockError, RedisError

sys.path.insert(0, str(Path(__file__).parents[3] / "docs/attack"))
from locklab_tell import tell  # noqa: E402

LEASE_S = int(os.environ.get("LOCKLAB_LEASE_MS", "1000")) / 1000
LIMIT_S = 0.05
ALIVE = f"alive:{os.environ['LOCKLAB_HOST']}"
servers = redis.Redis.from_url(os.environ["REDIS_URL"])
resource = redis.Redis.from_url(os.environ["LOCKLAB_RESOURCE"])


async def within_limit(call):
    """The result of a call, or None: after the time limit it is cancelled, which is what wait_for does."""
    try:
        return await asyncio.wait_for(call, LIMIT_S)
    except (LockError, RedisError, asyncio.TimeoutError):
        return None


async def attempt():
    # A sign of life, answered with OK. So is a SET with NX that takes the lock.
    await within_limit(servers.set(ALIVE, time.time()))
    lock = servers.lock("counter-lock", timeout=LEASE_S, blocking=False)
    tell("acquiring")
    asked = time.monotonic()
    if not await within_limit(lock.acquire()):
        return tell("refused")
    tell("acquired", ttl_ms=1000 * (LEASE_S - (time.monotonic() - asked)))
    value = int(await resource.get("counter") or 0)
    await asyncio.sleep(0.2)
    await resource.set("counter", value + 1)
    tell("releasing")
    await within_limit(lock.release())
    tell("released")


async def main():
    while True:
        await attempt()
        await asyncio.sleep(0.03)


asyncio.run(main())
