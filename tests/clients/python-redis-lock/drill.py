"""Does with python-redis-lock's Lock what it is told, for `locklab score`; see README.md."""

import os

import redis
import redis_lock

import locklab_drill

server = redis.Redis.from_url(os.environ["REDIS_URL"])
# Whole seconds only.
LEASE_S = max(1, locklab_drill.LEASE_MS // 1000)


class Drill:
    """The lock, as its documentation shows it."""

    taken = redis_lock.Lock(server, "lock", expire=LEASE_S)

    def lock(self, wait_ms):
        return self.taken.acquire(timeout=wait_ms and wait_ms / 1000)

    def try_(self):
        return self.taken.acquire(blocking=False)

    def plain(self):
        return redis_lock.Lock(server, "lock").acquire()

    def keep(self):
        self.taken = redis_lock.Lock(server, "lock", expire=LEASE_S, auto_renewal=True)
        return self.taken.acquire()

    def again(self, wait_ms):
        return self.lock(wait_ms)

    def extend(self):
        self.taken.extend(expire=LEASE_S)

    def unlock(self):
        self.taken.release()

    def abandon(self):
        # What the README says of it: the thread ends when nothing refers to the lock any more.
        self.taken = None


locklab_drill.follow(Drill())
