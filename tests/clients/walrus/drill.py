"""Does with walrus's Lock what it is told, for `locklab score`; see README.md."""

import os

from walrus import Database

import locklab_drill

database = Database.from_url(os.environ["REDIS_URL"])


class Drill:
    """The lock, as its documentation shows it. It waits without a limit."""

    taken = database.lock("lock", ttl=locklab_drill.LEASE_MS)

    def lock(self, wait_ms):
        return self.taken.acquire()

    def try_(self):
        return self.taken.acquire(block=False)

    def plain(self):
        return database.lock("lock").acquire()

    def again(self, wait_ms):
        return self.taken.acquire()

    def unlock(self):
        return self.taken.release()


locklab_drill.follow(Drill(), limit=False)
