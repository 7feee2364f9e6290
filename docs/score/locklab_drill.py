"""What a drill for `locklab score` needs beside the library: see docs/score.md. Copy this file, or import it.

    class Drill:
        def lock(self, wait_ms):        # true, false, or an error; what else it tells as a dict
            ...
        def unlock(self):
            ...

    locklab_drill.follow(Drill())

What the drill has no method for, its library has no call for. A method may be `async def`; then `cancel` comes by itself.
"""
import asyncio
import inspect
import json
import os
import queue
import sys
import threading
import time

LEASE_MS = int(os.environ["LOCKLAB_LEASE_MS"])
WORDS = ["lock", "try", "plain", "keep", "extend", "unlock", "again", "block", "abandon"]
_writing = threading.Lock()


def _say(**line):
    with _writing:
        os.write(1, (json.dumps(line) + "\n").encode())


def lost(how):
    """The library has told its user that the lock is lost."""
    _say(event="lost", how=how)


def _method(drill, word):
    return getattr(drill, {"try": "try_"}.get(word, word), None)


def _arguments(order):
    return {name: order.get(name) for name in ("wait_ms", "ms") if name in order or order["do"] in ("lock", "again") and name == "wait_ms"}


def _answered(order, result):
    more = result if isinstance(result, dict) else {}
    _say(id=order["id"], r="no" if result is False else "ok", **more)


def _failed(order, error):
    _say(id=order["id"], r="error", **{"class": f"{type(error).__name__}: {error}"[:200]})


def follow(drill, limit=True, quorum=False, key=None):
    """Follows the orders on standard input until it ends.

    `limit`: `lock` keeps `wait_ms`. `quorum`: it is taken on a majority of `REDIS_URLS`. `key`: that of the lock, if the
    library makes others beside it.
    """
    is_async = any(inspect.iscoroutinefunction(_method(drill, word)) for word in WORDS)
    can = [word for word in WORDS if _method(drill, word)]
    can += ["cancel"] * is_async + ["limit"] * limit + ["quorum"] * quorum
    more = {"key": key} if key else {}
    if is_async:
        asyncio.run(_follow_async(drill, can, more))
    else:
        _follow(drill, can, more)


def _follow(drill, can, more):
    orders = queue.Queue()

    def work():
        # One thread, since some locks belong to the thread that took them.
        while True:
            order = orders.get()
            try:
                _answered(order, _method(drill, order["do"])(**_arguments(order)))
            except Exception as error:
                _failed(order, error)

    threading.Thread(target=work, daemon=True).start()
    _say(event="ready", can=can, **more)
    for line in sys.stdin:
        orders.put(json.loads(line))


async def _follow_async(drill, can, more):
    loop, last = asyncio.get_running_loop(), None
    lines = asyncio.Queue()

    def read():
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        os._exit(0)

    async def work(order):
        try:
            _answered(order, await _method(drill, order["do"])(**_arguments(order)))
        except asyncio.CancelledError as error:
            _failed(order, error)
        except Exception as error:
            _failed(order, error)

    threading.Thread(target=read, daemon=True).start()
    _say(event="ready", can=can, **more)
    while True:
        order = json.loads(await lines.get())
        if order["do"] == "cancel":
            if last:
                last.cancel()
            _say(id=order["id"], r="ok")
        elif order["do"] == "block":
            # The loop itself, as by work that computes.
            time.sleep(order["ms"] / 1000)
            _say(id=order["id"], r="ok")
        else:
            last = asyncio.create_task(work(order))
