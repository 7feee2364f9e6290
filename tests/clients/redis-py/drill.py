"""Does with redis-py's own Lock what it is told, for `locklab score`; see README.md."""

import os

import redis

import locklab_drill

server = redis.Redis.from_url(os.environ["REDIS_URL"])


class Drill:
    """The lock, as its documentation shows it."""

    taken = server.lock("lock", timeout=locklab_drill.LEASE_MS / 1000)

    def lock(self, wait_ms):
        return self.taken.acquire(blocking_timeout=wait_ms and wait_ms / 1000)

    def try_(self):
        return self.taken.acquire(blocking=False)

    def plain(self):
        return server.lock("lock").acquire()

    def again(self, wait_ms):
        return self.lock(wait_ms)

    def extend(self):
        return self.taken.reacquire()

    def unlock(self):
        self.taken.release()


locklab_drill.follow(Drill())
