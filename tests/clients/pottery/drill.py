"""Does with pottery's Redlock what it is told, for `locklab score`; see README.md."""

import os

import redis
from pottery import Redlock

import locklab_drill

masters = {redis.Redis.from_url(url) for url in os.environ["REDIS_URLS"].split(",")}


class Drill:
    """The lock, as its documentation shows it."""

    taken = Redlock(key="lock", masters=masters, auto_release_time=locklab_drill.LEASE_MS / 1000)

    def lock(self, wait_ms):
        return self.taken.acquire(timeout=-1 if wait_ms is None else wait_ms / 1000)

    def try_(self):
        return self.taken.acquire(blocking=False)

    def plain(self):
        return Redlock(key="lock", masters=masters).acquire()

    def again(self, wait_ms):
        return self.lock(wait_ms)

    def extend(self):
        self.taken.extend()

    def unlock(self):
        self.taken.release()


locklab_drill.follow(Drill(), quorum=True)
