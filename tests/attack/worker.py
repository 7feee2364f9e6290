"""Locks on one node, right and wrong, for `locklab attack`: `worker.py NAME`, one of the names in `attempt` and `others`
below, or `silent-NAME`, which tells nothing.

Each takes its lock again and again, works under it, and adds one to the resource.
"""
import json
import os
import random
import socket
import ssl
import sys
import threading
import time
import uuid

SILENT = sys.argv[1].startswith("silent")
NAME = sys.argv[1].removeprefix("silent-")
LEASE_MS = {"own-lease": 3000, "works-long": 10000, "waits-for-a-replica": 10000}.get(NAME, 1000)
WORK_S = {"works-long": 4, "waits-for-a-replica": 4, "holds-long": 2.5, "deletes-at-the-start": 0.8, "deletes-any": 0.3, "one-value": 0.3, "fails-open": 0.5, "renews": 0.2, "renews-by-set": 0.3, "renews-in-a-thread": 0.3}
DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"
FIELD = (
    "if redis.call('exists', KEYS[1]) == 0 then redis.call('hset', KEYS[1], ARGV[1], 1) "
    "redis.call('pexpire', KEYS[1], ARGV[2]) return 1 end return 0"
)
UNFIELD = "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('del', KEYS[1]) else return 0 end"


class Server:
    """A connection that is made anew after an error."""

    context = None

    def __init__(self, url):
        if url.startswith("rediss:"):
            self.context = ssl.create_default_context(cafile=os.environ["LOCKLAB_TLS_CA"])
        self.address = url.split("//")[1].split(":")
        self.socket = None

    def call(self, *words):
        try:
            if self.socket is None:
                self.socket = socket.create_connection((self.address[0], int(self.address[1])), timeout=1)
                if self.context:
                    self.socket = self.context.wrap_socket(self.socket, server_hostname=self.address[0])
                self.lines = self.socket.makefile("rb")
            parts = b"".join(b"$%d\r\n%s\r\n" % (len(it), it) for it in (str(word).encode() for word in words))
            self.socket.sendall(b"*%d\r\n" % len(words) + parts)
            return self.reply()
        except (OSError, ValueError):
            self.socket = None
            raise

    def reply(self):
        line = self.lines.readline()
        kind, text = line[:1], line[1:].strip().decode()
        if kind == b"$":
            return None if text == "-1" else self.lines.read(int(text) + 2)[:-2].decode()
        if kind == b"*":
            return None if text == "-1" else [self.reply() for _ in range(int(text))]
        if kind == b"-":
            raise RuntimeError(text)
        if not kind:
            raise OSError("closed")
        return int(text) if kind == b":" else text


class Master(Server):
    """The master that the sentinels name; they are asked anew for each connection."""

    def __init__(self):
        self.socket = None

    @property
    def address(self):
        for sentinel in os.environ["REDIS_SENTINELS"].split(","):
            try:
                name = os.environ["REDIS_SENTINEL_MASTER"]
                return Server("//" + sentinel).call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
            except (OSError, RuntimeError, ValueError):
                pass
        raise OSError("no sentinel answers")


class Cluster(Server):
    """The node that has the slot of the key; a node that does not answer gives way to another."""

    def __init__(self):
        self.socket = None
        self.nodes = [it.split(":") for it in os.environ["REDIS_CLUSTER"].split(",")]
        self.address = self.nodes[0]

    def call(self, *words):
        for _ in range(5):
            try:
                return super().call(*words)
            except (OSError, ValueError):
                self.nodes.append(self.nodes.pop(0))
                self.address = self.nodes[0]
                raise
            except RuntimeError as error:
                kind, *rest = str(error).split()
                if kind == "ASK":
                    other = Server("//" + rest[1])
                    other.call("ASKING")
                    return other.call(*words)
                if kind != "MOVED":
                    raise
                self.socket, self.address = None, rest[1].split(":")
        raise OSError("sent on and on")


untold = []


def tell(word, **more):
    if SILENT:
        return
    untold.append(json.dumps({"locklab": word, "ns": time.monotonic_ns(), **more}) + "\n")
    if NAME == "tells-later":
        if word not in ("refused", "released"):
            return
        random.shuffle(untold)
    os.write(int(os.environ["LOCKLAB_FD"]), "".join(untold).encode())
    untold.clear()


if "REDIS_CLUSTER" in os.environ:
    node = Cluster()
else:
    node = Master() if "REDIS_SENTINELS" in os.environ else Server(os.environ["REDIS_URL"])
resource = Server(os.environ["LOCKLAB_RESOURCE"])


def attempt(me):
    """Asks once for the lock: whether it was granted, and with which token."""
    if NAME == "never-looks-at-the-reply":
        node.call("SET", "lock", me, "NX", "PX", LEASE_MS)
        return True, None
    if NAME == "set-without-nx":
        return node.call("SET", "lock", me, "PX", LEASE_MS) == "OK", None
    if NAME == "no-expiry":
        return node.call("SET", "lock", me, "NX") == "OK", None
    if NAME == "looks-then-sets":
        if node.call("EXISTS", "lock"):
            return False, None
        time.sleep(0.02)
        return node.call("SET", "lock", me, "PX", LEASE_MS) == "OK", None
    if NAME == "one-field":
        return node.call("EVAL", FIELD, 1, "lock", me, LEASE_MS) == 1, None
    if NAME in ("tokens", "one-token"):
        token = node.call("INCR", "token") if NAME == "tokens" else 7
        return node.call("SET", "lock", me, "NX", "PX", LEASE_MS) == "OK", token
    if NAME == "waits-for-a-replica":
        granted = node.call("SET", "lock", me, "NX", "PX", LEASE_MS) == "OK"
        if granted and node.call("WAIT", 1, 500) < 1:
            release(me)
            return False, None
        return granted, None
    try:
        return node.call("SET", "lock", me, "NX", "PX", LEASE_MS) == "OK", None
    except (OSError, RuntimeError, ValueError):
        if NAME != "fails-open":
            raise
        return True, None


def release(me):
    """How many keys that deleted, where the program can know it."""
    if NAME in ("deletes-any", "never-looks-at-the-reply", "set-without-nx", "looks-then-sets", "fails-open"):
        return node.call("DEL", "lock")
    if NAME == "one-field":
        return node.call("EVAL", UNFIELD, 1, "lock", me)
    if NAME == "watches":
        node.call("WATCH", "lock")
        if node.call("GET", "lock") != me:
            node.call("UNWATCH")
            return 0
        node.call("MULTI")
        node.call("DEL", "lock")
        done = node.call("EXEC")
        return done[0] if done else 0
    return node.call("EVAL", DELETE, 1, "lock", me)


def keeps(me):
    """Waits as long as the work takes, and renews the lock if it does that. Whether it still has the lock."""
    for _ in range(round(10 * WORK_S.get(NAME, 0.1))):
        # A renewal by SET looks like a request on the wire: two that renew in step could seem to take turns.
        time.sleep(random.uniform(0.05, 0.25) if NAME == "renews-by-set" else 0.1)
        if NAME in ("holds-long", "renews"):
            if node.call("EVAL", EXTEND, 1, "lock", me, LEASE_MS) != 1:
                tell("lost")
                return False
            tell("extended", ttl_ms=LEASE_MS - 200)
        if NAME == "renews-by-set":
            node.call("SET", "lock", me, "PX", LEASE_MS)
    return True


def renewed(me):
    """Renews the lock in a thread of its own until the function that this returns is called; or whoever has it, and for
    ever.
    """
    extend = ("PEXPIRE", "lock", LEASE_MS) if NAME == "renews-any" else ("EVAL", EXTEND, 1, "lock", me, LEASE_MS)
    server, is_over = Server(os.environ["REDIS_URL"]), threading.Event()

    def renews():
        while not is_over.wait(0.2) and (server.call(*extend) == 1 or NAME == "renews-any"):
            pass

    threading.Thread(target=renews, daemon=True).start()
    return is_over.set if NAME != "renews-any" else lambda: None


def work(me, asked, token):
    """Reads, works and writes."""
    show = ("TOKEN", token) if token is not None else ()
    value = int(resource.call("GET", "c", *show) or 0)
    if not keeps(me):
        return None
    if NAME == "looks-at-its-deadline" and time.monotonic() - asked > 0.9 * LEASE_MS / 1000:
        return None
    return resource.call("SET", "c", value + 1, *show)


def rounds(take, give, use, name=lambda: {}):
    """Takes a lock, uses it and gives it up, again and again; `name` says which one."""
    while True:
        which, me = name(), uuid.uuid4().hex
        tell("acquiring", **which)
        asked = time.monotonic()
        if take(me, which):
            now = time.monotonic_ns()
            tell("acquired", **which, ns=now, ttl_ms=LEASE_MS - now / 1e6 + 1000 * asked)
            use(asked, which)
            tell("releasing", **which)
            give(me, which)
            tell("released", **which)
        else:
            tell("refused", **which)
        time.sleep(0.02)


def semaphore(admits, tells):
    """At most `admits` may have it; it tells of `tells`."""
    take = (
        "local t = redis.call('time') local now = t[1] * 1000 + t[2] / 1000 "
        "redis.call('zremrangebyscore', KEYS[1], 0, now) "
        "if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end "
        "redis.call('zadd', KEYS[1], now + ARGV[3], ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[3]) return 1"
    )
    rounds(
        lambda me, _: node.call("EVAL", take, 1, "permits", me, admits, LEASE_MS) == 1,
        lambda me, _: node.call("ZREM", "permits", me),
        lambda *_: time.sleep(0.2),
        lambda: {"permits": tells},
    )


def many_locks(one_is_wrong):
    """Twenty locks with a counter each, and two that it takes most often, of which one may lack its NX."""

    def use(asked, which):
        value = int(resource.call("GET", which["lock"]) or 0)
        time.sleep(0.15)
        if time.monotonic() - asked < 0.9 * LEASE_MS / 1000:
            resource.call("SET", which["lock"], value + 1)

    def take(me, which):
        nx = [] if one_is_wrong and which["lock"] == "b0" else ["NX"]
        return node.call("SET", "lock:" + which["lock"], me, *nx, "PX", LEASE_MS) == "OK"

    names = [f"a{number}" for number in range(18)] + ["b0", "b1"] * 12
    rounds(
        take,
        lambda me, which: node.call("EVAL", DELETE, 1, "lock:" + which["lock"], me),
        use,
        lambda: {"lock": random.choice(names)},
    )


def readers(counts):
    """Many readers or one writer, by a hash of holders; a broken one does not look for readers when it writes."""
    take = (
        "local mode = redis.call('hget', KEYS[1], 'mode') "
        "if mode and not (mode == 'read' and ARGV[2] == 'read') and (mode == 'write' or ARGV[4] == '1') "
        "then return 0 end "
        "redis.call('hset', KEYS[1], 'mode', ARGV[2], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[3]) return 1"
    )
    give = (
        "redis.call('hdel', KEYS[1], ARGV[1]) "
        "if redis.call('hlen', KEYS[1]) == 1 then redis.call('del', KEYS[1]) end return 1"
    )
    rounds(
        lambda me, which: node.call(
            "EVAL", take, 1, "rw", me, "read" if which["shared"] else "write", LEASE_MS, int(counts)
        )
        == 1,
        lambda me, _: node.call("EVAL", give, 1, "rw", me),
        lambda *_: time.sleep(0.2),
        lambda: {"shared": random.random() < 0.7},
    )


def tasks(of_each):
    """Two threads of each process take one lock, each for itself; a broken one lets both in."""

    def work_as(number):
        server = Server(os.environ["REDIS_URL"])
        mine = threading.Lock()

        def take(me, _):
            owner = me if of_each else "process " + os.environ["LOCKLAB_HOST"]
            got = server.call("SET", "lock", owner, "NX", "PX", LEASE_MS) == "OK"
            with mine:
                return got or not of_each and server.call("GET", "lock") == owner

        rounds(
            take,
            lambda me, _: server.call("EVAL", DELETE, 1, "lock", me if of_each else "process " + os.environ["LOCKLAB_HOST"]),
            lambda *_: time.sleep(0.2),
            lambda: {"task": number},
        )

    for number in (1, 2):
        threading.Thread(target=work_as, args=(number,)).start()


def children():
    """Each round is a process of its own, of which one in three dies with the lock."""
    while True:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        server, me = Server(os.environ["REDIS_URL"]), uuid.uuid4().hex
        while True:
            tell("acquiring", pid=os.getpid())
            if server.call("SET", "lock", me, "NX", "PX", LEASE_MS) == "OK":
                break
            tell("refused", pid=os.getpid())
            time.sleep(0.02)
        tell("acquired", pid=os.getpid())
        time.sleep(0.1)
        if random.random() < 0.33:
            os._exit(1)
        tell("releasing", pid=os.getpid())
        tell("released", pid=os.getpid(), removed=server.call("EVAL", DELETE, 1, "lock", me))
        os._exit(0)


def leads():
    """Takes its lock once, and extends it for ever; the others wait."""
    me = uuid.uuid4().hex
    while True:
        try:
            if node.call("SET", "lock", me, "NX", "PX", LEASE_MS) != "OK":
                node.call("EVAL", EXTEND, 1, "lock", me, LEASE_MS)
        except (OSError, RuntimeError, ValueError):
            pass
        time.sleep(LEASE_MS / 4000)


def hands_over():
    """Queues a job together with its lock; whoever works on the job gives the lock back, by the token of the job."""
    queue = (
        "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then redis.call('rpush', KEYS[2], ARGV[1]) end"
    )
    while True:
        node.call("EVAL", queue, 2, "lock", "jobs", uuid.uuid4().hex, LEASE_MS)
        job = node.call("LPOP", "jobs")
        if job:
            time.sleep(random.uniform(0.05, 0.15))
            node.call("EVAL", DELETE, 1, "lock", job)
        time.sleep(0.02)


def time_as_value():
    """The value of the key is the time at which the lock is over; who finds it over replaces it."""
    while True:
        now = int(1000 * time.time())
        end = now + LEASE_MS
        granted = node.call("SETNX", "lock", end) == 1
        if not granted and int(node.call("GET", "lock") or 0) < now:
            granted = int(node.call("GETSET", "lock", end) or 0) < now
        if granted:
            time.sleep(random.choice((0.1, 1.6)))
            if 1000 * time.time() < end:
                node.call("DEL", "lock")
        time.sleep(0.02)


if NAME == "deletes-at-the-start":
    node.call("DEL", "lock")
others = {
    "semaphore": lambda: semaphore(2, 2),
    "semaphore-of-three": lambda: semaphore(3, 2),
    "many-locks": lambda: many_locks(False),
    "many-locks-and-a-wrong-one": lambda: many_locks(True),
    "readers": lambda: readers(True),
    "readers-not-counted": lambda: readers(False),
    "tasks": lambda: tasks(True),
    "tasks-share": lambda: tasks(False),
    "children": children,
    "leader": leads,
    "hands-over": hands_over,
    "time-as-value": time_as_value,
}
if NAME in others:
    others[NAME]()
while NAME not in others:
    me = "the same for all" if NAME == "one-value" else uuid.uuid4().hex
    tell("acquiring")
    asked = time.monotonic()
    try:
        granted, token = attempt(me)
    except (OSError, RuntimeError, ValueError):
        granted = False
    if NAME == "fails-open":
        # It waited for a server that does not answer, and means the lease to begin now.
        asked = time.monotonic()
    if granted:
        promised = 3 * LEASE_MS if NAME == "promises-too-much" else LEASE_MS
        # Both from one reading: otherwise a delay in between would promise too much.
        more = {"ns": time.monotonic_ns()}
        if NAME not in ("no-expiry", "renews-in-a-thread", "renews-any"):
            more["ttl_ms"] = promised - more["ns"] / 1e6 + 1000 * asked
        if NAME == "counts-from-before":
            more = {"ns": int(1e9 * asked), "ttl_ms": LEASE_MS}
        if token is not None:
            more["token"] = token
        # Before it tells: a fault that waits for that must not strike before the renewals begin.
        ends = renewed(me) if NAME in ("renews-in-a-thread", "renews-any") else lambda: None
        tell("acquired", **more)
        try:
            if SILENT:
                keeps(me)
            else:
                work(me, asked, token)
        except (OSError, RuntimeError, ValueError):
            pass
        ends()
        tell("releasing")
        try:
            tell("released", removed=release(me))
        except (OSError, RuntimeError, ValueError):
            tell("released")
        if NAME == "renews-after-release":
            time.sleep(0.1)
            node.call("SET", "lock", me, "PX", LEASE_MS)
    else:
        tell("refused")
    # A lock that is taken within milliseconds after it was given back could still reach a replica that is cut off then.
    time.sleep(0.3 if NAME in ("works-long", "waits-for-a-replica", "renews-after-release") else 0.01)
