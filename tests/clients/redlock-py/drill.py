"""Does with redlock-py's Redlock what it is told, for `locklab score`; see README.md."""

import os

from redlock import Redlock

import locklab_drill

URLS = os.environ["REDIS_URLS"].split(",")
managers = {"lock": Redlock(URLS, retry_count=1000), "try": Redlock(URLS, retry_count=1), "usual": Redlock(URLS)}


class Drill:
    """The lock, as its documentation shows it. It knows no limit in time, but one of attempts, 200 ms apart."""

    held = None

    def take(self, manager):
        lock = manager.lock("lock", locklab_drill.LEASE_MS)
        self.held = lock or self.held
        return {"valid_ms": lock.validity} if lock else False

    def lock(self, wait_ms):
        return self.take(managers["lock" if wait_ms is None else "usual"])

    def try_(self):
        return self.take(managers["try"])

    def plain(self):
        return bool(managers["usual"].lock("lock", 1000))

    def unlock(self):
        managers["usual"].unlock(self.held)


locklab_drill.follow(Drill(), limit=False, quorum=True)
