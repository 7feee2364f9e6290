"""Does with redlock's RedLock what it is told, for `locklab score`; see README.md."""

import os

from redlock import RedLock

import locklab_drill

URLS = os.environ["REDIS_URLS"].split(",")


class Drill:
    """The lock, as its documentation shows it. Its limit is a number of attempts."""

    held = None

    def take(self, **settings):
        lock = RedLock("lock", connection_details=[{"url": url} for url in URLS], **settings)
        ok = lock.acquire()
        self.held = lock if ok else self.held
        return ok

    def lock(self, wait_ms):
        return self.take(ttl=locklab_drill.LEASE_MS)

    def try_(self):
        return self.take(ttl=locklab_drill.LEASE_MS, retry_times=1)

    def plain(self):
        return self.take()

    def unlock(self):
        self.held.release()


locklab_drill.follow(Drill(), limit=False, quorum=True)
