"""Does with the lock of celery-once what it is told, for `locklab score`; see README.md."""

import os

from celery_once.backends.redis import Redis
from celery_once.tasks import AlreadyQueued

import locklab_drill

backend = Redis({"url": os.environ["REDIS_URL"]})


class Drill:
    """The lock, as a task takes it when it is queued, and clears it when it has run."""

    def take(self, lease_s):
        try:
            backend.raise_or_lock("lock", timeout=lease_s)
        except AlreadyQueued:
            return False

    def lock(self, wait_ms):
        return self.try_()

    def try_(self):
        return self.take(locklab_drill.LEASE_MS / 1000)

    def plain(self):
        # The default of `QueueOnce.once`.
        return self.take(60 * 60)

    def again(self, wait_ms):
        return self.try_()

    def unlock(self):
        return bool(backend.clear_lock("lock"))


locklab_drill.follow(Drill(), limit=False)
