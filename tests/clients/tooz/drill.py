"""Does with tooz's lock what it is told, for `locklab score`; see README.md."""

import os

from tooz import coordination

import locklab_drill

LEASE_S = locklab_drill.LEASE_MS / 1000


def coordinator(options=None, has_heart=False):
    made = coordination.get_coordinator(f"{os.environ['REDIS_URL']}?{options or ''}", str(os.getpid()).encode())
    made.start(start_heart=has_heart)
    return made


class Drill:
    """The lock, as its documentation shows it. Whole seconds only."""

    taken = coordinator(f"lock_timeout={int(LEASE_S)}").get_lock(b"lock")

    def lock(self, wait_ms):
        return self.taken.acquire(blocking=True if wait_ms is None else wait_ms / 1000)

    def try_(self):
        return self.taken.acquire(blocking=False)

    def plain(self):
        return coordinator().get_lock(b"lock").acquire()

    def again(self, wait_ms):
        return self.lock(wait_ms)

    def keep(self):
        # The heart renews the member and all locks, at an interval that follows from these.
        options = f"lock_timeout={int(LEASE_S)}&timeout={int(LEASE_S)}"
        self.taken = coordinator(options, has_heart=True).get_lock(b"lock")
        return self.taken.acquire()

    def extend(self):
        return self.taken.heartbeat()

    def unlock(self):
        return self.taken.release()


locklab_drill.follow(Drill(), key="_tooz_lock_lock")
