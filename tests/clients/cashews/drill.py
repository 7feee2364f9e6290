"""Does with cashews' lock what it is told, for `locklab score`; see README.md."""

import os

from cashews import cache
from cashews.exceptions import LockedError

import locklab_drill

cache.setup(os.environ["REDIS_URL"])


class Drill:
    """The lock, as its documentation shows it. It waits without a limit."""

    held = None

    async def take(self, **settings):
        scope = cache.lock("lock", expire=locklab_drill.LEASE_MS / 1000, **settings)
        try:
            await scope.__aenter__()
        except LockedError:
            return False
        self.held = scope

    async def lock(self, wait_ms):
        return await self.take()

    async def try_(self):
        return await self.take(wait=False)

    async def plain(self):
        # The README's example: `cache.lock("key", expire="10s")`.
        self.held = cache.lock("lock", expire="10s")
        await self.held.__aenter__()

    async def unlock(self):
        await self.held.__aexit__(None, None, None)


locklab_drill.follow(Drill(), limit=False)
