"""Increments a counter under aioredlock's lock, which extends its lease, for `locklab attack`; see README.md."""

import asyncio
import os
import sys
from pathlib import Path

import aioredis
from aioredlock import Aioredlock, LockError

sys.path.insert(0, str(Path(__file__).parents[3] / "docs/attack"))
from locklab_tell import tell  # noqa: E402

LEASE_S = int(os.environ.get("LOCKLAB_LEASE_MS", "1000")) / 1000
ERRORS = (LockError, OSError, RuntimeError, aioredis.RedisError)


async def work(resource, lock):
    """Reads, works, and writes if the library still calls the lock valid."""
    value = int(await resource.get("counter") or 0)
    await asyncio.sleep(0.1)
    if lock.valid:
        await resource.set("counter", value + 1)


async def main():
    """Takes the lock again and again; a task extends it, so its user is told no deadline."""
    urls = os.environ["REDIS_URLS"].split(",")
    manager = Aioredlock(urls, retry_count=1, internal_lock_timeout=LEASE_S)
    resource = await aioredis.create_redis_pool(os.environ["LOCKLAB_RESOURCE"])
    while True:
        tell("acquiring")
        try:
            lock = await manager.lock("counter-lock")
        except ERRORS:
            tell("refused")
        else:
            tell("acquired")
            try:
                await work(resource, lock)
            except ERRORS:
                pass
            tell("releasing" if lock.valid else "lost")
            try:
                await manager.unlock(lock)
            except ERRORS:
                pass
            tell("released")
        await asyncio.sleep(0.03)


asyncio.run(main())
