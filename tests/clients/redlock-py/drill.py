"""Does with redlock-py's Redlock what it is told, for `cargo xtask clients --ports`; see README.md."""

import os
import sys

from redis.exceptions import RedisError
from redlock import MultipleRedlockException, Redlock

LEASE_MS = int(os.environ["LOCKLAB_LEASE_MS"])
URLS = os.environ["REDIS_URLS"].split(",")
# With the library's own delay between attempts.
managers = {"lock": Redlock(URLS, retry_count=1000), "try": Redlock(URLS, retry_count=1)}
held = []


def does(order):
    """The answer to an order."""
    try:
        if order in managers:
            lock = managers[order].lock("lock", LEASE_MS)
            if not lock:
                return "no"
            held.append(lock)
        else:
            {"unlock": lambda: managers["lock"].unlock(held.pop())}[order]()
        return "ok"
    except (MultipleRedlockException, RedisError):
        return "error"


print("ready", flush=True)
for line in sys.stdin:
    print(does(line.strip()), flush=True)
