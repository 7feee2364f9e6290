"""Tells `locklab attack` when this process holds its lock; elsewhere it does nothing."""

import json
import os
import time

_FILE = os.environ.get("LOCKLAB_FILE")


def tell(word, **more):
    """Tells that something happened now: tell("acquired", ttl_ms=900, token=7).

    ns: the reading of time.monotonic_ns() from which ttl_ms counts, if it was taken before.
    """
    if _FILE is not None:
        line = {"locklab": word, "ns": time.monotonic_ns(), "pid": os.getpid(), **more}
        with open(_FILE, "ab", buffering=0) as pipe:
            pipe.write((json.dumps(line) + "\n").encode())
