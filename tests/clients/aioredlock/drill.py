"""Does with aioredlock's lock what it is told, for `locklab score`; see README.md."""

import asyncio
import os

from aioredlock import Aioredlock
from aioredlock.errors import LockAcquiringError

import locklab_drill

LEASE_S = locklab_drill.LEASE_MS / 1000
URLS = os.environ["REDIS_URLS"].split(",")


class Drill:
    """The lock, as its documentation shows it: its watchdog renews it always, and its limit is a number of attempts."""

    held, manager = None, None

    async def lock(self, wait_ms):
        # Made when the loop runs.
        self.manager = self.manager or Aioredlock(URLS, internal_lock_timeout=LEASE_S)
        return await self.take(self.manager)

    async def take(self, manager):
        try:
            self.held = await manager.lock("lock")
        except LockAcquiringError:
            # The library's name for "somebody else has it"; LockRuntimeError is for errors.
            return False

    async def plain(self):
        return await self.take(Aioredlock(URLS))

    async def keep(self):
        if await self.lock(None) is False:
            return False
        # README: `lock.valid` says whether the lock is still held.
        asyncio.create_task(self.watch(self.held))

    async def watch(self, held):
        while held.valid:
            await asyncio.sleep(0.02)
        if held is self.held:
            locklab_drill.lost("flag")

    async def try_(self):
        return await self.take(Aioredlock(URLS, retry_count=1, internal_lock_timeout=LEASE_S))

    async def extend(self):
        await self.manager.extend(self.held)

    async def unlock(self):
        held, self.held = self.held, None
        await self.manager.unlock(held)


locklab_drill.follow(Drill(), limit=False, quorum=True)
