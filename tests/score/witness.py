"""A drill for `locklab score`: a lock that does everything well, or, as `witness.py ID`, one thing badly.

It needs nothing but Python. `main.rs` holds each experiment to both.
"""
import json
import os
import queue
import socket
import sys
import threading
import time
import uuid

WRONG = sys.argv[1] if len(sys.argv) > 1 else None
LEASE_MS = int(os.environ["LOCKLAB_LEASE_MS"])
POLL_S = {"W2": 1.5, "W3": 3}.get(WRONG, 0.05)
CLOCK = time.time if WRONG == "T2" else time.monotonic
TIMEOUT_S = None if WRONG in ("Q1", "Q1r", "W1") else 0.6
KEY = "lock"
DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"


class Refused(Exception):
    """The server answered with an error."""


class Server:
    """A connection, made anew after an error."""

    def __init__(self, url):
        host, port = url.split("//")[1].split(":")
        self.address, self.socket, self.was_open = (host, int(port)), None, False

    def call(self, *words, timeout_s=TIMEOUT_S):
        try:
            if self.socket is None:
                if self.was_open and WRONG == "S2":
                    raise OSError("closed")
                self.socket = socket.create_connection(self.address, timeout=timeout_s)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.lines, self.was_open = self.socket.makefile("rb"), True
            self.socket.settimeout(timeout_s)
            parts = b"".join(b"$%d\r\n%s\r\n" % (len(it), it) for it in (str(word).encode() for word in words))
            self.socket.sendall(b"*%d\r\n" % len(words) + parts)
            return self.reply()
        except OSError:
            self.socket = None
            raise

    def is_closed(self):
        """Whether the server has closed the connection."""
        if self.socket is None:
            return False
        self.socket.settimeout(0)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def reply(self):
        line = self.lines.readline()
        kind, text = line[:1], line[1:].strip().decode()
        if kind == b"$":
            return None if text == "-1" else self.lines.read(int(text) + 2)[:-2].decode()
        if kind == b"-":
            raise Refused(text)
        if not kind:
            raise OSError("closed")
        return int(text) if kind == b":" else text

    def script(self, text, *arguments, **more):
        if WRONG != "S1":
            return self.call("EVAL", text, 1, KEY, *arguments, **more)
        self.digests = getattr(self, "digests", {})
        if text not in self.digests:
            self.digests[text] = self.call("SCRIPT", "LOAD", text)
        return self.call("EVALSHA", self.digests[text], 1, KEY, *arguments, **more)


def say(**line):
    os.write(1, (json.dumps(line) + "\n").encode())


class Lock:
    def __init__(self):
        self.servers = [Server(url) for url in os.environ["REDIS_URLS"].split(",")]
        self.value, self.until_s, self.renewal, self.is_cancelled = None, 0, None, False
        self.computes = threading.Lock()

    def majority(self):
        return len(self.servers) // 2 + 1

    def on_each(self, call):
        """How many say yes, and the errors of the others."""
        done, errors = 0, []
        for server in self.servers:
            if server.is_closed() and WRONG != "S2":
                server.socket = None
            try:
                done += call(server) in (1, "OK")
            except (OSError, Refused) as error:
                if WRONG == "Q1b" and isinstance(error, ConnectionError):
                    raise
                errors.append(error)
        return done, errors

    def attempt(self, lease_ms):
        """Asks once: `True`, `False`, or an error."""
        value, begun_s = uuid.uuid4().hex, time.monotonic()
        self.is_cancelled = False

        def take(server):
            if WRONG == "I3" and server.call("PTTL", KEY) == -1:
                return server.call("SET", KEY, value, "PX", lease_ms)
            if WRONG == "L1b":
                return server.call("SETNX", KEY, value) and server.call("PEXPIRE", KEY, lease_ms)
            if WRONG == "T3":
                return server.call("SET", KEY, value, "NX", "EX", lease_ms // 1000)
            lease = () if WRONG == "L1" and lease_ms != LEASE_MS else ("PX", lease_ms)
            return server.call("SET", KEY, value, "NX", *lease)

        done, errors = self.on_each(take)
        left_s = lease_ms / 1000 - (time.monotonic() - begun_s) - lease_ms / 100000 - 0.002
        if self.is_cancelled and WRONG == "A2":
            raise InterruptedError("cancelled")
        is_late = left_s <= 0 and WRONG != "A3"
        if done >= self.majority() and not is_late and not self.is_cancelled:
            self.value, self.until_s = value, time.monotonic() + left_s
            return True
        if WRONG == "Q2" and len(self.servers) - done < self.majority() + len(errors):
            time.sleep(1000)
        if not (WRONG in ("A1", "A1b") and errors) and not (WRONG == "Q3" and not errors):
            _, failed = self.on_each(lambda server: server.script(DELETE, value))
            # It may have waited on a connection that was made while replies were late: once more, on a new one.
            if errors and any(isinstance(it, TimeoutError) for it in failed):
                self.on_each(lambda server: server.script(DELETE, value, timeout_s=0.1))
        if self.is_cancelled:
            raise InterruptedError("cancelled")
        if errors and len(self.servers) - len(errors) < self.majority() and WRONG != "S3":
            raise errors[0]
        return False

    def lock(self, wait_ms=None, lease_ms=LEASE_MS):
        end_s, place, first = CLOCK() + (1e9 if wait_ms is None else wait_ms / 1000), uuid.uuid4().hex, self.servers[0]
        if wait_ms is not None:
            return self.wait(end_s, lease_ms, lambda: True)
        if first.is_closed():
            first.socket = None
        first.call("LPUSH" if WRONG == "W4" else "RPUSH", "queue", place)
        try:
            return self.wait(end_s, lease_ms, lambda: first.call("LINDEX", "queue", 0) == place)
        finally:
            try:
                first.call("LREM", "queue", 1, place)
            except OSError:
                pass

    def wait(self, end_s, lease_ms, is_next):
        while True:
            try:
                if is_next() and self.attempt(lease_ms):
                    return True
            except OSError as error:
                if isinstance(error, InterruptedError) or WRONG in ("A1", "A1b") or CLOCK() > end_s:
                    raise
            if CLOCK() > end_s:
                return False
            time.sleep(POLL_S)

    def again(self, wait_ms):
        if WRONG == "I1":
            return self.lock()
        raise RuntimeError("it is held already")

    def extend(self):
        script, arguments = EXTEND, (self.value, LEASE_MS)
        if WRONG == "O3":
            script = "if redis.call('exists', KEYS[1]) == 0 then redis.call('set', KEYS[1], ARGV[1]) end return redis.call('pexpire', KEYS[1], ARGV[2])"
        if WRONG == "O4":
            script = "return redis.call('pexpire', KEYS[1], ARGV[2])"
        done, errors = self.on_each(lambda server: server.script(script, *arguments))
        if done < self.majority():
            raise errors[0] if errors else RuntimeError("lost")

    def unlock(self):
        if self.renewal and WRONG != "O5":
            self.renewal.stop()
        delete = "return redis.call('del', KEYS[1])" if WRONG == "O1" else DELETE
        done, errors = self.on_each(lambda server: server.script(delete, self.value))
        if done < self.majority() and WRONG not in ("O2a", "O2b"):
            raise errors[0] if errors else RuntimeError("lost")


class Renewal(threading.Thread):
    """Renews a lock over connections of its own, until it is stopped, the lock is lost, or its lease is over."""

    def __init__(self, lock):
        super().__init__(daemon=True)
        self.lock, self.value, self.is_over = lock, lock.value, threading.Event()
        self.until_s, self.servers = lock.until_s, [Server(server) for server in os.environ["REDIS_URLS"].split(",")]
        self.start()

    def stop(self):
        self.is_over.set()
        self.join()

    def run(self):
        period_s = 0.01 if WRONG == "L4" else LEASE_MS / 3000
        while not self.is_over.wait(min(period_s, max(self.until_s - time.monotonic() - 0.25, 0.005))):
            if WRONG == "L7":
                with self.lock.computes:
                    pass
            if time.monotonic() >= self.until_s - 0.3 and WRONG not in ("L5", "L6", "O5", "L3"):
                return say(event="lost", how="flag")
            begun_s, period_s = time.monotonic(), 0.01 if WRONG == "L4" else LEASE_MS / 3000
            left_s = max(self.until_s - begun_s - 0.3, 0.001)
            timeout_s = None if WRONG == "L6" else min(left_s, 0.6)
            done = 0
            for server in self.servers:
                try:
                    done += server.script(EXTEND, self.value, LEASE_MS, timeout_s=timeout_s)
                except (OSError, Refused):
                    if WRONG in ("L2", "L2b"):
                        return None
                    done, period_s = None, 0.05
            if done is not None and done >= self.lock.majority():
                self.until_s = begun_s + LEASE_MS / 1000 * 0.99 - 0.002
            elif done is not None and WRONG not in ("O5", "L5"):
                return say(event="lost", how="flag")


lock, orders = Lock(), queue.Queue()


def does(order):
    word = order["do"]
    if word in ("lock", "plain", "keep"):
        ok = lock.lock(order.get("wait_ms"), 10000 if word == "plain" else LEASE_MS)
        if ok and word == "keep":
            lock.renewal = Renewal(lock)
    elif word == "try":
        ok = lock.attempt(LEASE_MS)
    elif word == "again":
        ok = lock.again(order.get("wait_ms"))
    else:
        ok = {"extend": lock.extend, "unlock": lock.unlock}[word]() is not False
    answer = {"id": order["id"], "r": "ok" if ok else "no"}
    if ok and word in ("lock", "try"):
        answer["token"] = 7 if WRONG == "I2" else lock.servers[0].call("INCR", "fence")
        answer["valid_ms"] = LEASE_MS if WRONG in ("A3", "T1") else (lock.until_s - time.monotonic()) * 1000
    return answer


def follow():
    while True:
        order = orders.get()
        try:
            answer = does(order)
        except Exception as error:
            answer = {"id": order["id"], "r": "error", "class": f"{type(error).__name__}: {error}"}
        say(**answer)


threading.Thread(target=follow, daemon=True).start()
say(event="ready", can=["lock", "try", "plain", "keep", "extend", "unlock", "again", "cancel", "block", "abandon", "limit", "quorum"], key=KEY)
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "cancel":
        lock.is_cancelled = True
    elif order["do"] == "block":
        with lock.computes:
            time.sleep(order["ms"] / 1000)
    elif order["do"] == "abandon":
        if lock.renewal and WRONG != "L3":
            lock.renewal.stop()
    else:
        orders.put(order)
        continue
    say(id=order["id"], r="ok")
