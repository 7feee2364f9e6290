"""Does with huey's task lock what it is told, for `locklab score`; see README.md."""

import os

from huey import RedisExpireHuey
from huey.exceptions import TaskLockedException

import locklab_drill

huey = RedisExpireHuey("huey", url=os.environ["REDIS_URL"])


class Drill:
    """The lock, as its documentation shows it. Whole seconds only, and no wait."""

    taken = huey.lock_task("lock", ttl=locklab_drill.LEASE_MS // 1000)

    def lock(self, wait_ms):
        return self.try_()

    def try_(self):
        try:
            return self.taken.acquire()
        except TaskLockedException:
            return False

    def plain(self):
        return huey.lock_task("lock").acquire()

    def again(self, wait_ms):
        return self.try_()

    def unlock(self):
        return bool(self.taken.release())


locklab_drill.follow(Drill(), limit=False)
