"""Does with aiocache's RedLock what it is told, for `locklab score`; see README.md."""

import os
from urllib.parse import urlparse

from aiocache import Cache
from aiocache.lock import RedLock

import locklab_drill

server = urlparse(os.environ["REDIS_URL"])


class Drill:
    """The lock, as its documentation shows it. A call that returns has the lock, or goes on without it."""

    held, cache = None, None

    async def lock(self, wait_ms):
        return await self.take(locklab_drill.LEASE_MS / 1000)

    async def take(self, lease_s):
        # Made when the loop runs.
        self.cache = self.cache or Cache(Cache.REDIS, endpoint=server.hostname, port=server.port)
        self.held = RedLock(self.cache, "lock", lease=lease_s)
        await self.held.__aenter__()

    async def plain(self):
        return await self.take(1)

    async def unlock(self):
        await self.held.__aexit__(None, None, None)


locklab_drill.follow(Drill(), limit=False)
