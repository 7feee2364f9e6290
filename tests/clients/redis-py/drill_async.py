"""Does with the lock of redis.asyncio what it is told, for `locklab score`; see README.md."""

import os

from redis.asyncio import Redis

import locklab_drill

server = Redis.from_url(os.environ["REDIS_URL"])


class Drill:
    """The lock, as its documentation shows it."""

    taken = server.lock("lock", timeout=locklab_drill.LEASE_MS / 1000)

    async def lock(self, wait_ms):
        return await self.taken.acquire(blocking_timeout=wait_ms and wait_ms / 1000)

    async def try_(self):
        return await self.taken.acquire(blocking=False)

    async def plain(self):
        return await server.lock("lock").acquire()

    async def again(self, wait_ms):
        return await self.lock(wait_ms)

    async def extend(self):
        return await self.taken.reacquire()

    async def unlock(self):
        await self.taken.release()


locklab_drill.follow(Drill())
